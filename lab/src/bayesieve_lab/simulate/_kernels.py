"""Compiled two-sample statistics of sliding windows, and their summaries for each series.

A window of 2 ``half`` points is cut in its middle; window ``b`` compares points b .. b + half - 1 with the ``half``
points after them. All statistics grow with the difference between the two halves. *Ranks* are dense: equal values of a
series have equal ranks, from 0 to ``n_ranks`` - 1.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner

LONGEST_WHOLE = 512  # points of a series whose ranks are kept whole by the Kolmogorov-Smirnov scan


@jit_inner
def sign_sum(ranks, first, last, rank):
    """Return the sum of sign(ranks[i] - rank) over all i with first <= i < last; ``ranks`` is an integer array."""
    total = np.int32(0)
    for i in range(first, last):
        total += np.int32(ranks[i] > rank) - np.int32(ranks[i] < rank)
    return total


@jit_inner
def mann_whitney(ranks, n_ranks, half, out):
    """Write the Mann-Whitney statistic of every window, (|U - mean| - 1/2) / sd, into ``out``, shape (n_windows,).

    ``ranks`` (n_points,) are dense ranks of the series. The standard deviation sd is corrected for ties; the statistic
    is -inf if all points of a window are equal. T, the sum over pairs of sign(after - before), is 2 (U - mean). It is
    updated from window to window, because only three points move. A window has ``half`` points before and after its
    centre; ``n_ranks`` is the number of ranks.
    """
    counts = np.zeros(n_ranks, dtype=np.int64)
    ties = 0.0  # sum of c^3 - c over the counts c of equal values
    for i in range(2 * half):
        c = counts[ranks[i]]
        ties += 3.0 * c * (c + 1.0)
        counts[ranks[i]] += 1
    total = np.int64(0)
    for i in range(half):
        total += sign_sum(ranks, half, 2 * half, ranks[i])
    size = 2.0 * half
    for b in range(out.size):
        if b > 0:
            out_rank, middle, in_rank = ranks[b - 1], ranks[b + half - 1], ranks[b + 2 * half - 1]
            total -= sign_sum(ranks, b + half - 1, b + 2 * half - 1, out_rank)
            total += sign_sum(ranks, b, b + half - 1, middle)
            total += sign_sum(ranks, b + half, b + 2 * half - 1, middle)
            total -= sign_sum(ranks, b, b + half, in_rank)
            counts[out_rank] -= 1
            c = counts[out_rank]
            ties -= 3.0 * c * (c + 1.0)
            c = counts[in_rank]
            ties += 3.0 * c * (c + 1.0)
            counts[in_rank] += 1
        variance = half * half / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)))
        out[b] = (0.5 * abs(total) - 0.5) / np.sqrt(variance) if total != 0 else -np.inf


@jit_inner
def add_and_scan(gaps, first, last, shift, extremes):
    """Add ``shift`` to the integers gaps[first:last], and update ``extremes``, the smallest and the largest gap
    so far.
    """
    low, high = extremes[0], extremes[1]
    for r in range(first, last):
        gap = np.int32(gaps[r] + shift)
        gaps[r] = gap
        if gap < low:
            low = gap
        if gap > high:
            high = gap
    extremes[0], extremes[1] = low, high


@jit_inner
def kolmogorov_smirnov(ranks, n_ranks, half, out):
    """Write half * D of every window (D is the Kolmogorov-Smirnov statistic), a whole number, into ``out``,
    (n_windows,).

    ``ranks`` (n_points,) are dense ranks of the series. gaps[r] is the number of points of rank <= r before the cut
    minus that after it, so that D = max |gaps| / half. When the window moves by one point, one point leaves, one
    crosses the cut and one enters; each changes the gaps from its rank on.
    """
    gaps = np.zeros(n_ranks, dtype=np.int32)
    extremes = np.zeros(2, dtype=np.int32)
    for i in range(2 * half):
        add_and_scan(gaps, ranks[i], n_ranks, np.int32(1 if i < half else -1), extremes)
    extremes[:] = 0
    add_and_scan(gaps, 0, n_ranks, np.int32(0), extremes)
    out[0] = max(extremes[1], -extremes[0])
    for b in range(1, out.size):
        r0, s0 = ranks[b - 1], -1
        r1, s1 = ranks[b + half - 1], 2
        r2, s2 = ranks[b + 2 * half - 1], -1
        if r0 > r1:
            r0, s0, r1, s1 = r1, s1, r0, s0
        if r1 > r2:
            r1, s1, r2, s2 = r2, s2, r1, s1
        if r0 > r1:
            r0, s0, r1, s1 = r1, s1, r0, s0
        extremes[:] = 0
        add_and_scan(gaps, 0, r0, np.int32(0), extremes)
        add_and_scan(gaps, r0, r1, np.int32(s0), extremes)
        add_and_scan(gaps, r1, r2, np.int32(s0 + s1), extremes)
        add_and_scan(gaps, r2, n_ranks, np.int32(0), extremes)
        out[b] = max(extremes[1], -extremes[0])


@jit_inner
def kolmogorov_smirnov_long(ranks, half, out):
    """Write half * D of every window of a long series into ``out``, (n_windows,), for the Kolmogorov-Smirnov statistic
    D.

    ``ranks`` (n_points,) are ranks of the series, and ``half`` the points on each side of the cut. The series is cut
    into pieces that are ranked separately, so that time is linear in its length.
    """
    step = max(256, 4 * half)
    for first in range(0, out.size, step):
        last = min(first + step, out.size)
        piece = ranks[first : last + 2 * half - 1]
        order = np.argsort(piece)
        ranks_in_piece = np.empty(piece.size, dtype=np.int32)
        rank = np.int32(0)
        for k in range(piece.size):
            if k > 0 and piece[order[k]] != piece[order[k - 1]]:
                rank += np.int32(1)
            ranks_in_piece[order[k]] = rank
        kolmogorov_smirnov(ranks_in_piece, rank + 1, half, out[first:last])


@jit_inner
def variance_ratio(values, half, out):
    """Write the ratio of the larger to the smaller variance of the halves of every window into ``out``, (n_windows,).

    ``values`` (n_points,) is the series. The ratio is 1 if both variances are 0, and inf if one is. Squares are taken
    about the mean of each half, after its first value is subtracted (constant halves get exactly 0).
    """
    n_halves = values.size - half + 1
    means = np.zeros(n_halves)
    squares = np.zeros(n_halves)
    for j in range(1, half):
        for i in range(n_halves):
            means[i] += values[i + j] - values[i]
    for i in range(n_halves):
        means[i] /= half
    for j in range(half):
        for i in range(n_halves):
            difference = values[i + j] - values[i] - means[i]
            squares[i] += difference * difference
    for b in range(out.size):
        small, large = squares[b], squares[b + half]
        if small > large:
            small, large = large, small
        out[b] = 1.0 if small == large else large / small


@jit
def statistics(test, values, ranks, n_ranks, half, out):
    """Write a test statistic of every window of one series into ``out``, shape (n_windows,).

    ``test`` is 0 for Mann-Whitney, 1 for Kolmogorov-Smirnov, 2 for the variance ratio. ``values`` and ``ranks``, both
    (n_points,), are the series and its dense ranks. A window has ``half`` points before and after its centre;
    ``n_ranks`` is the number of ranks.
    """
    if test == 0:
        mann_whitney(ranks, n_ranks, half, out)
    elif test == 2:
        variance_ratio(values, half, out)
    elif values.size <= LONGEST_WHOLE:
        kolmogorov_smirnov(ranks, n_ranks, half, out)
    else:
        kolmogorov_smirnov_long(ranks, half, out)


@jit
def score_series(
    test, values, ranks, n_ranks, offsets, half, runs, criticals, spans, extremes, shares, longests, most
):  # fmt: skip
    """Write summaries of the window statistics of every series into four arrays; NaN if the series is too short.

    Parameters
    ----------
    test, half : see `statistics`.
    values, ranks : (n_points,) all series one after the other, and dense ranks within each; series i begins at
        offsets[i].
    n_ranks : (n_series,) number of ranks of each series.
    runs : (n_runs,) ascending numbers of successive windows.
    criticals : (n_levels,) critical values of the statistic.
    spans : (n_spans,) numbers of successive windows.
    extremes : (n_series, n_runs) output: largest over positions of the smallest statistic of runs[k] successive
        windows.
    shares, longests : (n_series, n_levels) output: share and longest run of windows whose statistic is at least
        criticals[k].
    most : (n_series, n_levels, n_spans) output: most such windows among spans[j] successive ones.
    """
    buffer = np.empty(np.max(np.diff(offsets)))
    for i in range(offsets.size - 1):
        series = values[offsets[i] : offsets[i + 1]]
        n_windows = series.size - 2 * half + 1
        if n_windows < 1:
            extremes[i] = np.nan
            shares[i] = np.nan
            longests[i] = np.nan
            most[i] = np.nan
            continue
        of_windows = buffer[:n_windows]
        statistics(test, series, ranks[offsets[i] : offsets[i + 1]], n_ranks[i], half, of_windows)
        for k in range(criticals.size):
            count = run = longest = 0
            for b in range(n_windows):
                run = run + 1 if of_windows[b] >= criticals[k] else 0
                count += run > 0
                longest = max(longest, run)
            shares[i, k] = count / n_windows
            longests[i, k] = longest
            for j in range(spans.size):
                inside = highest = 0
                for b in range(n_windows):
                    inside += of_windows[b] >= criticals[k]
                    if b >= spans[j]:
                        inside -= of_windows[b - spans[j]] >= criticals[k]
                    highest = max(highest, inside)
                most[i, k, j] = highest
        # Invariant: of_windows[b] is the smallest statistic of windows b .. b + covered - 1.
        covered = 1
        for k in range(runs.size):
            if n_windows < runs[k]:
                extremes[i, k] = np.nan
                continue
            while covered < runs[k]:
                step = min(covered, runs[k] - covered)
                covered += step
                for b in range(n_windows - covered + 1):
                    if of_windows[b + step] < of_windows[b]:
                        of_windows[b] = of_windows[b + step]
            extremes[i, k] = of_windows[: n_windows - runs[k] + 1].max()
