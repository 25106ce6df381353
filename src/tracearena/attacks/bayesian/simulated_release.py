"""Monte Carlo of the mechanism: the reference traces as it would have released them, y ~ E(·|x).

A mechanism that treats events independently is described by its channel E; one that treats whole traces is
run several times on the reference, and E is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracearena.algorithms import validation
from tracearena.algorithms.base import Algorithm, Obfuscator
from tracearena.attacks.base import Floats, Ints, Ints32, Mask
from tracearena.attacks.bayesian.channel import (
    NOTHING,
    Channel,
    ObservationAlphabet,
    count_channel,
    derive_channel,
)
from tracearena.engine import SeedLike, block_ranges, child_seed, generator, run_blocks, seed_sequence
from tracearena.traces import ObfuscatedTraces, PlaceSets, Traces

RUNS = 3
"""How often a mechanism that treats traces as a whole is run."""


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    """A release, and the same mechanism's release of the reference.

    Attributes
    ----------
    symbols
        The observations of both.
    said
        The observation of each anonymized event.
    rehearsed
        The observation of each reference event, once for each run of the mechanism.
    emission
        The channel.
    by_event
        Whether each event is treated independently, so that the channel is all there is to know.
    """

    symbols: ObservationAlphabet
    said: Ints32
    rehearsed: tuple[Ints32, ...]
    emission: Channel
    by_event: bool = True

    def take_events(self, seen: Mask, known: Mask) -> SimulatedRelease:
        """Return the observations of some anonymized and of some reference events."""
        return replace(self, said=self.said[seen], rehearsed=tuple(one[known] for one in self.rehearsed))


def simulate_mechanism(
    mechanism: Algorithm, reference: Traces, anonymized: ObfuscatedTraces, seed: SeedLike, runs: int = RUNS
) -> SimulatedRelease:
    """Simulate a known mechanism on the reference: derive its channel, or run it and count.

    Parameters
    ----------
    runs
        Number of runs of a mechanism that treats traces as a whole: it may draw something else for a
        user each time, such as whom she imitates.
    """
    if not isinstance(mechanism, Obfuscator):
        symbols, (said,) = ObservationAlphabet.of([anonymized])
        emission = derive_channel(mechanism, symbols, reference.places)
        assert emission is not None
        return SimulatedRelease(
            symbols, said, (draw_observations(reference, emission, said, seed),), emission
        )
    made = mechanism.transform(reference, seed=seed)
    symbols, (said, rehearsed) = ObservationAlphabet.of([anonymized, made])
    emission = derive_channel(mechanism, symbols, reference.places)
    if emission is not None:
        return SimulatedRelease(symbols, said, (rehearsed,), emission)
    root = seed_sequence(seed)

    def run(number: int, first: int, stop: int) -> ObfuscatedTraces:
        return mechanism.transform(reference, seed=child_seed(root, stop))

    # Side by side: much of what defences of whole traces do keeps one thread busy. A class from elsewhere
    # may keep a state, which two threads must not share.
    ranges = block_ranges(runs - 1, 1)
    if validation.is_foreign(mechanism):
        again = [run(number, *one) for number, one in enumerate(ranges)]
    else:
        again = run_blocks(run, ranges)
    symbols, (said, *all_runs) = ObservationAlphabet.of([anonymized, made, *again])
    true = np.tile(reference.place_index, len(all_runs))
    emission = count_channel(symbols, len(reference.places), true, np.concatenate(all_runs))
    return SimulatedRelease(symbols, said, tuple(all_runs), emission, by_event=False)


def draw_observations(reference: Traces, emission: Channel, said: Ints32, seed: SeedLike) -> Ints32:
    """Draw an observation for each reference event, and delete as large a share as the release does."""
    rng, m, n = generator(seed), len(reference.places), reference.n_events
    offsets, symbols, values, anywhere = _estimate_observation_rates(emission, said, m)
    summed = np.concatenate([[0.0], np.cumsum(values)])
    start, end = offsets[reference.place_index], offsets[reference.place_index + 1]
    listed = summed[end] - summed[start]
    wanted = rng.random(n) * (listed + anywhere[reference.place_index])
    chosen = np.searchsorted(summed, summed[start] + wanted, side="right") - 1
    own = np.append(symbols, NOTHING)[np.clip(chosen, start, np.maximum(end - 1, start))]
    answer = np.where(wanted < listed, own, rng.integers(0, m, n))
    deleted = float((said == NOTHING).mean()) if len(said) else 0.0
    return np.where(rng.random(n) < deleted, NOTHING, answer).astype(np.int32)


def _estimate_observation_rates(
    emission: Channel, said: Ints32, n_places: int
) -> tuple[Ints, Ints32, Floats, Floats]:
    """Return how often each observation occurs at each place, by place, and how often any place does.

    A channel leaves open how often sets occur: as often as in the release, where they contain a place.
    """
    offsets, symbols, values = emission.by_place(n_places)
    place = np.repeat(np.arange(n_places), np.diff(offsets))
    often = np.bincount(said[said != NOTHING], minlength=len(emission.floor))
    is_set = symbols >= n_places
    share = often[n_places:].sum() / max(often.sum(), 1)
    values = np.where(is_set, values * (often / np.maximum(np.diff(emission.offsets), 1))[symbols], values)
    of_sets, of_places = (np.bincount(place, values * one, n_places) for one in (is_set, ~is_set))
    floor = float(emission.floor[:n_places].sum())
    single = np.where(of_sets > 0, 1 - share, 1.0) / (of_places + floor)
    scale = np.where(is_set, (share / np.where(of_sets > 0, of_sets, 1.0))[place], single[place])
    return offsets, symbols, values * scale, floor * single


def build_release(traces: Traces, symbols: Ints32, known: ObservationAlphabet) -> ObfuscatedTraces:
    """Return the release with these observations."""
    single = symbols < known.n_places
    codes = np.where(single, symbols, -2 - (symbols - known.n_places))
    first = known.offsets[known.n_places]
    sets = PlaceSets(known.offsets[known.n_places :] - first, known.members[first:])
    return ObfuscatedTraces.like(traces, codes, sets)
