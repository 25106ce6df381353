"""Experiments of the papers that need attacks and defences together.

These are fake traces against a location-based service [sglt], de-anonymisation of GPS trajectories [geo-ind],
fairness between the teams of a contest [contest], and homes behind privacy zones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.ensemble import SAMPLE_ATTACKS
from tracearena.arena.sweep import require_success, run_sweep
from tracearena.attacks.deanonymisation import Windows, cut_windows
from tracearena.attacks.privacy_zones import homes_behind_zones
from tracearena.attacks.viterbi import ViterbiTracking
from tracearena.checks import require_choice, require_number, require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, seed_sequence, stream
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.applications.homes import homes_and_workplaces
from tracearena.metrics.applications.paired import (
    ComparisonChunk,
    ComparisonChunks,
    IdTable,
    WholeComparison,
    with_true_ids,
)
from tracearena.mobility import MobilityProfiles
from tracearena.obfuscation.fakes import FakeTraces, make_fake_days
from tracearena.obfuscation.privacy_zones import TrimEnds, Zones
from tracearena.synthesis.sglt import LocationClasses, find_classes, semantic_graph
from tracearena.traces import DELETED, GpsTraces, Traces
from tracearena.traces.geodesy import distance_m

_GRAPH, _CLASSES, _ATTACKER = range(1, 4)

Knowledge = Literal["population", "generator"]
KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)


@dataclass(frozen=True)
class ServiceResult(Result):
    """Privacy against a service, and the cost of hiding from it.

    Attributes
    ----------
    method, fakes, exposure
        The settings of the defence.
    exposed
        Number of events that were sent.
    privacy
        Share of the sent events whose real place the attacker missed; 1 is best.
    distinct_places, distinct_classes
        Mean number of different places and of different semantic classes sent at once; 1 is free.
    attacker
        Knowledge of the attacker: how the ``population`` moves, or also how the ``generator`` makes fakes.
    """

    method: str
    fakes: int
    exposure: float
    exposed: int
    privacy: float
    distinct_places: float
    distinct_classes: float
    attacker: str = "population"


def knowing_attacker(training: Traces, defence: FakeTraces, *, seed: SeedLike = None) -> ViterbiTracking:
    """Return an attacker who generates fakes and learns how they move (not in [sglt]).

    Parameters
    ----------
    training, defence
        As in `hide_from_service`; the attacker draws one set of fakes per training user.
    """
    users = np.flatnonzero(np.diff(training.offsets))
    days = make_fake_days(
        defence.method, training, users, defence.fakes, seed_sequence(seed), classes=defence.classes
    )
    clock = replace(training.clock, first_day=None)
    made = Traces.from_dense(days.reshape(-1, days.shape[2]), training.places, clock)
    return ViterbiTracking().fit(training, made)


def location_classes(
    training: Traces, classes: int | None = None, *, seed: SeedLike = None
) -> LocationClasses:
    """Return the semantic classes of the places, which define the overhead."""
    root = seed_sequence(seed)
    graph = semantic_graph(MobilityProfiles.of(training), seed=child_seed(root, _GRAPH))
    return find_classes(graph, classes, seed=child_seed(root, _CLASSES))


def hide_from_service(
    training: Traces,
    original: Traces,
    defence: FakeTraces,
    classes: LocationClasses,
    *,
    attacker: ViterbiTracking | None = None,
    knows: Knowledge = "population",
    seed: SeedLike = None,
) -> ServiceResult:
    """Hide people among fakes, and run an attacker on them ([sglt] section 5.4).

    Parameters
    ----------
    training
        Public traces, from which fakes are made and the attacker learns.
    original
        The true traces.
    defence
        The defence; this function sets its training traces.
    classes
        Semantic classes of the places, for the overhead.
    attacker
        An attacker that is already trained, to save time if you try many defences.
    knows
        Knowledge of an attacker that is trained here: how the ``population`` moves, or also how the
        ``generator`` makes fakes (`knowing_attacker`).
    """
    require_choice("knows", knows, KNOWLEDGE)
    sent = replace(defence, training=training).transform(original, seed=seed)
    exposed = np.flatnonzero(sent.codes != DELETED)
    if not len(exposed):
        raise DataError(f"no event was sent at exposure {defence.exposure:g}")
    if attacker is None and knows == "generator":
        attacker = knowing_attacker(training, defence, seed=child_seed(seed_sequence(seed), _ATTACKER))
    guess = (attacker or ViterbiTracking().fit(training)).track(sent)
    wrong = guess[exposed] != original.place_index[exposed]
    event, place, _ = sent.pairs()
    kinds = np.unique(event * len(classes) + classes.class_of[place])
    events = len(np.unique(event))
    return ServiceResult(
        defence.method,
        defence.fakes,
        defence.exposure,
        len(exposed),
        float(wrong.mean()),
        len(event) / events,
        len(kinds) / events,
        knows,
    )


# De-anonymisation of released trajectories [geo-ind].

OTHERS = 0


class Classifier(Protocol):
    """Learns classes of windows."""

    def fit(self, windows: Windows, labels: NDArray[np.int64], classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""

    def predict(self, windows: Windows) -> NDArray[np.int64]:
        """Return a class for each window."""


@dataclass(frozen=True)
class Deanonymisation(Result):
    """How well a classifier distinguishes people.

    Attributes
    ----------
    accuracy
        Share of test windows that are classified correctly.
    most_frequent
        Accuracy of always answering the class that is most frequent in training.
    confusion
        Classes × classes: counts of test windows, true class by answered class; class 0 is
        everybody who is not a target.
    targets
        Ids of the target users, classes 1, 2, …
    train_windows, test_windows
        Number of windows for training and for testing.
    """

    accuracy: float
    most_frequent: float
    confusion: NDArray[np.int64]
    targets: NDArray[Any]
    train_windows: int
    test_windows: int

    @property
    def balanced_accuracy(self) -> float:
        """Mean accuracy over the tested classes; all classes have the same weight."""
        asked = self.confusion.sum(axis=1)
        return float((np.diag(self.confusion)[asked > 0] / asked[asked > 0]).mean())

    @property
    def balanced_guess(self) -> float:
        """Balanced accuracy of giving all windows the same answer."""
        return 1 / int((self.confusion.sum(axis=1) > 0).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "accuracy": self.accuracy,
            "most_frequent": self.most_frequent,
            "balanced_accuracy": self.balanced_accuracy,
            "balanced_guess": self.balanced_guess,
            "confusion": self.confusion.tolist(),
            "targets": self.targets.tolist(),
            "train_windows": self.train_windows,
            "test_windows": self.test_windows,
        }


def deanonymise(
    released: GpsTraces,
    classifier: Classifier,
    *,
    targets: int = 10,
    length: int = 100,
    test_share: float = 0.3,
    seed: SeedLike = None,
) -> Deanonymisation:
    """Train a classifier on some released trajectories of each user, and test it on the others.

    Parameters
    ----------
    targets
        Number of target users, drawn among those with at least two trajectories; all other users
        are one class.
    length
        Points of a window.
    test_share
        Share of each user's trajectories that are used for testing; windows of one trajectory are never in
        both parts.

    References
    ----------
    [geo-ind] section 6.
    """
    require_whole("targets", targets, at_least=1)
    require_number("test_share", test_share, above=0, below=1)
    root = seed_sequence(seed)
    windows = cut_windows(released, length)
    pairs = np.unique(np.column_stack([windows.user, windows.trajectory]), axis=0)
    users, counts = np.unique(pairs[:, 0], return_counts=True)
    able = users[counts >= 2].astype(np.int64)
    if len(able) < targets:
        raise DataError(
            f"{targets} targets need {targets} users with at least two trajectories; there are {len(able)}"
        )
    chosen = np.sort(stream(root, 0).choice(able, targets, replace=False))
    asked = _choose_test_trajectories(windows, test_share, stream(root, 1))
    labels = np.where(np.isin(windows.user, chosen), np.searchsorted(chosen, windows.user) + 1, OTHERS)
    train, test = windows.take(~asked), windows.take(asked)
    classifier.fit(train, labels[~asked], targets + 1, seed=int(stream(root, 2).integers(2**31)))
    truth, answer = labels[asked], classifier.predict(test)
    confusion = np.zeros((targets + 1, targets + 1), np.int64)
    np.add.at(confusion, (truth, answer), 1)
    favourite = int(np.argmax(np.bincount(labels[~asked], minlength=targets + 1)))
    return Deanonymisation(
        accuracy=float((truth == answer).mean()),
        most_frequent=float((truth == favourite).mean()),
        confusion=confusion,
        targets=released.user_ids[chosen],
        train_windows=len(train),
        test_windows=len(test),
    )


def _choose_test_trajectories(windows: Windows, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the test trajectories, user by user: at least one of two, none of one."""
    test: list[int] = []
    for user in np.unique(windows.user):
        own = rng.permutation(np.unique(windows.trajectory[windows.user == user]))
        if len(own) >= 2:
            test.extend(own[: max(1, round(share * len(own)))].tolist())
    return np.isin(windows.trajectory, test)


# Fairness over teams.

DEFENCES = ("No", "MRLH(1,1,0.5)", "RR(1)", "PL(1,1)")


@dataclass(frozen=True)
class Fairness(Result):
    """Spread of a defence's scores between teams. A small spread means that the contest is fair.

    Attributes
    ----------
    defence, teams
        The defence, and the number of teams.
    reidentification_mean, trace_inference_mean
        Mean of s_R,min and of s_T,min.
    reidentification_sd, trace_inference_sd
        Their standard deviation over the teams.
    """

    defence: str
    teams: int
    reidentification_mean: float
    trace_inference_mean: float
    reidentification_sd: float
    trace_inference_sd: float


def measure_fairness(
    teams: Iterable[tuple[Traces, Traces]],
    *,
    defences: Sequence[str] = DEFENCES,
    attacks: Sequence[str] = SAMPLE_ATTACKS,
    seed: SeedLike = None,
) -> list[Fairness]:
    """Release every team's original traces under each defence, attack them, and compare the scores.

    Parameters
    ----------
    teams
        Reference and original traces of each team; may be a generator.
    defences, attacks
        Names of the catalogue; by default those of the paper's Table 2.
    seed
        Seed of defences, shuffles and attacks.

    References
    ----------
    [contest] appendix E and Table 2.
    """
    root = seed_sequence(seed)
    scores: list[list[tuple[float, float]]] = []
    names: list[str] = []
    for number, (reference, original) in enumerate(teams):
        rows = run_sweep(
            reference, original, defences=defences, attacks=attacks, seed=child_seed(root, number)
        )
        names = [row.defence for row in rows]
        scores.append([row.scores.minima for row in require_success(rows)])
    if len(scores) < 2:
        raise DataError("fairness compares at least two teams")
    table = np.array(scores, float)
    return [
        Fairness(name, len(table), *map(float, (*column.mean(axis=0), *column.std(axis=0, ddof=1))))
        for name, column in zip(names, table.transpose(1, 0, 2), strict=True)
    ]


# Homes behind privacy zones.


@dataclass(frozen=True)
class ZoneFindings(Result):
    """What `homes_behind_zones` finds in a release.

    Attributes
    ----------
    users_with_home
        Number of users whose home can be found in the original (`homes_and_workplaces`).
    home_found
        Share of these whose guessed home is within `within_m`; None if there are none.
    home_error_m
        Median distance between guess and home; None if there are none.
    points_hidden
        Share of the original points that are missing in the release.
    within_m
        Largest distance at which a home counts as found, in metres.
    mechanism
        The defence, which the attacker knows.
    """

    users_with_home: int
    home_found: float | None
    home_error_m: float | None
    points_hidden: float | None
    within_m: float
    mechanism: str


def find_homes(
    original: GpsTraces,
    released: GpsTraces,
    *,
    mechanism: Zones | TrimEnds,
    within_m: float = 100.0,
    timezone: str | None = None,
    id_table: IdTable | None = None,
) -> ZoneFindings:
    """Attack a release made by `Zones` or `TrimEnds`, and compare the guesses with the original homes.

    Parameters
    ----------
    mechanism
        The defence, which the attacker knows.
    within_m
        Largest distance at which a home counts as found, in metres.
    timezone
        Time zone of the hours; by default local solar time.
    id_table
        Pseudonym → user. Required if the release has other ids than the original.
    """
    true = with_true_ids(original, released, id_table)
    return find_homes_in_walk(
        WholeComparison(original, true), mechanism=mechanism, within_m=within_m, timezone=timezone
    )


def find_homes_in_walk(
    walk: ComparisonChunks,
    *,
    mechanism: Zones | TrimEnds,
    within_m: float = 100.0,
    timezone: str | None = None,
) -> ZoneFindings:
    """Return what `find_homes` does, for users who come in chunks."""
    require_number("within_m", within_m, above=0)
    radius_m, shift_m = zone_circle(mechanism)

    def work(part: ComparisonChunk) -> NDArray[np.float64]:
        home = homes_and_workplaces(part.original, timezone=timezone).home
        guess = homes_behind_zones(
            part.released, radius_m=radius_m, shift_m=shift_m, within_m=within_m, timezone=timezone
        )
        guessed = (np.append(degrees, np.nan)[part.same] for degrees in (guess.latitude, guess.longitude))
        return np.array([*home, *guessed])

    latitude, longitude, *guessed = np.concatenate(walk.visit(work), axis=1)
    known = ~np.isnan(latitude)
    both = known & ~np.isnan(guessed[0])
    apart = distance_m(*(degrees[both] for degrees in (latitude, longitude, *guessed)))
    users, points = int(known.sum()), int(walk.points.sum())
    return ZoneFindings(
        users_with_home=users,
        home_found=float((apart <= within_m).sum() / users) if users else None,
        home_error_m=float(np.median(apart)) if len(apart) else None,
        points_hidden=1 - walk.released_points / points if points else None,
        within_m=within_m,
        mechanism=str(mechanism),
    )


def zone_circle(mechanism: object) -> tuple[float, float]:
    """Return radius and largest shift of the circles that a defence hides, metres."""
    if isinstance(mechanism, Zones):
        return float(mechanism.radius), mechanism.shift_m
    if isinstance(mechanism, TrimEnds):
        return float(mechanism.distance), 0.0
    raise ParameterError(f"{mechanism} leaves out no circles; this attack works on Zones and TrimEnds only")
