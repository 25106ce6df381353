"""What NumPy and Numba call to draw from a secret stream: words out of a buffer that is refilled.

The state is one array of words: the next word's position, the address of what fills the buffer, the
address of what ends the process, and then the buffer itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

POSITION, REFILL, ABORT, FIRST_WORD = range(4)
WORDS = 1024


def _build_call(typing_context: Any, address: Any) -> Any:
    """Call the C function without arguments at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = ir.FunctionType(ir.VoidType(), []).as_pointer()
        builder.call(builder.inttoptr(arguments[0], function), [])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


_call: Any = intrinsic(_build_call)


@njit(cache=True, nogil=True)
def _next_word(address: Any) -> Any:
    state = carray(address, FIRST_WORD + WORDS, np.uint64)
    at = state[POSITION]
    if at == WORDS:
        # Cleared first: what a failed refill leaves behind must never be handed out a second time.
        state[FIRST_WORD : FIRST_WORD + 4] = 0
        _call(state[REFILL])
        if not state[FIRST_WORD : FIRST_WORD + 4].any():
            _call(state[ABORT])
        at = np.uint64(0)
    state[POSITION] = at + np.uint64(1)
    return state[np.uint64(FIRST_WORD) + at]


@cfunc("uint64(voidptr)", cache=True)
def next_uint64(address: Any) -> Any:
    """Return the next word."""
    return _next_word(address)


@cfunc("uint32(voidptr)", cache=True)
def next_uint32(address: Any) -> Any:
    """Return half of the next word; the other half is let go."""
    return np.uint32(_next_word(address) & np.uint64(0xFFFFFFFF))


@cfunc("float64(voidptr)", cache=True)
def next_double(address: Any) -> Any:
    """Return a number from [0, 1), made of 53 bits of the next word."""
    return float(_next_word(address) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
