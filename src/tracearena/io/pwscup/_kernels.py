"""Loops over bytes: rows of ids and cells from text, and back.

`data` and `out` are the bytes of a text, `pos` is where reading or writing begins.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

BAD_LINE, DUPLICATE, UNSORTED, TOO_MANY_IDS = 0, 1, 2, 3

_LF, _CR, _SPACE, _STAR, _COMMA, _ZERO, _NINE = 10, 13, 32, 42, 44, 48, 57


@njit(cache=True, nogil=True)
def _parse_number(data: Bytes, pos: int, highest: int) -> tuple[int, int]:
    """Read digits without leading zero; value 0 if there is none from 1 to `highest`."""
    n = len(data)
    if pos >= n or data[pos] <= _ZERO or data[pos] > _NINE:
        return 0, pos
    value = 0
    while pos < n and _ZERO <= data[pos] <= _NINE:
        value = value * 10 + (data[pos] - _ZERO)
        pos += 1
        if value > highest:
            return 0, pos
    return value, pos


@njit(cache=True, nogil=True)
def _find_line_end(data: Bytes, pos: int) -> int:
    """Return the start of the next line if one ends here, else -1."""
    n = len(data)
    if pos >= n:
        return pos
    if data[pos] == _LF:
        return pos + 1
    if data[pos] == _CR and pos + 1 < n and data[pos + 1] == _LF:
        return pos + 2
    return -1


@njit(cache=True, nogil=True)
def _is_cell_again(data: Bytes, cell: int, before: int, length: int) -> bool:
    """Whether the cell is, to its line's end, the text of `length` bytes that stood before."""
    if length == 0 or cell + length > len(data) or _find_line_end(data, cell + length) < 0:
        return False
    k = 0
    while k < length and data[cell + k] == data[before + k]:
        k += 1
    return k == length


@njit(cache=True, nogil=True)
def _find_or_add_set(
    members: Ints, begin: int, count: int, set_offsets: Longs, n_sets: int, table: Ints, multiplier: int
) -> int:
    """Return the number of the equal set seen before, or `n_sets` after entering it in the table.

    The set is ``members[begin:begin + count]``; set s, seen before, is
    ``members[set_offsets[s]:set_offsets[s + 1]]``. `table` is a hash table of set numbers, -1 where it is
    free.
    """
    mixed = np.uint64(count)
    for k in range(begin, begin + count):
        mixed = (mixed + np.uint64(members[k]) + np.uint64(1)) * np.uint64(multiplier)
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(len(table) - 1))
    while table[slot] >= 0:
        other = int(table[slot])
        first = set_offsets[other]
        if set_offsets[other + 1] - first == count:
            k = 0
            while k < count and members[first + k] == members[begin + k]:
                k += 1
            if k == count:
                return other
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = n_sets
    return n_sets


@njit(cache=True, nogil=True)
def scan_rows(
    data: Bytes, start: int, highest: Longs, lookup: Ints, is_list: bool, n_keys: int,
    allow_repetition: bool, max_ids: int, multiplier: int, columns: Ints, codes: Ints, set_offsets: Longs,
    members: Ints, table: Ints, faults: Longs,
) -> tuple[int, int, int]:  # fmt: skip
    """Read lines of `len(highest)` ids, then, if `lookup` is not empty, one cell of places.

    No id of column c is above ``highest[c]``; `lookup` has the index of each place by its id.
    Fills `columns` (ids × rows) and `codes` (as in ObfuscatedTraces) with `set_offsets` and
    `members`; equal sets are stored once, by `table` (`_find_or_add_set`). The first `n_keys` columns must
    ascend strictly. Fills `faults` with (row from 0, start, stop, kind) of the first bad lines. Stops where
    `codes` is full.

    Returns
    -------
    rows, sets, faults
        How many there are; more faults are counted than kept.
    """
    n = len(data)
    n_ids = len(highest)
    has_cell = len(lookup) > 0
    stamp = np.full(len(lookup), -1, np.int64)
    # Of each first place the latest set: where its text stood, how long, its code and size. The same
    # text again need not be parsed, and defences that release blocks repeat few texts very often.
    latest = np.zeros((len(lookup) if is_list else 1, 4), np.int64)
    previous = np.zeros(2, np.int64)
    pos = start
    row = n_sets = n_members = n_faults = listed = 0
    while pos < n and row < len(codes):
        line = pos
        good = True
        for c in range(n_ids):
            if c > 0:
                good = pos < n and data[pos] == _COMMA
                if not good:
                    break
                pos += 1
            value, pos = _parse_number(data, pos, highest[c])
            good = value > 0
            if not good:
                break
            columns[c, row] = value
        code = -1
        count = 0
        cell = pos
        if good and has_cell:
            if n_ids > 0:
                good = pos < n and data[pos] == _COMMA
                pos += good
            cell = pos
            if good and is_list and pos < n and data[pos] == _STAR:
                pos += 1
            elif good:
                while True:
                    value, pos = _parse_number(data, pos, len(lookup) - 1)
                    place = lookup[value]
                    good = place >= 0 and (allow_repetition or stamp[place] != row)
                    if not good:
                        break
                    listed += 1
                    if listed > max_ids:
                        faults[min(n_faults, len(faults) - 1)] = (row, line, pos, TOO_MANY_IDS)
                        return row, n_sets, n_faults + 1
                    stamp[place] = row
                    code = place
                    if not is_list:
                        break
                    members[n_members + count] = place
                    count += 1
                    if pos >= n or data[pos] != _SPACE:
                        break
                    pos += 1
                    before, length, known, size = latest[place]
                    if count == 1 and listed + size <= max_ids and _is_cell_again(data, cell, before, length):
                        pos = cell + length
                        code = known
                        listed += size - 1
                        break
        cell_end = pos
        after = _find_line_end(data, pos) if good else -1
        kind = BAD_LINE
        if after < 0:
            good = False
            while pos < n and data[pos] != _LF:
                pos += 1
            after = pos + 1
        elif n_keys > 0:
            first = np.int64(columns[0, row])
            second = np.int64(columns[1, row]) if n_keys > 1 else np.int64(0)
            if first == previous[0] and second == previous[1]:
                good, kind = False, DUPLICATE
            elif first < previous[0] or (first == previous[0] and second < previous[1]):
                good, kind = False, UNSORTED
            else:
                previous[0], previous[1] = first, second
        if not good:
            if n_faults < len(faults):
                faults[n_faults] = (row, line, min(after, n), kind)
            n_faults += 1
            code = -1
        elif count > 1:
            first_place = members[n_members]
            which = _find_or_add_set(members, n_members, count, set_offsets, n_sets, table, multiplier)
            if which == n_sets:
                n_members += count
                n_sets += 1
                set_offsets[n_sets] = n_members
            code = -2 - which
            latest[first_place] = (cell, cell_end - cell, code, count)
        codes[row] = code
        row += 1
        pos = after
    return row, n_sets, n_faults


@njit(cache=True, nogil=True)
def _count_digits(value: int) -> int:
    digits = 1
    while value >= 10:
        value //= 10
        digits += 1
    return digits


@njit(cache=True, nogil=True)
def _put_number(out: Bytes, pos: int, value: int) -> int:
    stop = pos + _count_digits(value)
    k = stop
    while k > pos:
        k -= 1
        out[k] = _ZERO + value % 10
        value //= 10
    return stop


@njit(cache=True, nogil=True)
def count_text_bytes(columns: Ints, codes: Ints, set_offsets: Longs, members: Ints, ids: Ints) -> int:
    """Return how many bytes `fill_text` will write, given the same `columns`, `codes`, sets and `ids`.

    The sets are `set_offsets` and `members`.
    """
    set_sizes = np.zeros(len(set_offsets) - 1, np.int64)
    for s in range(len(set_sizes)):
        for k in range(set_offsets[s], set_offsets[s + 1]):
            set_sizes[s] += _count_digits(ids[members[k]]) + 1
    size = 0
    for c in range(columns.shape[0]):
        for row in range(columns.shape[1]):
            size += _count_digits(columns[c, row]) + 1
    for row in range(len(codes)):
        code = codes[row]
        if code >= 0:
            size += _count_digits(ids[code]) + 1
        else:
            size += 2 if code == -1 else set_sizes[-2 - code]
    return size


@njit(cache=True, nogil=True)
def fill_text(
    columns: Ints, codes: Ints, set_offsets: Longs, members: Ints, ids: Ints, n_rows: int, out: Bytes
) -> int:
    """Write rows of ids, each followed by its cell if there are codes; return the end.

    The ids of a row are a column of `columns`; `codes`, `set_offsets` and `members` are those of
    ObfuscatedTraces, and `ids` are the numbers under which places are written.
    """
    pos = 0
    has_cell = len(codes) > 0
    for row in range(n_rows):
        for c in range(columns.shape[0]):
            pos = _put_number(out, pos, columns[c, row])
            out[pos] = _COMMA
            pos += 1
        if has_cell:
            code = codes[row]
            if code >= 0:
                pos = _put_number(out, pos, ids[code])
            elif code == -1:
                out[pos] = _STAR
                pos += 1
            else:
                for k in range(set_offsets[-2 - code], set_offsets[-1 - code]):
                    pos = _put_number(out, pos, ids[members[k]])
                    out[pos] = _SPACE
                    pos += 1
                pos -= 1
            pos += 1
        out[pos - 1] = _LF
    return pos
