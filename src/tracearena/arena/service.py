"""How well fakes hide a person from a location-based service, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.attacks.tracking.viterbi import ViterbiTracking
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.mobility import MobilityProfiles
from tracearena.obfuscation.fakes import FakeTraces
from tracearena.results import Result
from tracearena.synthesis.sglt import LocationClasses, find_classes, semantic_graph
from tracearena.traces import DELETED, ObfuscatedTraces, Traces

_DEFENCE, _GRAPH, _CLASSES = range(3)


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
    """

    method: str
    fakes: int
    exposure: float
    exposed: int
    privacy: float
    distinct_places: float
    distinct_classes: float


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
    """
    from dataclasses import replace

    sent = replace(defence, training=training).transform(original, seed=seed)
    exposed = np.flatnonzero(sent.codes != DELETED)
    if not len(exposed):
        raise DataError(f"no event was sent at exposure {defence.exposure:g}")
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
    )


def _overheads(sent: ObfuscatedTraces, classes: LocationClasses) -> tuple[float, float]:
    """Return the mean number of places and of classes of the sets sent."""
    event, place, _ = sent.pairs()
    kinds = np.unique(event * len(classes) + classes.class_of[place])
    exposed = len(np.unique(event))
    return len(event) / exposed, len(kinds) / exposed
