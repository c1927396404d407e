"""Compiled sums over coded rows for the fit of contributions: logits from tables of cells, and gradients by cell.

Rows are given by ``codes`` (n_features, n_rows): the integers of their levels or cells.
"""

from __future__ import annotations

import math

import numpy as np

from bayesieve.compiling import jit, jit_inner

_ROWS, _FEWEST_ROWS = 2048, 32  # numbers per block, and least rows, so that sums stay in the first-level cache
_MOST_PRODUCT = 1e150  # product of factors at which its logarithm is taken, before it overflows


@jit
def add_log_probabilities(codes, first, n_levels, starts, table, joint):
    """Add the log probabilities of each row's levels to its log joint: joint[i, j] += table[starts[k] + code * J + j],
    summed over features k, with J classes.

    Four features are added at a time, so that the sums of a row are read and written less often. Inner loops run over
    slices, because these compile to vector instructions and loops over positions in the table do not.

    Parameters
    ----------
    codes : (n_features, n_rows) unsigned, the level of each row.
    first : position of the first row in ``codes``.
    n_levels, starts : (n_features,) number of levels, and first entry in ``table`` of each feature.
    table : log probabilities of all features, level after level, J to a level; the last J entries are zeros, which
        codes of ``n_levels`` or more read.
    joint : (n_rows, J) sums to add to, for the rows from ``first`` on.
    """
    last = len(codes) - 1
    n_rows, n_classes = joint.shape
    nothing = table.size - n_classes
    rows = max(_FEWEST_ROWS, _ROWS // n_classes)
    for begin in range(0, n_rows, rows):
        stop = min(begin + rows, n_rows)
        for k in range(0, last + 1, 4):
            k1, k2, k3 = min(k + 1, last), min(k + 2, last), min(k + 3, last)  # beyond the last: it, without levels
            n1, n2, n3 = n_levels[k1] * (k < last), n_levels[k2] * (k1 < last), n_levels[k3] * (k2 < last)
            for i in range(begin, stop):
                at = starts[k] + codes[k, first + i] * n_classes if codes[k, first + i] < n_levels[k] else nothing
                at1 = starts[k1] + codes[k1, first + i] * n_classes if codes[k1, first + i] < n1 else nothing
                at2 = starts[k2] + codes[k2, first + i] * n_classes if codes[k2, first + i] < n2 else nothing
                at3 = starts[k3] + codes[k3, first + i] * n_classes if codes[k3, first + i] < n3 else nothing
                if n_classes == 1:  # without a loop: a fifth less time
                    joint[i, 0] = joint[i, 0] + table[at] + table[at1] + table[at2] + table[at3]
                    continue
                row, line, line1 = joint[i], table[at : at + n_classes], table[at1 : at1 + n_classes]
                line2, line3 = table[at2 : at2 + n_classes], table[at3 : at3 + n_classes]
                for j in range(n_classes):
                    row[j] = row[j] + line[j] + line1[j] + line2[j] + line3[j]


@jit
def sum_by_level(codes, first, n_levels, starts, values, sums):
    """Sum values of rows by level: sums[starts[k] + code * J + j] += values[i, j] for each feature k.

    This is the transpose of `add_log_probabilities`. Four features are processed at a time: consecutive rows often have
    the same level, and successive additions to one sum would wait for each other.

    Parameters
    ----------
    codes, first, n_levels, starts : as in `add_log_probabilities`.
    values : (n_rows, J) values of the rows from ``first`` on.
    sums : one-dimensional result; values of rows without a level are added to its last J entries.
    """
    last = len(codes) - 1
    n_rows, n_classes = values.shape
    nothing = sums.size - n_classes
    rows = max(_FEWEST_ROWS, _ROWS // n_classes)
    for begin in range(0, n_rows, rows):
        stop = min(begin + rows, n_rows)
        for k in range(0, last + 1, 4):
            k1, k2, k3 = min(k + 1, last), min(k + 2, last), min(k + 3, last)  # beyond the last: it, without levels
            n1, n2, n3 = n_levels[k1] * (k < last), n_levels[k2] * (k1 < last), n_levels[k3] * (k2 < last)
            for i in range(begin, stop):
                at = starts[k] + codes[k, first + i] * n_classes if codes[k, first + i] < n_levels[k] else nothing
                at1 = starts[k1] + codes[k1, first + i] * n_classes if codes[k1, first + i] < n1 else nothing
                at2 = starts[k2] + codes[k2, first + i] * n_classes if codes[k2, first + i] < n2 else nothing
                at3 = starts[k3] + codes[k3, first + i] * n_classes if codes[k3, first + i] < n3 else nothing
                if n_classes == 1:
                    value = values[i, 0]
                    sums[at] += value
                    sums[at1] += value
                    sums[at2] += value
                    sums[at3] += value
                    continue
                row, line, line1 = values[i], sums[at : at + n_classes], sums[at1 : at1 + n_classes]
                line2, line3 = sums[at2 : at2 + n_classes], sums[at3 : at3 + n_classes]
                for j in range(n_classes):
                    value = row[j]
                    line[j] += value
                    line1[j] += value
                    line2[j] += value
                    line3[j] += value


@jit
def residuals(joint, classes, weights):
    """Replace log joint probabilities (n_rows, n_classes) by gradients of the log loss, and return the log loss in
    nats.

    The gradient is (P(class) - 1[true class]) times the weight of the row. With two classes, a single column may hold
    the log odds of the second class instead.
    """
    return _residuals(joint, classes, weights)


@jit_inner
def _residuals(joint, classes, weights):
    """Replace log joint probabilities by gradients of the log loss, and return the log loss in nats; see
    `residuals`.
    """
    n_rows, n_classes = joint.shape
    loss, product = 0.0, 1.0  # for rows of weight 1, one logarithm of a product replaces many logarithms
    if n_classes == 1:
        for i in range(n_rows):
            sign = 1.0 if classes[i] == 1 else -1.0
            odds = sign * joint[i, 0]  # log odds of the true class
            small = math.exp(-abs(odds))
            loss += weights[i] * max(-odds, 0.0)
            if weights[i] == 1.0:
                product *= 1.0 + small
                if product > _MOST_PRODUCT:
                    loss += math.log(product)
                    product = 1.0
            else:
                loss += weights[i] * math.log1p(small)
            joint[i, 0] = -sign * weights[i] * (small if odds > 0.0 else 1.0) / (1.0 + small)
        return loss + math.log(product)
    for i in range(n_rows):
        largest = joint[i, 0]
        for j in range(1, n_classes):
            largest = max(largest, joint[i, j])
        log_share = joint[i, classes[i]] - largest
        total = 0.0
        for j in range(n_classes):
            joint[i, j] = math.exp(joint[i, j] - largest)
            total += joint[i, j]
        scale = weights[i] / total
        for j in range(n_classes):
            joint[i, j] *= scale
        joint[i, classes[i]] -= weights[i]
        loss += weights[i] * (math.log(total) - log_share)
    return loss


@jit_inner
def _curvatures(joint, weights):
    """Replace log joint probabilities (n_rows, n_logits) by the second derivative of each row's loss with respect to
    each logit, times the row weight.

    The formula is documented in `EvidenceProblem.logits_and_curvature`. ``weights`` has shape (n_rows,).
    """
    n_rows, n_classes = joint.shape
    for i in range(n_rows):
        if n_classes == 1:
            small = math.exp(-abs(joint[i, 0]))
            joint[i, 0] = weights[i] * small / ((1.0 + small) * (1.0 + small))
            continue
        largest, total = -math.inf, 0.0
        for j in range(n_classes):
            largest = max(largest, joint[i, j])
        for j in range(n_classes):
            joint[i, j] = math.exp(joint[i, j] - largest)
            total += joint[i, j]
        scale = weights[i] * n_classes / (n_classes - 1)
        for j in range(n_classes):
            share = joint[i, j] / total
            joint[i, j] = scale * share * (1.0 - share)


@jit
def sum_slopes(codes, first_cell, table, intercept, offset, classes, weights, curved, sums, of_intercept):
    """Sum gradients of the log loss over the rows of each cell of each feature, and over all rows; return the log loss
    in nats.

    If ``curved``, sum curvatures (second derivatives) instead, and return 0. Rows are processed in blocks that fit in
    the first-level cache.

    Parameters
    ----------
    codes : (n_features, n_rows) unsigned; first_cell[k] + code must be a row of ``table`` for every code of feature k.
    first_cell : (n_features,) or longer, first row of each feature in ``table``.
    table, intercept : (n_cells, n_logits) and (n_logits,), added to the ``offset`` (n_rows, n_logits) of the rows.
    classes, weights : (n_rows,) positions of the true classes, and row weights.
    sums, of_intercept : results, shaped like ``table`` and ``intercept``.
    """
    n_rows, n_logits = offset.shape
    at_once = max(_FEWEST_ROWS, _ROWS // n_logits)
    block, loss = np.empty((at_once, n_logits)), 0.0
    for begin in range(0, n_rows, at_once):
        stop = min(begin + at_once, n_rows)
        rows = block[: stop - begin]
        for i in range(len(rows)):  # a loop, because Numba takes seconds to compile an assignment of arrays
            for j in range(n_logits):
                rows[i, j] = offset[begin + i, j] + intercept[j]
        _add_lines(codes, begin, first_cell, table, rows)
        if curved:
            _curvatures(rows, weights[begin:stop])
        else:
            loss += _residuals(rows, classes[begin:stop], weights[begin:stop])
        _sum_lines(codes, begin, first_cell, rows, sums)
        for i in range(len(rows)):
            for j in range(n_logits):
                of_intercept[j] += rows[i, j]
    return loss


@jit_inner
def _add_lines(codes, begin, first_cell, table, rows):
    """Add the table row of each feature's cell to each row of ``rows`` (n, n_logits), four features at a time.

    Row i of ``rows`` is row ``begin`` + i of ``codes`` (n_features, n_rows). The cells of feature k start at row
    first_cell[k] of ``table`` (n_cells, n_logits).
    """
    n, n_logits = rows.shape
    whole = len(codes) - len(codes) % 4
    for k in range(0, whole, 4):
        f, f1, f2, f3 = first_cell[k], first_cell[k + 1], first_cell[k + 2], first_cell[k + 3]
        c, c1, c2, c3 = codes[k], codes[k + 1], codes[k + 2], codes[k + 3]
        if n_logits == 1:  # without a loop: a fifth less time
            for i in range(n):
                at = begin + i
                rows[i, 0] += (
                    table[f + c[at], 0] + table[f1 + c1[at], 0] + table[f2 + c2[at], 0] + table[f3 + c3[at], 0]
                )
            continue
        for i in range(n):
            at, row = begin + i, rows[i]
            line, line1, line2, line3 = table[f + c[at]], table[f1 + c1[at]], table[f2 + c2[at]], table[f3 + c3[at]]
            for j in range(n_logits):
                row[j] += line[j] + line1[j] + line2[j] + line3[j]
    for k in range(whole, len(codes)):
        for i in range(n):
            line = table[first_cell[k] + codes[k, begin + i]]
            for j in range(n_logits):
                rows[i, j] += line[j]


@jit_inner
def _sum_lines(codes, begin, first_cell, rows, sums):
    """Add each row of ``rows`` (n, n_logits) to the ``sums`` (n_cells, n_logits) of its cells.

    This is the transpose of `_add_lines`, with the same ``codes``, ``begin`` and ``first_cell``.
    """
    n, n_logits = rows.shape
    whole = len(codes) - len(codes) % 4
    for k in range(0, whole, 4):
        f, f1, f2, f3 = first_cell[k], first_cell[k + 1], first_cell[k + 2], first_cell[k + 3]
        c, c1, c2, c3 = codes[k], codes[k + 1], codes[k + 2], codes[k + 3]
        if n_logits == 1:
            for i in range(n):
                at, value = begin + i, rows[i, 0]
                sums[f + c[at], 0] += value
                sums[f1 + c1[at], 0] += value
                sums[f2 + c2[at], 0] += value
                sums[f3 + c3[at], 0] += value
            continue
        for i in range(n):
            at, row = begin + i, rows[i]
            line, line1, line2, line3 = sums[f + c[at]], sums[f1 + c1[at]], sums[f2 + c2[at]], sums[f3 + c3[at]]
            for j in range(n_logits):
                value = row[j]
                line[j] += value
                line1[j] += value
                line2[j] += value
                line3[j] += value
    for k in range(whole, len(codes)):
        for i in range(n):
            line = sums[first_cell[k] + codes[k, begin + i]]
            for j in range(n_logits):
                line[j] += rows[i, j]


@jit
def loss_by_factor(evidence, prior, factor, classes, weights):
    """Return the log loss of the log joint prior + factor * evidence in nats, and its first two derivatives by the
    factor.

    The first derivative is the sum over rows of the mean contribution under P(class) minus that of the true class; the
    second is the sum of the variances under P(class).

    Parameters
    ----------
    evidence : (n_rows, n_classes) summed contributions of each row, in nats.
    prior : (n_rows, n_classes) log prior, or (1, n_classes) if it is equal for all rows.
    factor : factor on the contributions.
    classes, weights : (n_rows,) positions of the true classes, and row weights.
    """
    n_rows, n_classes = evidence.shape
    loss, slope, curvature = 0.0, 0.0, 0.0
    for i in range(n_rows):
        line, largest = i if len(prior) > 1 else 0, -math.inf
        for j in range(n_classes):
            largest = max(largest, prior[line, j] + factor * evidence[i, j])
        total, first, second = 0.0, 0.0, 0.0
        reference = evidence[i, classes[i]]  # subtracted, so that the difference of squares loses no digits
        for j in range(n_classes):
            share = math.exp(prior[line, j] + factor * evidence[i, j] - largest)
            away = evidence[i, j] - reference
            total += share
            first += share * away
            second += share * away * away
        mean = first / total
        loss += weights[i] * (math.log(total) + largest - prior[line, classes[i]] - factor * reference)
        slope += weights[i] * mean
        curvature += weights[i] * (second / total - mean * mean)
    return loss, slope, curvature


@jit
def sum_by_pairs_of_cells(codes, first_cell, values, sums):
    """Sum values of rows by pairs of cells of two features k <= l: sums[first_cell[k] + code, first_cell[l] + other
    code].

    Parameters
    ----------
    codes : (n_features, n_rows) cells of the rows.
    first_cell : (n_features + 1,) first cell of each feature, then the number of all cells.
    values : (n_rows,) values that are summed.
    sums : (n_cells + 1, n_cells + 1) result; an additional last cell contains all rows.
    """
    n, n_rows = codes.shape
    last = first_cell[n]
    for k in range(n):
        first = codes[k]
        for i in range(n_rows):
            line, value = sums[first_cell[k] + first[i]], values[i]
            line[first_cell[k] + first[i]] += value
            line[last] += value
        for m in range(k + 1, n):
            second, start = codes[m], first_cell[m]
            for i in range(n_rows):
                sums[first_cell[k] + first[i], start + second[i]] += values[i]
    for i in range(n_rows):
        sums[last, last] += values[i]


@jit
def fill_design(codes, first_cell, starts, parameters, values, matrix):
    """Write the design matrix of rows: matrix[i, parameters[s]] = values[s] for all entries s of each cell of row i.

    Parameters
    ----------
    codes : (n_features, n_rows) cells of the rows, numbered from first_cell[k] for feature k.
    starts, parameters, values : sparse rows of the basis matrix: the entries of a cell are starts[cell] to starts[cell
        + 1] - 1.
    matrix : (n_rows, n_functions) result, initially zeros; parameters beyond its last column are skipped.
    """
    n_functions = matrix.shape[1]
    for k in range(len(codes)):
        for i in range(codes.shape[1]):
            cell = first_cell[k] + codes[k, i]
            for s in range(starts[cell], starts[cell + 1]):
                if parameters[s] < n_functions:
                    matrix[i, parameters[s]] = values[s]


@jit
def pair_log_bayes(pairs, bins, n_bins, slopes, margins, bases, starts, n_functions, variances, logs):
    """Compute log Bayes factors of a joint effect of two features against none, for many pairs.

    Most time goes into sums by cells of both features. To skip the rows in the largest bin of the second feature, the
    sums of that bin are derived from the margins of the first feature.

    Parameters
    ----------
    pairs : (n_pairs, 2) positions of features; pairs with the same second feature are adjacent.
    bins : (n, n_rows) bin of every row for each feature; n_bins[k] if a row has none.
    n_bins, n_functions : (n,) numbers of bins and basis functions of each feature.
    slopes : (n_rows, 2 J) gradient, then curvature, of the loss of each row by its J logits.
    margins : (n, most bins + 1, 2 J) sums of ``slopes`` by bin of each feature, rows without a bin included.
    bases, starts : basis functions of all features in one array, (n_bins[k], n_functions[k]) from starts[k] on.
    variances : prior variances of the effect that are tried.
    logs : (n_pairs, 2, n_variances) results: for products of basis functions, and for single cells.
    """
    n_rows, width = slopes.shape
    current, top, rows = -1, -1, np.empty(0, np.int64)
    codes, values = bins[0], slopes
    for p in range(len(pairs)):
        i, j = pairs[p]
        line = n_bins[j] + 1
        if j != current:  # the sums of the largest bin are derived from the margins
            current, top = j, np.argmax(np.bincount(bins[j], minlength=line))
            rows = np.flatnonzero(bins[j] != top)
            if 2 * len(rows) <= n_rows:
                codes, values = bins[j][rows], slopes[rows]
            else:
                top, codes, values = -1, bins[j], slopes
        first = bins[i] if top < 0 else bins[i][rows]
        table = np.zeros((n_bins[i] + 1, line, width))
        sums = table.reshape(-1, width)
        if width == 2:  # without a loop: half the time
            for r in range(len(first)):
                cell = first[r] * line + codes[r]
                sums[cell, 0] += values[r, 0]
                sums[cell, 1] += values[r, 1]
        else:
            for r in range(len(first)):
                cell = first[r] * line + codes[r]
                for s in range(width):
                    sums[cell, s] += values[r, s]
        if top >= 0:
            for a in range(n_bins[i] + 1):
                for s in range(width):
                    rest = margins[i, a, s]
                    for b in range(line):
                        rest -= table[a, b, s]
                    table[a, top, s] = rest
        grid = table[: n_bins[i], : n_bins[j]]
        of_first = bases[starts[i] : starts[i] + n_bins[i] * n_functions[i]].reshape(n_bins[i], n_functions[i])
        of_second = bases[starts[j] : starts[j] + n_bins[j] * n_functions[j]].reshape(n_bins[j], n_functions[j])
        products = _sum_products(grid, of_first, of_second)
        for v in range(variances.size):
            logs[p, 0, v] = _sum_log_bayes(products, variances[v])
            logs[p, 1, v] = _sum_log_bayes(grid, variances[v])


@jit_inner
def _sum_products(grid, first, second):
    """Return gradients and curvatures by products of two basis functions, (n_functions, n_functions of the second, 2
    J).

    Summing over the first feature before the second one needs far fewer operations than a loop over all products.

    Parameters
    ----------
    grid : (n_bins, n_bins of the second, 2 J) gradients, then curvatures, of the loss by J logits, summed by cell of
        the grid.
    first, second : (n_bins, n_functions) basis functions of both features.
    """
    n_first, n_second, width = grid.shape
    n_logits = width // 2
    products = np.zeros((first.shape[1], second.shape[1], width))
    half = np.empty((n_second, width))
    for f in range(first.shape[1]):
        half[:] = 0.0
        for a in range(n_first):
            value = first[a, f]
            for b in range(n_second):
                for s in range(n_logits):
                    half[b, s] += value * grid[a, b, s]
                    half[b, n_logits + s] += value * value * grid[a, b, n_logits + s]
        for b in range(n_second):
            for g in range(second.shape[1]):
                value = second[b, g]
                for s in range(n_logits):
                    products[f, g, s] += value * half[b, s]
                    products[f, g, n_logits + s] += value * value * half[b, n_logits + s]
    return products


@jit_inner
def _sum_log_bayes(sums, variance):
    """Return the sum of log Bayes factors of independent effects with the prior variance ``variance``, in nats.

    ``sums`` (n, m, 2 J) are gradients, then curvatures, of the log loss by J logits; the formula is documented in
    `inclusion.log_bayes_factors`.
    """
    n_first, n_second, width = sums.shape
    n_logits = width // 2
    squares, logs, product = 0.0, 0.0, 1.0  # one logarithm of a product replaces many logarithms
    for a in range(n_first):
        for b in range(n_second):
            for s in range(n_logits):
                spread = 1.0 + variance * sums[a, b, n_logits + s]
                squares += variance * sums[a, b, s] * sums[a, b, s] / spread
                product *= spread
                if product > _MOST_PRODUCT:
                    logs += math.log(product)
                    product = 1.0
    return 0.5 * (squares - logs - math.log(product))
