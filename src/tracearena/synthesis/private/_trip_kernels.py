"""Kernels of private synthesis of trips: tables counted trip by trip, and virtual trips drawn from them.

Positions x, y are from 0 to 1 in the box. Grids: ends `ENDS`², moves `MOVES`², points `FINE`² cells, by rows
from the south. A move goes to one of the eight neighbours: direction 0 east, then counter-clockwise.
Counting works in whole numbers only, as in `_kernels`: a share c / n of a trip that is one of w of its unit
becomes ⌊2^bits c / (n w)⌋.

offsets         trips + 1: the first position of each trip, and the end of the last
chain           cells × directions: probability of each move
persistence     directions: weight of a move by how far it turns from the last one
pauses          trips × 2: share of its time that a trip stays at its start, and at its end
lengths         trips: number of moves; `count` is that of one trip
slowness        cells of moves: time per distance
density         fine cells: weight of a position
reached         see `reach`
route           corners of one trip × 3: x, y, and the time of the way there
rng             NumPy's generator
side            cells along a side of a grid; `a` and `b` are cells
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.private.trips import (
    DETOUR_EDGES,
    DIRECTIONS,
    DISTANCE_EDGES,
    ENDS,
    FINE,
    LENGTH_EDGES,
    MOVES,
    PAUSE_EDGES,
    POINT_EDGES,
    STEP_X,
    STEP_Y,
)


@njit(cache=True, nogil=True)
def find_cell(x, y, side):  # type: ignore[no-untyped-def]
    """Return the cell of a position."""
    return min(int(y * side), side - 1) * side + min(int(x * side), side - 1)


@njit(cache=True, nogil=True)
def straight_moves(a, b):  # type: ignore[no-untyped-def]
    """Return the moves that a straight way between two cells needs."""
    return max(abs(a // MOVES - b // MOVES), abs(a % MOVES - b % MOVES))


@njit(cache=True, nogil=True)
def list_moves(x, y, moves):  # type: ignore[no-untyped-def]
    """Write the cell and the direction of each move of a trip, and return their number."""
    count, at = 0, find_cell(x[0], y[0], MOVES)
    for k in range(1, len(x)):
        goal = find_cell(x[k], y[k], MOVES)
        while at != goal:
            east = np.sign(goal % MOVES - at % MOVES)
            north = np.sign(goal // MOVES - at // MOVES)
            for d in range(DIRECTIONS):
                if STEP_X[d] == east and STEP_Y[d] == north:
                    moves[count, 0], moves[count, 1] = at, d
            count += 1
            at += north * MOVES + east
    return count


@njit(cache=True, nogil=True)
def add_trips(offsets, x, y, weight, bits, tables):  # type: ignore[no-untyped-def]
    """Add what each trip contributes, times 2^`bits`, to the tables.

    `weight` is the number of trips of the unit that a trip belongs to. `tables` are ends (start × end),
    terminals (2 × fine cells), moves (cells × directions), turns (directions), detours (distance × moves
    beyond it), durations (moves × points), pauses (2 × moves × shares), districts and density (cells of ends,
    and fine cells).
    """
    ends, terminals, moves, turns, detours, durations, pauses, districts, density = tables
    one = np.int64(1) << bits
    longest = 0
    for j in range(len(weight)):
        longest = max(longest, offsets[j + 1] - offsets[j])
    made = np.empty((longest * MOVES + 1, 2), np.int64)
    for j in range(len(weight)):
        first, stop, w = offsets[j], offsets[j + 1], weight[j]
        n, last = stop - first, stop - 1
        start, end = find_cell(x[first], y[first], ENDS), find_cell(x[last], y[last], ENDS)
        ends[start, end] += one // w
        terminals[0, find_cell(x[first], y[first], FINE)] += one // (2 * w)
        terminals[1, find_cell(x[last], y[last], FINE)] += one // (2 * w)
        for k in range(first, stop):
            districts[find_cell(x[k], y[k], ENDS)] += one // (n * w)
            density[find_cell(x[k], y[k], FINE)] += one // (n * w)
        count = list_moves(x[first:stop], y[first:stop], made)
        for m in range(count):
            moves[made[m, 0], made[m, 1]] += one // (count * w)
            if m > 0:
                turns[(made[m, 1] - made[m - 1, 1]) % DIRECTIONS] += one // ((count - 1) * w)
        straight = straight_moves(find_cell(x[first], y[first], MOVES), find_cell(x[last], y[last], MOVES))
        distance = np.searchsorted(DISTANCE_EDGES, straight, side="right")
        detours[distance, np.searchsorted(DETOUR_EDGES, count - straight, side="right")] += one // w
        length = np.searchsorted(LENGTH_EDGES, count, side="right")
        durations[length, np.searchsorted(POINT_EDGES, n, side="right")] += one // w
        for side in range(2):
            origin, paused = first if side == 0 else last, 0
            home = find_cell(x[origin], y[origin], FINE)
            while paused < n:
                k = first + paused if side == 0 else last - paused
                if find_cell(x[k], y[k], FINE) != home:
                    break
                paused += 1
            pauses[side, length, np.searchsorted(PAUSE_EDGES, (paused - 1) / n, side="right")] += one // (
                2 * w
            )


@njit(cache=True, nogil=True)
def draw(rng, weights):  # type: ignore[no-untyped-def]
    """Draw an index with probabilities in proportion to weights, or -1 where all are 0."""
    total = 0.0
    for one in weights:
        total += one
    left = rng.random() * total
    for index in range(len(weights)):
        left -= weights[index]
        if left < 0:
            return index
    return len(weights) - 1 if total > 0 else -1


@njit(cache=True, nogil=True)
def draw_in_cell(rng, density, cell, x, y):  # type: ignore[no-untyped-def]
    """Draw a position in a cell of the moves: a fine cell by its density, and a point in it.

    A coordinate that lies in the cell already is kept: people go straight on where they can.
    """
    ratio = FINE // MOVES
    left, below = (cell % MOVES) * ratio, (cell // MOVES) * ratio
    column, row = int(x * FINE) - left, int(y * FINE) - below
    keep_x, keep_y = 0 <= column < ratio, 0 <= row < ratio
    weights = np.zeros(ratio * ratio)
    for i in range(ratio * ratio):
        if (not keep_x or i % ratio == column) and (not keep_y or i // ratio == row):
            weights[i] = density[(below + i // ratio) * FINE + left + i % ratio] + 1e-12
    i = draw(rng, weights)
    return (
        x if keep_x else (left + i % ratio + rng.random()) / FINE,
        y if keep_y else (below + i // ratio + rng.random()) / FINE,
    )


@njit(cache=True, nogil=True)
def reach(chain, persistence, end, reached):  # type: ignore[no-untyped-def]
    """Compute the chance to be at the end after k more moves, by cell and direction of the last move.

    reached[0, c, d] = 1 at the end; reached[k, c, d] = Σ_m P(m | c, d) reached[k − 1, c + m, m]. The last
    index of d stands for "no move yet".
    """
    reached[0] = 0.0
    reached[0, end] = 1.0
    for k in range(1, len(reached)):
        for c in range(MOVES * MOVES):
            for d in range(DIRECTIONS + 1):
                reached[k, c, d] = 0.0
            for m in range(DIRECTIONS):
                if chain[c, m] > 0:
                    there = reached[k - 1, c + STEP_Y[m] * MOVES + STEP_X[m], m] * chain[c, m]
                    if there > 0:
                        for d in range(DIRECTIONS):
                            reached[k, c, d] += there * persistence[(m - d) % DIRECTIONS]
                        reached[k, c, DIRECTIONS] += there


@njit(cache=True, nogil=True)
def draw_trip(  # type: ignore[no-untyped-def]
    rng, ends, pauses, count, chain, persistence, reached, slowness, density, route, x, y
):  # fmt: skip
    """Write the positions of a trip between two ends, with a number of moves and a pause at each end."""
    n = len(x)
    at, last = find_cell(ends[0], ends[1], MOVES), DIRECTIONS
    route[0, 0], route[0, 1] = ends[0], ends[1]
    stops = 1
    weights = np.empty(DIRECTIONS)
    for k in range(count, 0, -1):
        for m in range(DIRECTIONS):
            weights[m] = 0.0
            if chain[at, m] > 0:
                there = reached[k - 1, at + STEP_Y[m] * MOVES + STEP_X[m], m] * chain[at, m]
                weights[m] = there if last == DIRECTIONS else there * persistence[(m - last) % DIRECTIONS]
        last = draw(rng, weights)
        at += STEP_Y[last] * MOVES + STEP_X[last]
        if k > 1:
            route[stops, 0], route[stops, 1] = draw_in_cell(
                rng, density, at, route[stops - 1, 0], route[stops - 1, 1]
            )
            stops += 1
    # The last street to the end: straight on first.
    across = last != DIRECTIONS and last % 4 == 2
    route[stops, 0], route[stops, 1] = (
        (route[stops - 1, 0], ends[3]) if across else (ends[2], route[stops - 1, 1])
    )
    route[stops + 1, 0], route[stops + 1, 1] = ends[2], ends[3]
    stops += 2
    # Each stretch of the way takes time in proportion to its length and to how slow its cells are.
    total = 0.0
    for i in range(1, stops):
        pace = slowness[find_cell(route[i, 0], route[i, 1], MOVES)]
        pace = (pace + slowness[find_cell(route[i - 1, 0], route[i - 1, 1], MOVES)]) / 2
        far = np.hypot(route[i, 0] - route[i - 1, 0], route[i, 1] - route[i - 1, 1])
        route[i, 2] = pace * far + 1e-9
        total += route[i, 2]
    i, passed = 1, 0.0
    moving = max(1.0 - pauses[0] - pauses[1], 1e-9)
    for k in range(n):
        when = total * min(max((k / (n - 1) - pauses[0]) / moving, 0.0), 1.0)
        while i < stops - 1 and passed + route[i, 2] < when:
            passed += route[i, 2]
            i += 1
        part = min((when - passed) / route[i, 2], 1.0)
        x[k] = route[i - 1, 0] + part * (route[i, 0] - route[i - 1, 0])
        y[k] = route[i - 1, 1] + part * (route[i, 1] - route[i - 1, 1])


@njit(cache=True, nogil=True)
def draw_trips(  # type: ignore[no-untyped-def]
    rng, order, groups, ends, pauses, lengths, offsets, chain, persistence, slowness, density, spent, x, y
):  # fmt: skip
    """Draw all trips, and add to `spent` the share of its time that each spends in each fine cell.

    `order` has the trips by the cell of their end, `groups` the first of each cell.
    """
    most = lengths.max() + 1
    reached = np.zeros((most, MOVES * MOVES, DIRECTIONS + 1))
    route = np.empty((most + 3, 3))
    for end in range(MOVES * MOVES):
        longest = -1
        for i in range(groups[end], groups[end + 1]):
            longest = max(longest, lengths[order[i]])
        if longest < 0:
            continue
        reach(chain, persistence, end, reached[: longest + 1])
        for i in range(groups[end], groups[end + 1]):
            j = order[i]
            first, stop = offsets[j], offsets[j + 1]
            start, count = find_cell(ends[j, 0], ends[j, 1], MOVES), lengths[j]
            # One move cannot end where it began: such a number of moves is made smaller.
            while count > 0 and reached[count, start, DIRECTIONS] <= 0:
                count -= 1
            draw_trip(
                rng, ends[j], pauses[j], count, chain, persistence, reached, slowness, density, route,
                x[first:stop], y[first:stop],
            )  # fmt: skip
            for k in range(first, stop):
                spent[find_cell(x[k], y[k], FINE)] += 1 / (stop - first)
