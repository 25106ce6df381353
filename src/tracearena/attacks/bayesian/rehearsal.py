"""Rehearsal: what the suspected mechanism would have made of the reference traces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.kinds import Algorithm, Obfuscator
from tracearena.attacks.bayesian import emission as emissions
from tracearena.attacks.bayesian.emission import Emission
from tracearena.attacks.bayesian.symbols import NOTHING, Symbols
from tracearena.engine import SeedLike, generator
from tracearena.traces import ObfuscatedTraces, PlaceSets, Traces


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A release beside the same mechanism's work on the reference.

    Attributes
    ----------
    symbols, said, rehearsed
        Everything that is said: the symbol of each anonymized event, and of each reference event.
    emission
        How likely the symbols are at each place.
    """

    symbols: Symbols
    said: NDArray[np.int32]
    rehearsed: NDArray[np.int32]
    emission: Emission


def of_mechanism(
    mechanism: Algorithm, reference: Traces, anonymized: ObfuscatedTraces, seed: SeedLike
) -> Rehearsal:
    """Rehearse a mechanism that is known: write down its emission, or run it and count."""
    if not isinstance(mechanism, Obfuscator):
        symbols, (said,) = Symbols.of([anonymized])
        emission = emissions.known(mechanism, symbols, reference.places)
        assert emission is not None
        return Rehearsal(symbols, said, drawn(reference, emission, said, seed), emission)
    made = mechanism.transform(reference, seed=seed)
    symbols, (said, rehearsed) = Symbols.of([anonymized, made])
    emission = emissions.known(mechanism, symbols, reference.places) or emissions.counted(
        symbols, len(reference.places), reference.place_index, rehearsed
    )
    return Rehearsal(symbols, said, rehearsed, emission)


def drawn(
    reference: Traces, emission: Emission, said: NDArray[np.int32], seed: SeedLike
) -> NDArray[np.int32]:
    """Draw a symbol for each reference event, and delete as many as the release does."""
    rng = generator(seed)
    offsets, symbols, values = emission.by_place()
    summed = np.concatenate([[0.0], np.cumsum(values)])
    place = reference.place_index
    known = place < len(offsets) - 1
    at = np.where(known, place, 0)
    start, end = offsets[at], offsets[at + 1]
    u = rng.random(reference.n_events)
    wanted = summed[start] + u * (summed[end] - summed[start])
    chosen = np.clip(np.searchsorted(summed, wanted, side="right") - 1, start, np.maximum(end - 1, start))
    answer = np.where(known & (end > start), symbols[np.minimum(chosen, len(symbols) - 1)], NOTHING)
    deleted = float((said == NOTHING).mean()) if len(said) else 0.0
    return np.where(rng.random(reference.n_events) < deleted, NOTHING, answer).astype(np.int32)


def spoken(traces: Traces, symbols: NDArray[np.int32], known: Symbols) -> ObfuscatedTraces:
    """Return the release that says these symbols."""
    single = symbols < known.n_places
    codes = np.where(single, symbols, -2 - (symbols - known.n_places))
    first = known.offsets[known.n_places]
    sets = PlaceSets(known.offsets[known.n_places :] - first, known.members[first:])
    return ObfuscatedTraces.like(traces, codes, sets)
