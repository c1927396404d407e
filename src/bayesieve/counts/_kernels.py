"""Compiled counting of codes by class."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner

_LEAST_PACKED = 100  # rows of a class from which reading eight codes at a time pays
_LEAST_IN_LANES = 500  # and from which several copies of a histogram do
_MOST_PACKED = 12  # levels up to which it does: each takes a pass over the rows, in the first-level cache
_WEIGHED_AT_ONCE = 1 << 14  # rows whose weights stay in the second-level cache
_WORDS = 255  # of eight codes, after which the bytes that count a level would overflow
_ONES = np.uint64(0x0101010101010101)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIR_ONES = np.uint64(0x0001000100010001)


@jit
def count_codes(codes, class_codes, weights, n_levels, offsets, counts):
    """counts[offsets[k] + level, class] += weight for every row of every feature; codes beyond the known levels are
    passed over.
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
    """As ``count_codes``, of uint8 codes whose rows stand class after class; ``starts[j]`` is the first of class j.

    Up to twelve levels are counted eight codes at a time, more of them in four copies of the histogram in turn (each
    addition to one would have to wait for the one before).
    """
    lanes = np.zeros((4, 256), np.int64)
    for k in range(codes.shape[0]):
        mine = counts[offsets[k] : offsets[k + 1]]
        for j in range(starts.size - 1):
            run = codes[k, starts[j] : starts[j + 1]]
            if n_levels[k] <= _MOST_PACKED and run.size >= _LEAST_PACKED:
                # Codes are compared with a level eight at a time, as the bytes of a word: loops that vectorise.
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
    for i in range(run.size):
        if run[i] < n_levels:
            counts[run[i], j] += 1.0


@jit
def weigh_sorted(codes, weights, starts, classes, n_levels, offsets, counts):
    """As ``count_codes``, of codes that are all known and weights of rows that stand segment after segment;
    ``starts[s]`` is the first row of segment s, ``classes[s]`` its class. Rows are added in turn to four copies of the
    histogram: each addition to one would have to wait for the one before.
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
    """Replace numbers by others that look random (the finaliser of SplitMix64)."""
    for i in range(numbers.size):
        mixed = numbers[i] + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        numbers[i] = mixed ^ (mixed >> np.uint64(31))


@jit
def mix_floats(values, salt, mixed):
    """Write what `mix` makes of the bits of floats and a salt; there is one zero, and one NaN."""
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
    """A number for each text, by its bytes (FNV-1a); ``ends`` : where the texts end in ``data``."""
    begin = 0
    for i in range(ends.size):
        number = np.uint64(0xCBF29CE484222325)
        for at in range(begin, ends[i]):
            number = (number ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        hashes[i], begin = number, ends[i]
