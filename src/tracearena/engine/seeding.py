"""Seeds and the independent random streams derived from them."""

from __future__ import annotations

import secrets
from typing import TypeAlias

import numpy as np

from tracearena.checks import require_whole
from tracearena.engine.secret import KEY_BYTES, SecretBits, SecretRoot

SeedLike: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


def seed_sequence(seed: SeedLike) -> np.random.SeedSequence:
    """Return the root of all streams of one run; for None one that nobody knows (`SecretRoot`).

    A `Generator` is advanced: two runs from the same one differ, as its user would expect. What comes
    from one that is secret is secret.
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

    PCG64 under a seed; under a secret root a cipher's keystream (`SecretBits`).

    >>> root = seed_sequence(7)
    >>> int(stream(root, 0).integers(100)) == int(stream(root, 0).integers(100))
    True
    """
    part = child_seed(root, *key)
    if isinstance(part, SecretRoot):
        return np.random.Generator(SecretBits(part.stream_key()))
    return np.random.Generator(np.random.PCG64(part))


def is_secret(source: SeedLike) -> bool:
    """Whether what comes from this can be told by nobody, so that there is no seed to write down."""
    if isinstance(source, np.random.Generator):
        return isinstance(source.bit_generator, SecretBits)
    return source is None or isinstance(source, SecretRoot)


def generator(seed: SeedLike) -> np.random.Generator:
    """Return one generator for work that is not cut into blocks."""
    return stream(seed_sequence(seed))


def library_state(rng: np.random.Generator) -> int | np.random.RandomState:
    """Return what a library wants as its ``random_state``: a number under a seed.

    Under a secret root that number would be all there is to guess, so the library draws from the
    stream itself.
    """
    return np.random.RandomState(rng.bit_generator) if is_secret(rng) else int(rng.integers(2**31))


def fresh_seed() -> int:
    """Draw a seed that a person can write down, for measurements: it is short enough to be guessed."""
    return secrets.randbelow(2**32)
