"""Compiled counting of ordered pairs where many rows, but not all, share their score with others.

A bit map says which buckets of the range of keys hold a negative row, and the number of bits below a bucket numbers
the buckets that do: a slot each, with the key of its first row, the rows of that key, and the rows before. A positive
row reads one slot and compares one key, however many negative rows are equal. Slots of several keys are rare and keep
the other keys in a chain.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.counts._pair_kernels import count_bits
from bayesieve.criteria._auc_kernels import fill_keys, fill_levels
from bayesieve.criteria._pair_kernels import fill_buckets, key_range, shift_for

_BUCKETS_PER_ROW = 32  # of the bit map, at most; half of it at least
_BLOCK = 1024  # rows whose work memory stays in the first-level cache
_LOW = (1 << 32) - 1
_MOST_STEPS = 2  # per row, along chains, before sorting is the faster way
_BEYOND = np.iinfo(np.int64).max // 2


@jit_inner
def _mark(buckets, words):
    for i in range(buckets.size):
        bucket = np.int64(buckets[i])
        words[np.uint64(bucket >> 5)] |= np.int64(1) << (bucket & 31)


@jit_inner
def _number_words(words):
    """Above the 32 bits of a word: how many bits are in the words before; returns how many there are."""
    total = 0
    for w in range(words.size):
        inside = count_bits(words[w])
        words[w] |= total << 32
        total += inside
    return total


@jit_inner
def _slot(bucket, words):
    """The first slot not below a bucket."""
    place = np.int64(bucket)
    word = words[np.uint64(place >> 5)]
    return np.uint64((word >> 32) + count_bits(word & ((np.int64(1) << (place & 31)) - 1)))


@jit_inner
def _fill_slots(buckets, words, found):
    for i in range(buckets.size):
        found[i] = np.int32(_slot(buckets[i], words))


@jit_inner
def _enter(keys, found, first, tolerance, slots, extras, n_extras):
    """Count negative rows in their slots: all above bit 32 of slots[2 k], twice those of the slot's key below. Rows
    of another key are listed in ``extras``.
    """
    is_new = np.array([0, -1])  # looked up, not chosen: a choice would be compiled to a jump that no processor foresees
    within = np.uint64(2 * tolerance)
    for i in range(keys.size):
        at = np.uint64(found[i]) << np.uint64(1)
        entry = slots[at]
        own = slots[at | np.uint64(1)]
        own += (keys[i] - own) & is_new[np.uint64(entry == 0)]
        same = np.int64(np.uint64(keys[i] - own + tolerance) <= within)
        slots[at] = entry + (1 << 32) + 2 * same
        slots[at | np.uint64(1)] = own
        extras[np.uint64(n_extras)] = first + i
        n_extras += 1 - same
    return n_extras


@jit_inner
def _number_slots(slots, n):
    """Above bit 32 of slots[2 k]: the rows in the slots before; bit 0: whether the slot has other keys, too."""
    total = 0
    for k in range(n):
        entry = slots[2 * k]
        inside, own = entry >> 32, entry & _LOW
        slots[2 * k] = (total << 32) | own | np.int64(2 * inside != own)
        total += inside
    slots[2 * n], slots[2 * n + 1] = total << 32, _BEYOND


@jit_inner
def _chain_extras(keys, buckets, words, extras, tolerance, heads, nodes, left):
    """Nodes (key, rows, next node) of the other keys of a slot, from node heads[slot] on; returns what is left of the
    steps allowed.
    """
    for x in range(extras.size):
        heads[_slot(buckets[np.uint64(extras[x])], words)] = -1
    n = 0
    for x in range(extras.size):
        row = np.uint64(extras[x])
        key = keys[row]
        at = _slot(buckets[row], words)
        k = np.int64(heads[at])
        while k >= 0 and abs(nodes[k, 0] - key) > tolerance:
            k = nodes[k, 2]
            left -= 1
        if k >= 0:
            nodes[k, 1] += 1
        else:
            nodes[n, 0], nodes[n, 1], nodes[n, 2] = key, 1, heads[at]
            heads[at] = n
            n += 1
        if left < 0:
            break
    return left


@jit_inner
def _count(keys, found, tolerance, slots, flags):
    """Twice the negatives below the positive rows, without the other keys of the slots that ``flags`` tells of."""
    twice = 0
    for i in range(keys.size):
        at = np.uint64(found[i]) << np.uint64(1)
        entry = slots[at]
        above = keys[i] - slots[at | np.uint64(1)]
        own = (entry & _LOW) >> 1
        twice += 2 * (entry >> 32) + (own if above > tolerance else 0) + (own if above >= -tolerance else 0)
        flags[i] = entry & 1
    return twice


@jit_inner
def _list_flags(flags, first, listed, n):
    for i in range(flags.size):
        listed[np.uint64(n)] = first + i
        n += np.int64(flags[i])
    return n


@jit_inner
def _count_extras(keys, buckets, words, unsure, tolerance, heads, nodes, left):
    """(steps left, twice the negatives of other keys below the positive rows in ``unsure``, each in its slot)."""
    twice = 0
    for u in range(unsure.size):
        row = np.uint64(unsure[u])
        k = np.int64(heads[_slot(buckets[row], words)])
        while k >= 0:
            above = keys[row] - nodes[k, 0]
            twice += nodes[k, 1] * (np.int64(above > tolerance) + np.int64(above >= -tolerance))
            k = nodes[k, 2]
            left -= 1
        if left < 0:
            break
    return left, twice


@jit_inner
def slot_pairs(keys, offsets, positive, tolerance, words, slots, buckets, heads, unsure):
    """(whether it worked, twice the number of pairs with the positive row above, ties once) of unweighted rows.

    ``positive[s]`` tells whether the rows of segment s are positive. It gives up where too many keys share buckets, or
    keys that tie might fall into different ones.
    """
    n_negative = 0
    for s in range(positive.size):
        if not positive[s]:
            n_negative += offsets[s + 1] - offsets[s]
    low, high = key_range(keys, keys.size)
    shift = shift_for(high - low, _BUCKETS_PER_ROW * n_negative + 1)
    if (np.int64(1) << shift) <= 64 * tolerance:
        return False, 0
    low -= np.int64(1) << (shift - 1)
    if fill_buckets(keys, low, shift, tolerance, buckets) > 0:
        return False, 0
    words = words[: ((high - low) >> shift >> 5) + 1]
    words[:] = 0
    for s in range(positive.size):
        if not positive[s]:
            _mark(buckets[offsets[s] : offsets[s + 1]], words)
    n_slots = _number_words(words)
    slots[: 2 * n_slots] = 0
    found, flags = np.empty(_BLOCK, dtype=np.int32), np.empty(_BLOCK, dtype=np.int32)
    n_extras = 0
    for s in range(positive.size):
        if not positive[s]:
            for begin in range(offsets[s], offsets[s + 1], _BLOCK):
                rows = slice(begin, min(begin + _BLOCK, offsets[s + 1]))
                place = found[: rows.stop - begin]
                _fill_slots(buckets[rows], words, place)
                n_extras = _enter(keys[rows], place, begin, tolerance, slots, unsure, n_extras)
    _number_slots(slots, n_slots)
    nodes = np.empty((n_extras, 3), dtype=np.int64)
    left = _MOST_STEPS * keys.size
    left = _chain_extras(keys, buckets, words, unsure[:n_extras], tolerance, heads, nodes, left)
    if left < 0:
        return False, 0
    twice, n_unsure = 0, 0
    for s in range(positive.size):
        if positive[s]:
            for begin in range(offsets[s], offsets[s + 1], _BLOCK):
                rows = slice(begin, min(begin + _BLOCK, offsets[s + 1]))
                place, flag = found[: rows.stop - begin], flags[: rows.stop - begin]
                _fill_slots(buckets[rows], words, place)
                twice += _count(keys[rows], place, tolerance, slots, flag)
                n_unsure = _list_flags(flag, begin, unsure, n_unsure)
    left, more = _count_extras(keys, buckets, words, unsure[:n_unsure], tolerance, heads, nodes, left)
    return left >= 0, twice + more


@jit
def slot_sums(layout, scan, moves, chosen, targets, positive, sums):
    """As `ranked_sums`, by `slot_pairs`."""
    n_rows = scan.group_of.size
    levels, keys = np.empty(n_rows, dtype=np.uint16), np.empty(n_rows, dtype=np.int64)
    bits, words = np.empty(n_rows, dtype=np.int64), np.empty(2 * n_rows + 8, dtype=np.int64)
    slots, buckets = np.empty(2 * n_rows + 2, dtype=np.int64), np.empty(n_rows, dtype=np.int32)
    heads, unsure = np.empty(n_rows + 1, dtype=np.int32), np.empty(n_rows + 1, dtype=np.int32)
    for c in chosen:
        n_codes = fill_levels(layout, moves.features[c], levels)
        for t in range(targets.size):
            if not np.isnan(sums[c, t]):
                continue
            fill_keys(
                layout, moves, c, n_codes, targets[t],
                scan.logs, scan.ratios, scan.is_wide, scan.unit, layout.offsets, levels, keys, bits,
            )  # fmt: skip
            worked, pairs = slot_pairs(
                keys, layout.offsets, positive[t], scan.tolerance, words, slots, buckets, heads, unsure
            )
            if worked:
                sums[c, t] = 0.5 * pairs
