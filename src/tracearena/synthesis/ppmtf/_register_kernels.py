"""A sum of outer products that stays in the processor's registers while it grows.

Numba's own loops would store it after each product. It takes 24 registers of eight numbers, which is all
that there is with AVX-512, and more than there is without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

from tracearena.synthesis.ppmtf._arrays import Floats

WIDTH = 16
"""Columns of the matrices. Of the sum, rows 0 to 7 have their first eight columns, the others all."""
RING = 16
"""Rows of the buffer that products wait in."""
REGISTERS_SUFFICE = bool(get_host_cpu_features().get("avx512f", False))
cgutils: Any = _cgutils
_AHEAD = 8
_LANES = 8
_BYTES = 64
_EIGHT = ir.VectorType(ir.DoubleType(), _LANES)
_TILES = [(row, block) for row in range(WIDTH) for block in range(row // _LANES + 1)]


@njit(cache=True, nogil=True)
def aligned(rows: int) -> Floats:
    """Return rows of zeros none of whose halves lies across two lines of the cache."""
    size = rows * WIDTH
    room = np.zeros(size + _LANES)
    first = -room.ctypes.data % _BYTES // 8
    matrix: Floats = room[first : first + size].reshape((rows, WIDTH))
    return matrix


def _adding(
    typing_context: Any, left: Any, left_index: Any, right: Any, right_index: Any, start: Any, stop: Any,
    ring: Any, out: Any,
) -> Any:  # fmt: skip
    """Add Σ x xᵀ over pairs start to stop, x = left[l] * right[r], to the lower half of ``out``.

    All matrices are `aligned`. Pairs are taken one after the other, from 0 on, and each product is rounded
    with its sum. The x of a later pair is made while an earlier one is multiplied, and waits in the ring.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        data = {
            at: context.make_array(kinds[at])(context, builder, arguments[at]).data
            for at in (0, 1, 2, 3, 6, 7)
        }
        first, end = arguments[4], arguments[5]
        whole = first.type
        last = builder.sub(end, whole(1))

        def eight(pointer: Any, at: int) -> Any:
            return builder.bitcast(builder.gep(pointer, [whole(at)]), _EIGHT.as_pointer())

        def row_of(matrix: int, index: Any) -> Any:
            return builder.gep(data[matrix], [builder.mul(index, whole(WIDTH))])

        def slot(pair: Any) -> Any:
            return row_of(6, builder.and_(pair, whole(RING - 1)))

        def factor(matrix: int, pair: Any) -> Any:
            index = builder.load(builder.gep(data[matrix + 1], [pair]))
            return row_of(matrix, context.cast(builder, index, kinds[matrix + 1].dtype, types.intp))

        def make_ready(pair: Any) -> None:
            there = builder.select(builder.icmp_signed("<", pair, last), pair, last)
            rows, target = [factor(matrix, there) for matrix in (0, 2)], slot(pair)
            for at in range(0, WIDTH, _LANES):
                x = builder.fmul(*(builder.load(eight(row, at), align=_BYTES) for row in rows))
                builder.store(x, eight(target, at), align=_BYTES)

        with cgutils.for_range(builder, builder.add(first, whole(_AHEAD)), first) as early:
            make_ready(early.index)
        sums = [cgutils.alloca_once(builder, _EIGHT, zfill=True) for _ in _TILES]
        with cgutils.for_range(builder, end, first) as loop:
            x = slot(loop.index)
            halves = [builder.load(eight(x, at), align=_BYTES) for at in range(0, WIDTH, _LANES)]
            for (row, block), total in zip(_TILES, sums, strict=True):
                one = builder.load(builder.gep(x, [whole(row)]))
                builder.store(_product_added(builder, one, halves[block], builder.load(total)), total)
            make_ready(builder.add(loop.index, whole(_AHEAD)))
        for (row, block), total in zip(_TILES, sums, strict=True):
            at = eight(data[7], row * WIDTH + block * _LANES)
            before = builder.load(at, align=_BYTES)
            builder.store(builder.fadd(before, builder.load(total)), at, align=_BYTES)
        return context.get_dummy_value()

    given = (left, left_index, right, right_index, types.intp, types.intp, ring, out)
    return types.void(*given), generate


def _product_added(builder: Any, one: Any, eight: Any, total: Any) -> Any:
    """Return total + one · eight, rounded once."""
    nothing, lane = ir.Constant(_EIGHT, ir.Undefined), ir.IntType(32)
    everywhere = ir.Constant(ir.VectorType(lane, _LANES), [0] * _LANES)
    ones = builder.shuffle_vector(builder.insert_element(nothing, one, lane(0)), nothing, everywhere)
    kind = ir.FunctionType(_EIGHT, [_EIGHT] * 3)
    multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{_LANES}f64")
    return builder.call(multiply_add, [ones, eight, total])


add_outer_products: Any = intrinsic(_adding)
