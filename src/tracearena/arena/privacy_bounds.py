"""Bounds of the trace-inference score s_T of a defence.

The upper bound holds for every defence: it is s_T under an attack that uses only time profiles, without the
release. The lower one is an estimate for each defence: s_T under an attacker who knows the defence and the ID
table. Intervals are bootstrap intervals over users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Obfuscator, catalogue
from tracearena.arena.ensemble import Ensemble, Scoring, attack_names, make_attacks
from tracearena.arena.pseudonyms import Release
from tracearena.arena.sweep import check_same_users, make_trial
from tracearena.attacks.bayesian.attacks import BayesInference, HabitsInference, TrackingInference
from tracearena.attacks.bayesian.matcher import ADAPTIVE, BayesMatcher
from tracearena.attacks.bayesian.pairs import CandidatePairs
from tracearena.attacks.bayesian.tracking import CandidateTraces
from tracearena.dataframes import Result
from tracearena.engine import (
    SeedLike,
    block_ranges,
    child_seed,
    generator,
    one_library_thread,
    run_blocks,
    seed_sequence,
)
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.files import write_csv
from tracearena.metrics.contest_scores import places_at
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import find_positions

_BOOTSTRAP = 1 << 20


@dataclass(frozen=True)
class DefenceBounds(Result):
    """Bounds of s_T under one defence, and the scores of attacks.

    Attributes
    ----------
    defence, utility, valid
        The defence, the utility of its release, and whether it reaches the threshold.
    estimate
        s_T against an attacker who knows the defence and the ID table: the lower end of the range.
    s_T_min, strongest_T
        Lowest s_T of the attacks that were run except Habits-T, and the attack behind it.
    above
        How far `s_T_min` is above the ceiling. If it is, the score only shows that the attacks were weak.
    below
        The attacks with a score below the estimate, and the differences (negative).
    failed
        Why attacks gave no answer, by their names.
    """

    defence: str
    utility: float
    valid: bool
    estimate: Interval
    s_T_min: float | None = None
    strongest_T: str | None = None
    above: Interval | None = None
    below: dict[str, Interval] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def is_artefact(self) -> bool:
        """Whether the score under the attacks that were run, without Habits-T, is above the ceiling."""
        return self.above is not None and self.above.value > 0


@dataclass(frozen=True)
class Bounds(Result):
    """Bounds of several defences on the same traces.

    Attributes
    ----------
    ceiling
        s_T under the attack that uses only time profiles. No defence can have a higher s_T.
    defences
        One entry per defence, in the given order.
    """

    ceiling: Interval
    defences: tuple[DefenceBounds, ...]

    @property
    def artefacts(self) -> list[DefenceBounds]:
        """The defences whose s_T under the attacks that were run is above the ceiling."""
        return [one for one in self.defences if one.is_artefact]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"ceiling": self.ceiling.to_dict(), "defences": [one.to_dict() for one in self.defences]}


def bounds(
    reference: Traces,
    original: Traces,
    *,
    defences: Sequence[str],
    attacks: Sequence[str] = ("strongest",),
    scoring: Scoring | None = None,
    seed: SeedLike = None,
) -> Bounds:
    """Return the range in which s_T of each defence must lie, and the attacks that score outside of it.

    Parameters
    ----------
    reference, original
        The traces that attackers know, and the traces that are protected.
    defences, attacks
        Names of the catalogue. Attacks may also be ``samples``, ``strongest`` and ``all``, of which only the
        trace-inference attacks are run. With the seed of a sweep, the releases are those of the sweep.
    scoring
        As in `run_sweep`.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> halves = simulate(users=20, days=4, seed=1).split_days(2)
    >>> found = bounds(*halves, defences=["No"], attacks=["Replay-T"], seed=1)
    >>> found.defences[0].estimate.value < found.ceiling.value
    True
    >>> found.defences[0].strongest_T
    'Replay-T'
    """

    check_same_users(reference, original)
    limits = scoring or Scoring()
    root = seed_sequence(seed)
    known = limits.attacker_settings
    made = make_attacks([name for name in attack_names(attacks) if name != CEILING], **known)
    compared = [one for one in made if one.kind == "trace-inference"]
    if made and not compared:
        names = ", ".join(map(str, made))
        raise ParameterError(f"bounds apply to trace inference (names in -T); {names} is a re-identification")
    ensemble = Ensemble(compared, **known).fit(reference)
    informed = InformedAttacker(limits).fit(reference, original)
    obfuscators: list[Obfuscator] = [catalogue.create(name, "obfuscator") for name in defences]
    ceiling = informed.habits_
    draws = child_seed(root, _BOOTSTRAP)

    def one(block: int, first: int, stop: int) -> DefenceBounds:
        defence = obfuscators[first]
        trial = make_trial(defence, original, limits, root)
        estimate = informed.losses(trial.release, defence, seed=trial.attack_seed)
        found: dict[str, UserLosses] = {}
        failed: dict[str, str] = {}
        for attack, answer in ensemble.attempts(
            trial.release.anonymized, defence=defence, seed=trial.attack_seed
        ):
            if isinstance(answer, TracearenaError):
                failed[str(attack)] = str(answer)
            elif isinstance(answer, Traces):
                found[str(attack)] = UserLosses.of(original, answer, limits)
        best = min(found, key=lambda name: found[name].score, default=None)
        return DefenceBounds(
            str(defence),
            trial.utility,
            limits.is_valid(trial.utility),
            estimate.interval(draws),
            None if best is None else found[best].score,
            best,
            None if best is None else found[best].interval(draws, ceiling),
            {
                name: losses.interval(draws, estimate)
                for name, losses in found.items()
                if losses.score < estimate.score
            },
            failed,
        )

    with one_library_thread():
        rows = run_blocks(one, block_ranges(len(obfuscators), 1), anywhere=True, report=True)
    return Bounds(ceiling.interval(draws), tuple(rows))


def write_bounds(found: Bounds, path: str | PathLike[str]) -> None:
    """Write one line per defence: its estimate, the ceiling, and the attacks outside of them."""
    columns = [
        *("defence", "utility", "valid", "estimate", "estimate_low", "estimate_high"),
        *("ceiling", "ceiling_low", "ceiling_high", "s_T_min", "strongest_T"),
        *("above_ceiling", "above_ceiling_low", "above_ceiling_high", "below_estimate", "failed"),
    ]
    rows = (
        [
            *(row.defence, row.utility, str(row.valid).lower(), *_interval_values(row.estimate)),
            *(*_interval_values(found.ceiling), row.s_T_min, row.strongest_T, *_interval_values(row.above)),
            "; ".join(f"{name} {one}" for name, one in row.below.items()),
            "; ".join(row.failed.values()),
        ]
        for row in found.defences
    )
    write_csv(path, columns, rows)


def _interval_values(one: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if one is None else (one.value, one.low, one.high)


# The attacker who knows the defence and the ID table.

CEILING = HabitsInference.name
"""The attack that every defence has to stand, whatever it releases."""

_TRACES_AT_ONCE = 256


class InformedAttacker:
    """Infers traces as Bayes-T and Tracking-T do, where the matching is known to be true.

    What it leaves estimates the Bayes risk of an attacker who knows the ID table: how much a defence
    hides of the places themselves. It is not a strict bound, because profiles, transitions
    and channel are models.

    Parameters
    ----------
    scoring
        How answers are scored, which the attacker knows.
    """

    def __init__(self, scoring: Scoring) -> None:
        known: Any = scoring.attacker_settings
        self.scoring = scoring
        self.attacks = (
            BayesInference(mechanism=ADAPTIVE, **known),
            TrackingInference(mechanism=ADAPTIVE, **known),
        )

    def fit(self, reference: Traces, original: Traces) -> Self:
        """Learn the profile of every user; the original traces score the answers."""
        matcher = self.attacks[0].make_matcher().fit(reference)
        for attack in self.attacks:
            attack.use(matcher)
        self.original_ = original
        self.habits_ = UserLosses.of(
            original, infer_from_profiles(reference, original, self.scoring), self.scoring
        )
        return self

    def losses(
        self, release: Release[ObfuscatedTraces], defence: Obfuscator, *, seed: SeedLike = None
    ) -> UserLosses:
        """Return the losses of the best attack; the one by time profiles alone is among them.

        Where a defence hands whole traces to others, the ID table misleads. So the attacker also knows the
        user whose whereabouts most events of a trace are, where that is somebody else.
        """
        informed = [attack.with_mechanism(defence) for attack in self.attacks]
        matcher = informed[0].matcher_
        assert isinstance(matcher, BayesMatcher)
        match = matcher.match(release.anonymized, seed=seed)
        named = find_positions(release.id_table.user_ids, matcher.user_ids_)
        owner = find_trace_owners(release.anonymized, self.original_)
        owners = np.where(
            owner >= 0, find_positions(self.original_.user_ids, matcher.user_ids_)[owner], named
        )
        found = [self.habits_]
        for users in [named] if np.array_equal(owners, named) else [named, owners]:
            followed = build_certain_traces(users, len(matcher.user_ids_))
            answers = (attack.answer(match.evidence, followed) for attack in informed)
            found += [UserLosses.of(self.original_, traces, self.scoring) for traces in answers]
        return min(found, key=lambda one: one.score)


def find_trace_owners(anonymized: ObfuscatedTraces, original: Traces) -> NDArray[np.int64]:
    """Return the user whose whereabouts most events of each trace are, -1 if there is none.

    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 0.01, 0.02], [0, 0, 0], km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1, 0], [2, 2, 2]], places, Clock(instants_per_day=3))
    >>> swapped = ObfuscatedTraces.like(original, np.array([2, 2, 0, 0, 1, 0]))
    >>> find_trace_owners(swapped, original).tolist()
    [1, 0]
    """
    from scipy.sparse import csr_array

    m, first = len(original.places), original.span[0]
    shape = original.n_users, original.n_instants * m
    cell = (original.instants - first).astype(np.int64) * m + original.place_index
    ones = np.ones(original.n_events, np.float32)
    there = csr_array((ones, (original.user_index, cell)), shape=shape).T.tocsr()
    event, place, weight = anonymized.pairs()
    cell = (anonymized.instants[event] - first).astype(np.int64) * m + place
    owner = anonymized.user_index[event]
    # A set that contains the place agrees in full, whatever its size.
    released = csr_array(
        (np.ones(len(weight), np.float32), (owner, cell)), shape=(anonymized.n_users, shape[1])
    )
    events = np.bincount(anonymized.user_index, minlength=anonymized.n_users)
    whose = np.full(anonymized.n_users, -1, np.int64)
    for start in range(0, anonymized.n_users, _TRACES_AT_ONCE):
        rows = slice(start, min(start + _TRACES_AT_ONCE, anonymized.n_users))
        agreed = (released[rows] @ there).toarray()
        best = agreed.argmax(axis=1)
        most = agreed[np.arange(len(best)), best] > events[rows] / 2
        whose[rows] = np.where(most, best, -1)
    return whose


def build_certain_traces(users: NDArray[np.int64], n_users: int) -> CandidateTraces:
    """Return the known trace of each user; traces without an owner (-1) are left out."""
    pairs = CandidatePairs.of(np.flatnonzero(users >= 0), users[users >= 0], len(users), n_users)
    offsets, order = pairs.by_user()
    return CandidateTraces(offsets, pairs.traces[order], np.ones(len(order)))


def infer_from_profiles(reference: Traces, original: Traces, scoring: Scoring) -> Traces:
    """Return the answers of an attacker who does not read what is released of the original traces."""
    attack = HabitsInference(**scoring.attacker_settings).fit(reference)
    return attack.infer(ObfuscatedTraces.from_traces(original))


# Losses of each user, and bootstrap intervals over users.

DRAWS = 1000
"""Number of bootstrap samples of the users."""
SURE = 0.95
"""Share of the samples that an interval contains."""

_DRAWS_AT_ONCE = 50


@dataclass(frozen=True)
class Interval(Result):
    """A number with its 95 % bootstrap interval over users."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


class UserLosses(NamedTuple):
    """What an attacker missed of each user, and how much there was to find."""

    missed: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, original: Traces, inferred: Traces, scoring: Scoring) -> UserLosses:
        """Weigh the distances of each user's answers as `trace_inference_score` does."""
        if not original.n_events:
            raise DataError("there are no events to score")
        distance = original.places.distance_km(original.place_index, places_at(inferred, original))
        sensitive = original.places.sensitive[original.place_index]
        weight = np.where(sensitive, scoring.sensitive_weight, 1.0)
        missed = weight * np.minimum(distance / scoring.inference_limit_km, 1)
        user, count = original.user_index, original.n_users
        sums = [np.bincount(user, one, count).astype(np.float64) for one in (missed, weight)]
        return cls(sums[0], sums[1])

    @property
    def score(self) -> float:
        """s_T."""
        return float(self.missed.sum() / self.weight.sum())

    def interval(self, seed: SeedLike, beside: UserLosses | None = None) -> Interval:
        """Return the score, or its difference to another of the same users, and its interval."""
        value = self.score - (0.0 if beside is None else beside.score)
        missed = self.missed if beside is None else self.missed - beside.missed
        rng, users = generator(seed), len(missed)
        drawn = []
        for _ in range(0, DRAWS, _DRAWS_AT_ONCE):
            times = rng.multinomial(users, np.full(users, 1 / users), _DRAWS_AT_ONCE)
            weight = times @ self.weight
            drawn.append((times @ missed)[weight > 0] / weight[weight > 0])
        low, high = np.quantile(np.concatenate(drawn), [(1 - SURE) / 2, (1 + SURE) / 2])
        return Interval(value, float(low), float(high))
