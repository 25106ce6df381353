"""How well fakes hide a person from a location-based service, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from tracearena.attacks.viterbi import ViterbiTracking
from tracearena.checks import require_choice
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.mobility import MobilityProfiles
from tracearena.obfuscation.fakes import FakeTraces, fake_days
from tracearena.results import Result
from tracearena.synthesis.sglt import LocationClasses, find_classes, semantic_graph
from tracearena.traces import DELETED, ObfuscatedTraces, Traces

_GRAPH, _CLASSES, _ATTACKER = range(1, 4)

Knowledge = Literal["population", "generator"]
KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)


@dataclass(frozen=True)
class ServiceResult(Result):
    """What a service learns, and what hiding from it costs.

    Attributes
    ----------
    method, fakes, exposure
        How the person hid.
    exposed
        Number of events that were sent.
    privacy
        Share of the sent events whose real place the attacker missed; 1 is best.
    distinct_places, distinct_classes
        Mean number of different places and of different semantic classes sent at once; 1 is free.
    attacker
        What he knows: how the ``population`` moves, or how the fakes of the ``generator`` do as well.
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
    """Return an attacker who makes fakes as people do, and so knows how those move ([sglt] leaves him out).

    Parameters
    ----------
    training, defence
        As in `hide_from_service`; he draws his own fakes, one set a training user.
    """
    users = np.flatnonzero(np.diff(training.offsets))
    days = fake_days(
        defence.method, training, users, defence.fakes, seed_sequence(seed), classes=defence.classes
    )
    clock = replace(training.clock, first_day=None)
    made = Traces.from_dense(days.reshape(-1, days.shape[2]), training.places, clock)
    return ViterbiTracking().fit(training, made)


def location_classes(
    training: Traces, classes: int | None = None, *, seed: SeedLike = None
) -> LocationClasses:
    """Return the semantic classes by which the overhead is counted."""
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
    """Let people hide among fakes and an attacker look for them ([sglt] section 5.4).

    Parameters
    ----------
    training
        What everybody knows: fakes are made from it, and the attacker learns from it.
    original
        Where people really are.
    defence
        How they hide; its training traces are set here.
    classes
        Semantic classes, for the overhead.
    attacker
        One that is trained already, when many defences are tried.
    knows
        What an attacker who is not given learns: how the ``population`` moves, or how the fakes of the
        ``generator`` do as well (`knowing_attacker`).
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
    places, kinds = _overheads(sent, classes)
    return ServiceResult(
        defence.method,
        defence.fakes,
        defence.exposure,
        len(exposed),
        float(wrong.mean()),
        places,
        kinds,
        knows,
    )


def _overheads(sent: ObfuscatedTraces, classes: LocationClasses) -> tuple[float, float]:
    """Return the mean number of places and of classes of the sets sent."""
    event, place, _ = sent.pairs()
    kinds = np.unique(event * len(classes) + classes.class_of[place])
    exposed = len(np.unique(event))
    return len(event) / exposed, len(kinds) / exposed
