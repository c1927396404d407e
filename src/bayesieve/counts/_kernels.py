"""Compiled loops that count codes by class, count pairs of features, and compute mutual information from the counts.

Pairs of features with few levels are counted by bit planes. A bit plane of a level has one bit per row, set if the row
has the level; the rows that have both of two levels are the set bits of the AND of two planes. The same word of all
planes is stored side by side, so that one vector instruction processes eight pairs, and no vector has to be summed.
Features of many levels, and weighted rows, are counted row by row in one table per pair. Rows of a *segment* (one
class, or all rows) are contiguous.

Mutual information needs only sums of n log n: N I(X; Y) = sum n_xy log n_xy - sum n_x log n_x - sum n_y log n_y + N log
N. A table holds n log n for whole numbers.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from bayesieve.compiling import jit, jit_inner

_LEAST_PACKED = 100  # rows of a class from which comparing eight codes at a time is faster
_LEAST_IN_LANES = 500  # rows of a class from which several copies of a histogram are faster
_MOST_PACKED = 12  # levels up to which comparing is faster: each level takes a pass over the rows
_WEIGHED_AT_ONCE = 1 << 14  # rows whose weights stay in the second-level cache
_WORDS = 255  # words of eight codes after which byte counters would overflow
_ONES = np.uint64(0x0101010101010101)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIR_ONES = np.uint64(0x0001000100010001)

WORDS_AT_ONCE = 4  # words of a plane counted between two writes; segments have a multiple of it
_WORDS_IN_CACHE = 32
_PLANES_IN_CACHE = 1024
_LEAST = 1e-12  # nats; lower information may be due to rounding


@jit
def count_codes(codes, class_codes, weights, n_levels, offsets, counts):
    """Count rows (or weights) by feature, level and class: counts[offsets[k] + level, class] += weight.

    Parameters
    ----------
    codes : (n_features, n_rows) unsigned; codes of unseen values (``n_levels`` or larger) are skipped.
    class_codes, weights : (n_rows,) classes, and row weights; ``weights`` is empty if all are 1.
    n_levels, offsets : (n_features,) number of levels, and first level of each feature in ``counts``.
    counts : (levels of all features, n_classes) result.
    """
    n_features, n_rows = codes.shape
    weighted = weights.size > 0
    for k in range(n_features):
        row_codes = codes[k]
        first = offsets[k]
        levels = n_levels[k]
        for i in range(n_rows):
            if row_codes[i] < levels:
                counts[first + row_codes[i], class_codes[i]] += weights[i] if weighted else 1.0


@jit
def count_sorted(codes, starts, n_levels, offsets, counts):
    """Count uint8 codes by feature, level and class, for rows sorted by class.

    For up to twelve levels, eight codes are compared with a level at a time. For more, rows take turns among four
    copies of the histogram, because consecutive increments of one counter wait for each other.

    Parameters
    ----------
    codes : (n_features, n_rows) codes; those of ``n_levels`` or more are skipped.
    starts : (n_classes + 1,) first row of each class.
    n_levels, offsets : (n_features,) number of levels, and first level of each feature in ``counts``.
    counts : (levels of all features, n_classes) result.
    """
    lanes = np.empty((4, 256), np.int64)
    for k in range(codes.shape[0]):
        mine = counts[offsets[k] : offsets[k + 1]]
        for j in range(starts.size - 1):
            run = codes[k, starts[j] : starts[j + 1]]
            if n_levels[k] <= _MOST_PACKED and run.size >= _LEAST_PACKED:
                # Compare a word of eight codes with eight copies of a level at once (SWAR), in loops that the compiler
                # vectorises.
                head = -run.ctypes.data & 7  # words start at multiples of eight bytes
                whole = (run.size - head) // 8 * 8
                words = run[head : head + whole].view(np.uint64)
                for first in range(0, words.size, _WORDS):
                    block = words[first : first + _WORDS]
                    for level in range(n_levels[k]):
                        wanted = np.uint64(level) * _ONES
                        equal = np.uint64(0)
                        for w in range(block.size):
                            differs = block[w] ^ wanted
                            marked = ((differs & _LOW_BITS) + _LOW_BITS) | differs  # the high bit of bytes that differ
                            equal += (~marked >> np.uint64(7)) & _ONES
                        pairs = (equal & _EVEN_BYTES) + ((equal >> np.uint64(8)) & _EVEN_BYTES)
                        mine[level, j] += float((pairs * _PAIR_ONES) >> np.uint64(48))
                _count_singly(run[:head], n_levels[k], mine, j)
                _count_singly(run[head + whole :], n_levels[k], mine, j)
            elif n_levels[k] > _MOST_PACKED and run.size >= _LEAST_IN_LANES:
                lanes[:] = 0
                whole = run.size // 4 * 4
                for i in range(0, whole, 4):
                    for lane in range(4):
                        lanes[lane, run[i + lane]] += 1
                for level in range(n_levels[k]):
                    mine[level, j] += lanes[0, level] + lanes[1, level] + lanes[2, level] + lanes[3, level]
                _count_singly(run[whole:], n_levels[k], mine, j)
            else:
                _count_singly(run, n_levels[k], mine, j)


@jit_inner
def _count_singly(run, n_levels, counts, j):
    """Count the codes in ``run`` by level into counts[level, j]; codes of ``n_levels`` or more are skipped."""
    for i in range(run.size):
        if run[i] < n_levels:
            counts[run[i], j] += 1.0


@jit
def weigh_sorted(codes, weights, starts, classes, n_levels, offsets, counts):
    """Add row weights by feature, code and class, for rows in segments: counts[offsets[k] + code, class] += weight.

    Rows take turns among four copies of the histogram, because consecutive additions to one entry wait for each other.

    Parameters
    ----------
    codes, weights : (n_features, n_rows) codes, of which none is unseen, and (n_rows,) row weights.
    starts, classes : (n_segments + 1,) first row of each segment, and its class.
    n_levels, offsets : (n_features,) number of codes, and first entry of each feature in ``counts``.
    counts : (codes of all features, n_classes) result.
    """
    lanes = np.empty((4, n_levels.max() if n_levels.size else 0))
    for s in range(classes.size):
        for begin in range(starts[s], starts[s + 1], _WEIGHED_AT_ONCE):
            weight = weights[begin : min(begin + _WEIGHED_AT_ONCE, starts[s + 1])]
            whole = weight.size // 4 * 4
            for k in range(codes.shape[0]):
                code = codes[k, begin : begin + weight.size]
                lanes[:, : n_levels[k]] = 0.0
                for i in range(0, whole, 4):
                    for lane in range(4):
                        lanes[lane, code[i + lane]] += weight[i + lane]
                for i in range(whole, weight.size):
                    lanes[0, code[i]] += weight[i]
                for level in range(n_levels[k]):
                    total = lanes[0, level] + lanes[1, level] + lanes[2, level] + lanes[3, level]
                    counts[offsets[k] + level, classes[s]] += total


@jit
def mix(numbers):
    """Hash unsigned 64-bit integers in place with the SplitMix64 finaliser."""
    for i in range(numbers.size):
        mixed = numbers[i] + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        numbers[i] = mixed ^ (mixed >> np.uint64(31))


@jit
def mix_floats(values, salt, mixed):
    """Hash floats with a salt by the SplitMix64 finaliser into ``mixed``; 0.0 and -0.0 have equal hashes, and so have
    all NaN.
    """
    bits = values.view(np.uint64)
    for i in range(values.size):
        number = bits[i] if values[i] == values[i] else np.uint64(0x7FF8000000000000)
        number = (number if values[i] != 0.0 else np.uint64(0)) ^ salt
        number += np.uint64(0x9E3779B97F4A7C15)
        number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed[i] = number ^ (number >> np.uint64(31))


@jit
def hash_texts(data, ends, hashes):
    """Hash texts by their bytes (FNV-1a) into ``hashes`` (n_texts,).

    ``data`` holds the bytes of all texts; text i ends before ``ends[i]``, where the next one begins.
    """
    begin = 0
    for i in range(ends.size):
        number = np.uint64(0xCBF29CE484222325)
        for at in range(begin, ends[i]):
            number = (number ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        hashes[i], begin = number, ends[i]


@intrinsic
def count_bits(typing_context, word):
    """Return the number of set bits of a word, by the population-count instruction of the processor."""

    def generate(context, builder, signature, arguments):
        """Emit the population-count instruction for the only argument; called by Numba."""
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@jit
def count_planes(planes, starts, rows):
    """Count the set bits of each bit plane p in each segment s into rows[s, p]; ``planes`` has shape (n_words,
    n_planes).

    ``starts`` has the first word of each segment, shape (n_segments + 1,).
    """
    rows[:] = 0
    for s in range(starts.size - 1):
        count = rows[s]
        for w in range(starts[s], starts[s + 1]):
            words = planes[w]
            for p in range(count.size):
                count[p] += count_bits(words[p])


@jit
def count_common(planes, left, right, first, last, starts, counts):
    """Count the rows that two bit planes share, by segment.

    counts[s, a, b - first] is the number of rows of segment s set in plane left[a] of ``planes`` and in plane b of
    ``right``, for b from ``first`` to ``last`` - 1. Tiles of words and planes stay in the cache, and four words are
    counted between two writes of a sum.

    planes, right : (n_words, n_planes); starts : (n_segments + 1,) first word of each segment.
    """
    counts[:] = 0
    for s in range(starts.size - 1):
        for begin in range(starts[s], starts[s + 1], _WORDS_IN_CACHE):
            end = min(begin + _WORDS_IN_CACHE, starts[s + 1])
            for low in range(first, last, _PLANES_IN_CACHE):
                high = min(low + _PLANES_IN_CACHE, last)
                for a in range(left.size):
                    common = counts[s, a, low - first : high - first]
                    for w in range(begin, end, WORDS_AT_ONCE):
                        word_1, word_2 = planes[w, left[a]], planes[w + 1, left[a]]
                        word_3, word_4 = planes[w + 2, left[a]], planes[w + 3, left[a]]
                        row_1, row_2 = right[w, low:high], right[w + 1, low:high]
                        row_3, row_4 = right[w + 2, low:high], right[w + 3, low:high]
                        for j in range(common.size):
                            n = count_bits(word_1 & row_1[j]) + count_bits(word_2 & row_2[j])
                            common[j] += np.int32(n + count_bits(word_3 & row_3[j]) + count_bits(word_4 & row_4[j]))


@jit
def binary_information(counts, ones_left, ones_right, terms_left, terms_right, sizes, logs, most_left, most_right, out):
    """Compute the mutual information, times the number of rows, of pairs of features with two levels and no unseen
    values.

    Three of the four cells of a pair follow from the one that was counted. Independent counts give exactly 0 despite
    rounding.

    Parameters
    ----------
    counts : (n_segments, n, m) rows in which both features have level 1
    ones_left, ones_right : (n_segments, n or m) rows in which a feature has level 1
    terms_left, terms_right : (n_segments, n or m) sums of n log n over both levels of a feature
    sizes : (n_segments,) rows
    logs : table of n log n for n = 0, 1, 2 ...
    most_left, most_right : (n or m,) entropies times rows, which are upper bounds of the information
    out : (n, m), overwritten
    """
    sums = np.empty(counts.shape[2])
    for i in range(counts.shape[1]):
        sums[:] = 0.0
        for s in range(sizes.size):
            both, others, terms = counts[s, i], ones_right[s], terms_right[s]
            ones, term, size, whole = ones_left[s, i], terms_left[s, i], sizes[s], logs[sizes[s]]
            for j in range(sums.size):
                n_11 = np.int64(both[j])
                n_10 = ones - n_11
                n_01 = others[j] - n_11
                joint = logs[np.uint64(n_11)] + logs[np.uint64(size - ones - n_01)]
                joint += logs[np.uint64(n_10)] + logs[np.uint64(n_01)]
                independent = n_11 * size == ones * others[j]
                sums[j] += 0.0 if independent else joint - (term + terms[j]) + whole
        row, most = out[i], most_left[i]
        for j in range(sums.size):
            row[j] = max(0.0, min(sums[j], min(most, most_right[j])))


@jit
def plane_information(counts, left, right, n_levels, complete, margins, at, sizes, logs, out):
    """Compute mutual information and entropies of pairs of features with few levels from counts of bit planes, and add
    them to ``out``.

    A feature without unseen values has no plane for its first level; the counts of that level follow from the margins.

    Parameters
    ----------
    counts : (n_segments, planes of left, planes of right) rows
    left, right : positions of the features
    n_levels : (n_features,) number of levels
    complete : (n_features,) mask of features without unseen values
    margins, at : (n_segments, levels of all features) rows of each level; those of feature k begin at ``at[k]``
    sizes : (n_segments,) rows
    logs : table of n log n for n = 0, 1, 2 ...
    out : (4, n, m): the number of rows, and then mutual information, entropy of left and entropy of right, each times
        the number of rows, are added
    """
    most = 0
    for x in left:
        most = max(most, n_levels[x])
    for y in right:
        most = max(most, n_levels[y])
    cells, row_sums, column_sums = np.empty(most * most), np.empty(most), np.empty(most)
    weights = np.empty(0)
    cells[:] = 0.0
    below = 0
    for i in range(left.size):
        x = left[i]
        first_column = 0
        for j in range(right.size):
            y = right[j]
            for s in range(sizes.size):
                table = counts[s, below : below + n_levels[x] - complete[x], :]
                margin_x, margin_y = margins[s, at[x] : at[x] + n_levels[x]], margins[s, at[y] : at[y] + n_levels[y]]
                # Cells of a first level that has no plane: subtract the cells of the other levels from the margins.
                n_y, first_x, first_y = margin_y.size, np.int64(complete[x]), np.int64(complete[y])
                for u in range(first_x, margin_x.size):
                    left_over = margin_x[u]
                    for v in range(first_y, n_y):
                        n = table[u - first_x, first_column + v - first_y]
                        cells[u * n_y + v] = n
                        left_over -= n
                    if first_y:
                        cells[u * n_y] = left_over
                if first_x:
                    rest = sizes[s]
                    for u in range(1, margin_x.size):
                        rest -= margin_x[u]
                    for v in range(first_y, n_y):
                        left_over = margin_y[v]
                        for u in range(1, margin_x.size):
                            left_over -= np.int64(cells[u * n_y + v])
                        cells[v] = left_over
                        rest -= left_over
                    if first_y:
                        cells[0] = rest
                sums = _sums_of_table(cells, n_levels[x], n_levels[y], row_sums, column_sums, logs, weights)
                for part in range(4):
                    out[part, i, j] += sums[part]
            first_column += n_levels[y] - complete[y]
        below += n_levels[x] - complete[x]


@jit
def count_cells(first, second, class_codes, weights, counts):
    """Count rows (or weights) by the codes of two features and by class, into ``counts`` (2, n_first, n_second,
    n_classes).

    Rows alternate between the two tables, because consecutive increments of one cell wait for each other; the caller
    adds the tables. ``first``, ``second`` and ``class_codes`` (n_rows,) are codes; those of unseen values are skipped.
    ``weights`` (n_rows,) is empty if all are 1.
    """
    n_first, n_second, weighted = counts.shape[1], counts.shape[2], weights.size > 0
    for i in range(first.size):
        a, b = first[i], second[i]
        if a < n_first and b < n_second:
            counts[0 if weighted else i & 1, a, b, class_codes[i]] += weights[i] if weighted else 1.0


@jit
def row_information(codes, left, right, n_levels, weights, starts, logs, wide, out):
    """Compute mutual information of pairs of features by counting row by row, for many levels or weighted rows.

    Parameters
    ----------
    codes : (n_features, n_rows)
    left, right : positions of the features
    n_levels : (n_features,) number of levels
    weights : (n_rows,), or size 0 if all are 1
    starts : (n_segments + 1,) first row of each segment
    logs : table of n log n for n = 0, 1, 2 ...
    wide : (n, m) mask of pairs that are skipped, because `sparse_information` computes them
    out : (4, n, m): the number of rows, and then mutual information, entropy of left and entropy of right, each times
        the number of rows, are added
    """
    most, most_x, most_y, weighted = 0, 0, 0, weights.size > 0
    for i in range(left.size):
        most_x = max(most_x, n_levels[left[i]])
        for j in range(right.size):
            most_y = max(most_y, n_levels[right[j]])
            if not wide[i, j]:
                most = max(most, n_levels[left[i]] * n_levels[right[j]])
    cells, row_sums, column_sums = np.empty(most), np.empty(most_x), np.empty(most_y)
    cells[:] = 0.0
    for i in range(left.size):
        x, n_x = codes[left[i]], n_levels[left[i]]
        for j in range(right.size):
            if wide[i, j]:
                continue
            y, n_y = codes[right[j]], n_levels[right[j]]
            for s in range(starts.size - 1):
                first, last = starts[s], starts[s + 1]
                for k in range(first, last):
                    if x[k] < n_x and y[k] < n_y:
                        cell = np.uint64(x[k]) * np.uint64(n_y) + np.uint64(y[k])
                        cells[cell] += weights[k] if weighted else 1.0
                if n_x * n_y <= 2 * (last - first):
                    sums = _sums_of_table(cells, n_x, n_y, row_sums, column_sums, logs, weights)
                else:  # visit only the cells with rows
                    row_sums[:n_x] = 0.0
                    column_sums[:n_y] = 0.0
                    joint = 0.0
                    for k in range(first, last):
                        if x[k] < n_x and y[k] < n_y:
                            cell = np.uint64(x[k]) * np.uint64(n_y) + np.uint64(y[k])
                            n = cells[cell]
                            cells[cell] = 0.0
                            joint += _n_log_n(n, logs, weights)
                            row_sums[x[k]] += n
                            column_sums[y[k]] += n
                    sums = _sums(joint, row_sums[:n_x], column_sums[:n_y], logs, weights)
                for part in range(4):
                    out[part, i, j] += sums[part]


@jit
def sparse_information(codes, n_levels, weights, starts, logs, out):
    """Compute the mutual information of a pair of features whose table of counts would be too large, by a hash table of
    its filled cells.

    Sums run over rows, not slots of the hash table, so their order does not depend on hashes.

    Parameters
    ----------
    codes : (2, n_rows)
    n_levels : (2,) number of levels
    weights : (n_rows,), or size 0 if all are 1
    starts : (n_segments + 1,) first row of each segment
    logs : table of n log n for n = 0, 1, 2 ...
    out : (4,): the number of rows, and then mutual information and both entropies, each times the number of rows, are
        added
    """
    x, y, n_x, n_y = codes[0], codes[1], n_levels[0], n_levels[1]
    size = 4
    while size < 2 * x.size:
        size *= 2
    keys, cells, slots = np.empty(size, np.int64), np.empty(size), np.empty(x.size, np.int64)
    keys[:] = -1
    cells[:] = 0.0
    row_sums, column_sums = np.empty(n_x), np.empty(n_y)
    for s in range(starts.size - 1):
        first, last = starts[s], starts[s + 1]
        row_sums[:] = 0.0
        column_sums[:] = 0.0
        joint = 0.0
        for i in range(first, last):
            if x[i] < n_x and y[i] < n_y:
                key = np.int64(x[i]) * n_y + np.int64(y[i])
                at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
                while keys[at] != -1 and keys[at] != key:
                    at = (at + 1) & (size - 1)
                keys[at], slots[i] = key, at
                cells[at] += 1.0 if weights.size == 0 else weights[i]
        for i in range(first, last):
            if x[i] < n_x and y[i] < n_y:
                n = cells[slots[i]]
                cells[slots[i]] = 0.0
                joint += _n_log_n(n, logs, weights)
                row_sums[x[i]] += n
                column_sums[y[i]] += n
        for i in range(first, last):
            if x[i] < n_x and y[i] < n_y:
                keys[slots[i]] = -1
        sums = _sums(joint, row_sums, column_sums, logs, weights)
        for part in range(4):
            out[part] += sums[part]


@jit_inner
def _sums_of_table(cells, n_x, n_y, row_sums, column_sums, logs, weights):
    """Return the total of a table of counts, and its mutual information and both entropies times the total; set the
    table to 0.

    If the information is tiny, independence is checked exactly, so that independent counts give 0 despite rounding.

    Parameters
    ----------
    cells : flat table of ``n_x`` by ``n_y`` counts or sums of weights
    row_sums, column_sums : scratch memory
    logs, weights : as in `_n_log_n`
    """
    column_sums[:n_y] = 0.0
    joint = 0.0
    for x in range(n_x):
        row = 0.0
        for y in range(n_y):
            n = cells[x * n_y + y]
            joint += _n_log_n(n, logs, weights)
            row += n
            column_sums[y] += n
        row_sums[x] = row
    total, information, left_sum, right_sum = _sums(joint, row_sums[:n_x], column_sums[:n_y], logs, weights)
    if information < _LEAST * total:
        independent = True
        for x in range(n_x):
            for y in range(n_y):
                independent &= cells[x * n_y + y] * total == row_sums[x] * column_sums[y]
        information = 0.0 if independent else information
    cells[: n_x * n_y] = 0.0
    return total, information, left_sum, right_sum


@jit_inner
def _sums(joint, row_sums, column_sums, logs, weights):
    """Return the total of a table of counts, and its mutual information, row entropy and column entropy times the
    total.

    ``joint`` is the sum of n log n over its cells; ``row_sums`` and ``column_sums`` are its margins. For ``logs`` and
    ``weights``, see `_n_log_n`.
    """
    total, of_rows, of_columns = 0.0, 0.0, 0.0
    for n in row_sums:
        total += n
        of_rows += _n_log_n(n, logs, weights)
    for n in column_sums:
        of_columns += _n_log_n(n, logs, weights)
    whole = _n_log_n(total, logs, weights)
    return total, joint - (of_rows + of_columns) + whole, whole - of_rows, whole - of_columns


@jit_inner
def _n_log_n(n, logs, weights):
    """Return n log n: from the table ``logs`` for whole numbers; computed if ``weights`` is not empty, because ``n`` is
    then a sum of weights; 0 for n = 0.
    """
    if weights.size == 0:
        return logs[np.uint64(n)]
    return n * np.log(n) if n > 0.0 else 0.0
