"""Seeds and the independent random streams derived from them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from tracearena.checks import require_whole

SeedLike: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(seed: SeedLike) -> np.random.SeedSequence:
    """Return the root of all random streams of a run; for None a secret one (`SecretRoot`).

    A `Generator` is advanced, so two runs from the same generator differ. A secret generator gives a secret
    root.
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        if is_secret(seed):
            return SecretRoot.of(seed.bytes(KEY_BYTES))
        return np.random.SeedSequence([int(word) for word in seed.integers(0, 2**32, size=4)])
    if seed is None:
        return SecretRoot()
    require_whole("seed", seed, at_least=0)
    return np.random.SeedSequence(int(seed))


def child_seed(root: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the root of one part of a run, named by numbers, without changing the run's root."""
    if isinstance(root, SecretRoot):
        return root.child(*key)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))


def stream(root: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """Return the stream of one piece of work, named by numbers (such as its block).

    PCG64 with a seed; the keystream of a cipher (`SecretBits`) with a secret root.

    >>> root = seed_sequence(7)
    >>> int(stream(root, 0).integers(100)) == int(stream(root, 0).integers(100))
    True
    """
    part = child_seed(root, *key)
    if isinstance(part, SecretRoot):
        return np.random.Generator(SecretBits(part.stream_key()))
    return np.random.Generator(np.random.PCG64(part))


def is_secret(source: SeedLike) -> bool:
    """Whether this root is secret, so that there is no seed to print."""
    if isinstance(source, np.random.Generator):
        return isinstance(source.bit_generator, SecretBits)
    return source is None or isinstance(source, SecretRoot)


def generator(seed: SeedLike) -> np.random.Generator:
    """Return one generator for work that is not divided into blocks."""
    return stream(seed_sequence(seed))


def library_state(rng: np.random.Generator) -> int | np.random.RandomState:
    """Return a ``random_state`` for a library: a number if there is a seed.

    With a secret root, a number could be guessed, so the library draws from the stream itself.
    """
    return np.random.RandomState(rng.bit_generator) if is_secret(rng) else int(rng.integers(2**31))


def fresh_seed() -> int:
    """Return a new short seed for measurements; it is short enough to be guessed."""
    return secrets.randbelow(2**32)


# Draws without a seed: a secret root from the operating system, and a cipher's keystream.

KEY_BYTES = 32
_STREAM, _WORDS = b"stream", b"words"
_bitgen_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_SPARE_WORDS = 2
"""Room of one cipher block after the buffer, which some versions of the cipher's interface ask for."""


class SecretRoot(np.random.SeedSequence):
    """A root of 256 bits from the operating system's source, which cannot be repeated or printed.

    You can use it like a `SeedSequence`. Derived roots and keys come from keyed BLAKE2b of all 256 bits and
    the numbers of the part. NumPy's own mixing is not used, because it keeps only 128 bits.

    A pickle contains the key, so that the workers of a cluster draw the same numbers as this process.

    Examples
    --------
    >>> SecretRoot()
    SecretRoot(…)
    """

    __slots__ = ("_key", "_path", "_spawned")

    def __init__(self) -> None:
        # NumPy's initialisation is left out: it would fill a pool that nothing here may use.
        self._key = secrets.token_bytes(KEY_BYTES)
        self._path: tuple[int, ...] = ()
        self._spawned = 0

    @classmethod
    def of(cls, key: bytes, path: Sequence[int] = (), spawned: int = 0) -> SecretRoot:
        """Return the root with an existing secret key."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"a secret root has {KEY_BYTES} bytes")
        root = cls.__new__(cls)
        root._key, root._path, root._spawned = bytes(key), tuple(int(word) for word in path), spawned
        return root

    def child(self, *key: int) -> SecretRoot:
        """Return the root of one part, named by numbers."""
        return SecretRoot.of(self._key, (*self._path, *key))

    def stream_key(self) -> bytes:
        """Return the cipher's key for the stream of this part."""
        return self._derive_bytes(_STREAM, KEY_BYTES)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Return words for the state of a generator; each depends on all 256 bits."""
        wanted = np.dtype(dtype)
        if wanted not in (np.dtype(np.uint32), np.dtype(np.uint64)):
            raise ValueError("only support uint32 or uint64")
        size, most = int(n_words) * wanted.itemsize, hashlib.blake2b.MAX_DIGEST_SIZE
        parts = [self._derive_bytes(_WORDS, most, number) for number in range(-(-size // most))]
        return np.frombuffer(b"".join(parts)[:size], wanted).copy()

    def spawn(self, n_children: int) -> list[SecretRoot]:
        """Return roots of parts that no earlier call returned."""
        first, self._spawned = self._spawned, self._spawned + int(n_children)
        return [self.child(number) for number in range(first, self._spawned)]

    def _derive_bytes(self, purpose: bytes, size: int, *more: int) -> bytes:
        mixed = hashlib.blake2b(key=self._key, digest_size=size, person=purpose)
        for word in (*self._path, -1, *more):
            # Every number with its length, so that no two ways of naming parts run together.
            written = word.to_bytes(word.bit_length() // 8 + 1, "little", signed=True)
            mixed.update(len(written).to_bytes(4, "little") + written)
        return mixed.digest()

    @property
    def entropy(self) -> NoReturn:  # type: ignore[override]
        """Not available: code that stores or prints a seed must check `is_secret` first."""
        raise AttributeError("a secret root does not reveal its entropy")

    @property
    def pool(self) -> NoReturn:  # type: ignore[override]
        """Not available: NumPy's 128 bits are not used."""
        raise AttributeError("a secret root has no pool")

    @property
    def state(self) -> NoReturn:
        """There is none."""
        raise AttributeError("a secret root does not reveal its state")

    @property
    def spawn_key(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers that name this part."""
        return self._path

    @property
    def n_children_spawned(self) -> int:  # type: ignore[override]
        """How many roots `spawn` has returned."""
        return self._spawned

    def __repr__(self) -> str:
        return "SecretRoot(…)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return SecretRoot.of, (self._key, self._path, self._spawned)


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
        raw, half, double = _kernels.next_uint64, _kernels.next_uint32, _kernels.next_double
        bitgen = (ctypes.c_void_p * 5).from_address(_bitgen_of(self.capsule, b"BitGenerator"))
        bitgen[:] = [words.ctypes.data, *(function.address for function in (raw, half, double, raw))]

    @property
    def state(self) -> Mapping[str, Any]:
        """There is none: it would give away all numbers to come."""
        raise TypeError("a secret stream does not reveal its state")

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        raise TypeError("the state of a secret stream cannot be set")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret stream cannot be copied: the copies would return the same numbers")

    __getstate__ = __copy__ = __reduce__

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce__()

    def __repr__(self) -> str:
        return "SecretBits(…)"


class _NoSeed(ISeedSequence):
    """Stands for a seed: no further generators can be made from it."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NoReturn:
        """Refuse."""
        raise TypeError("a secret stream has no seed")
