"""Compiled counting of ordered pairs of unweighted rows: how often a positive row scores above a negative one.

Keys are 64-bit integers that order rows as their scores do. A bit map says which buckets of the range of keys hold a
negative row, and the number of bits below a bucket numbers the buckets that do: a slot each, with the key of its first
row, the rows of that key, and the rows before. A positive row reads one slot and compares one key, however many
negative rows are equal. Slots of several keys are rare and keep the other keys in a chain. Nothing is sorted, no step
waits for the one before, and neither the levels of a feature nor the number of segments matter.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit_inner
from bayesieve.counts._kernels import count_bits

_BUCKETS_PER_ROW = 32  # of the bit map, at most; half of it at least
_LOW = (1 << 32) - 1
_MOST_STEPS = 2  # per row, along chains, before sorting is the faster way
_BEYOND = np.iinfo(np.int64).max // 2


@jit_inner
def bucket_range(keys, n, n_buckets):
    """Lowest and highest of ``n`` keys, and how many bits to drop so that their distances fall into ``n_buckets``."""
    low = keys[0]
    high = keys[0]
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i])
    shift = 0
    while (high - low) >> shift >= n_buckets:
        shift += 1
    return low, high, shift


@jit_inner
def _slot(bucket, words):
    """The first slot not below a bucket."""
    place = np.int64(bucket)
    word = words[np.uint64(place >> 5)]
    return np.uint64((word >> 32) + count_bits(word & ((np.int64(1) << (place & 31)) - 1)))


@jit_inner
def _fill_slots(keys, buckets, offsets, positive, tolerance, words, places, slots, extras):
    """Mark the buckets of negative rows, each with the number of those before; count rows in their slots, and list in
    ``extras`` those of another key than the slot's, which is that of its last row. Returns how many there are.

    words : bits of 32 buckets, and above them the number of buckets in the words before
    slots : above bit 32 of slots[2 k] the rows in the slots before, below twice those of the slot's key, and whether it
        has other keys; slots[2 k + 1] : the key
    """
    for s in range(positive.size):
        if not positive[s]:
            for i in range(offsets[s], offsets[s + 1]):
                bucket = np.int64(buckets[i])
                words[np.uint64(bucket >> 5)] |= np.int64(1) << (bucket & 31)
    n_slots = 0
    for w in range(words.size):
        inside = count_bits(words[w])
        words[w] |= n_slots << 32
        n_slots += inside
    slots[: 2 * n_slots] = 0
    for s in range(positive.size):
        if not positive[s]:
            rows = slice(offsets[s], offsets[s + 1])
            key, bucket, place = keys[rows], buckets[rows], places[rows]
            for i in range(key.size):
                place[i] = np.int32(_slot(bucket[i], words))
            for i in range(key.size):
                slots[(np.uint64(place[i]) << np.uint64(1)) | np.uint64(1)] = key[i]
    within, n_extras = np.uint64(2 * tolerance), 0
    for s in range(positive.size):
        if not positive[s]:
            first, rows = offsets[s], slice(offsets[s], offsets[s + 1])
            key, place = keys[rows], places[rows]
            for i in range(key.size):
                at = np.uint64(place[i]) << np.uint64(1)
                same = np.int64(np.uint64(key[i] - slots[at | np.uint64(1)] + tolerance) <= within)
                slots[at] += (1 << 32) + 2 * same
                extras[np.uint64(n_extras)] = first + i
                n_extras += 1 - same
    total = 0
    for k in range(n_slots):
        entry = slots[2 * k]
        of_slot, own = entry >> 32, entry & _LOW
        slots[2 * k] = (total << 32) | own | np.int64(2 * of_slot != own)
        total += of_slot
    slots[2 * n_slots], slots[2 * n_slots + 1] = total << 32, _BEYOND
    return n_extras


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
def slot_pairs(keys, offsets, positive, tolerance, words, slots, ints):
    """(whether it worked, twice the number of pairs with the positive row above, ties once) of unweighted rows.

    ``positive[s]`` tells whether the rows of segment s are positive. It gives up where too many keys share buckets, or
    keys that tie might fall into different ones.
    """
    buckets, places, heads, unsure = ints[0], ints[1], ints[2], ints[3]
    n_negative = 0
    for s in range(positive.size):
        if not positive[s]:
            n_negative += offsets[s + 1] - offsets[s]
    low, high, shift = bucket_range(keys, keys.size, _BUCKETS_PER_ROW * n_negative + 1)
    if (np.int64(1) << shift) <= 64 * tolerance:
        return False, 0
    low -= np.int64(1) << (shift - 1)
    inside = (np.int64(1) << shift) - 1
    n_near = 0
    for i in range(keys.size):
        key = keys[i] - low
        buckets[i] = np.int32(key >> shift)
        n_near += np.int64(((key + tolerance) & inside) <= 2 * tolerance)
    if n_near > 0:  # rows so near to the edge of a bucket that a tie may be in the next
        return False, 0
    words = words[: ((high - low) >> shift >> 5) + 1]
    words[:] = 0
    n_extras = _fill_slots(keys, buckets, offsets, positive, tolerance, words, places, slots, unsure)
    nodes = np.empty((n_extras, 3), dtype=np.int64)
    left = _MOST_STEPS * keys.size
    left = _chain_extras(keys, buckets, words, unsure[:n_extras], tolerance, heads, nodes, left)
    if left < 0:
        return False, 0
    twice, n_unsure = 0, 0
    for s in range(positive.size):
        if positive[s]:
            first, rows = offsets[s], slice(offsets[s], offsets[s + 1])
            key, bucket, place = keys[rows], buckets[rows], places[rows]
            for i in range(key.size):
                place[i] = np.int32(_slot(bucket[i], words))
            for i in range(key.size):
                at = np.uint64(place[i]) << np.uint64(1)
                entry = slots[at]
                above = key[i] - slots[at | np.uint64(1)]
                own = (entry & _LOW) >> 1
                twice += 2 * (entry >> 32) + own * (np.int64(above > tolerance) + np.int64(above >= -tolerance))
                unsure[np.uint64(n_unsure)] = first + i
                n_unsure += entry & 1
    for u in range(n_unsure):  # rows in slots of several keys: those beside the slot's own
        row = np.uint64(unsure[np.uint64(u)])
        k = np.int64(heads[_slot(buckets[row], words)])
        while k >= 0:
            above = keys[row] - nodes[k, 0]
            twice += nodes[k, 1] * (np.int64(above > tolerance) + np.int64(above >= -tolerance))
            k = nodes[k, 2]
            left -= 1
        if left < 0:
            return False, 0
    return True, twice
