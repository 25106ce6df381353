"""A cipher's keystream behind NumPy's generator interface: AES-256 in counter mode."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.random.bit_generator import ISeedSequence

_bitgen_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_SPARE_WORDS = 2
"""Room of one cipher block after the buffer, which some versions of the cipher's interface ask for."""


class SecretBits(np.random.BitGenerator):
    """The words of an AES-256-CTR keystream, from its first block on, as a bit generator of NumPy.

    Parameters
    ----------
    key
        32 bytes of which nobody knows any, used for this one stream: the counter starts at 0.

    Notes
    -----
    NumPy and Numba draw words from a buffer in compiled code; the cipher fills it 8 KiB at a time.
    A copy would hand out the same numbers again, so a stream can be neither copied nor pickled: send
    its root instead.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        from tracearena.engine import _kernels

        super().__init__(_NoSeed())  # type: ignore[arg-type]
        words = np.zeros(_kernels.FIRST_WORD + _kernels.WORDS + _SPARE_WORDS, np.uint64)
        keystream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        buffer = words[_kernels.FIRST_WORD :].view(np.uint8)
        # Nothing here is interpreted code, in which a pending Ctrl-C would end the refill half-way.
        fill = partial(keystream.update_into, bytes(8 * _kernels.WORDS), buffer.data)
        callbacks = [ctypes.CFUNCTYPE(None)(what) for what in (fill, os.abort)]
        words[_kernels.POSITION] = _kernels.WORDS
        for place, callback in zip((_kernels.REFILL, _kernels.ABORT), callbacks, strict=True):
            words[place] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        # C points to these for as long as this object lives, and a Generator keeps its bit generator.
        self._kept: Any = (words, callbacks)
        functions = (
            _kernels.next_uint64,
            _kernels.next_uint32,
            _kernels.next_double,
            _kernels.next_uint64,
        )
        bitgen = (ctypes.c_void_p * 5).from_address(_bitgen_of(self.capsule, b"BitGenerator"))
        bitgen[:] = [words.ctypes.data, *(function.address for function in functions)]

    @property
    def state(self) -> Mapping[str, Any]:
        """Nobody's: it would tell all numbers to come."""
        raise TypeError("a secret stream has no state to tell")

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        raise TypeError("a secret stream has no state to set")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret stream cannot be copied: its numbers would be handed out twice")

    __getstate__ = __copy__ = __reduce__

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce__()

    def __repr__(self) -> str:
        return "SecretBits(…)"


class _NoSeed(ISeedSequence):
    """In the place of a seed: there is nothing to make further generators of."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NoReturn:
        """Refuse."""
        raise TypeError("a secret stream has no seed")
