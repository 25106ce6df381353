"""The child that runs the judge's own attacks: it gets what every team has, and no truth."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.contest.release import attack_one
from tracearena.engine import use
from tracearena.server.sandbox.messages import (
    Frame,
    Work,
    frame_message,
    pack,
    read_message,
    truth_from_parts,
    truth_to_parts,
    unpack,
)
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces


def prepare_attack(*names: str) -> Work:
    """Load and compile what attacks need, on the traces of two users, and return the work."""
    places = Places([0.0, 0.01, 0.02], [0.0, 0.0, 0.0], km_per_degree=(100, 100))
    dense = np.array([[0, 1, 0, 1], [2, 2, 2, 2]])
    reference, original = Traces.from_dense(dense, places, Clock(instants_per_day=2)).split_days(1)
    ensemble = Ensemble(make_attacks(names))
    with use(progress=None, threads=1):
        ensemble.fit(reference)
        for _ in ensemble.attempts(ObfuscatedTraces.from_traces(original), None, 1):
            pass
    return _run_attack


def pack_attack_request(reference: Traces, released: ObfuscatedTraces, **settings: Any) -> bytes:
    """Return what `_run_attack` reads: the traces, and names, options, seed and target of the attacks."""
    values, arrays = truth_to_parts(reference)
    events = {
        "pseudonyms": released.user_ids,
        "event_offsets": released.offsets,
        "instants": released.instants,
        "codes": released.codes,
        "set_offsets": released.sets.offsets,
        "members": released.sets.members,
    }
    frame_values, frame_arrays = Frame.of(released).to_parts()
    return frame_message(pack(values | {"attack": settings}, arrays)) + frame_message(
        pack(frame_values, frame_arrays | events)
    )


def _run_attack(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_message(request))
    asked: dict[str, Any] = values["attack"]
    reference = truth_from_parts(values, arrays)
    assert isinstance(reference, Traces)
    released = _unpack_release(*unpack(read_message(request)))
    attacks = make_attacks(asked["names"], **asked["options"])
    target = asked["target"][0], asked["target"][1]
    answers = attack_one(attacks, reference, released, seed=asked["seed"], target=target)
    found = {id(one): answer for one, answer in answers}
    return b"".join(frame_message(pack(*truth_to_parts(found[id(one)]))) for one in attacks)


def _unpack_release(values: dict[str, Any], arrays: dict[str, Any]) -> ObfuscatedTraces:
    frame = Frame.from_parts(values, arrays)
    return ObfuscatedTraces(
        frame.places,
        frame.clock,
        codes=arrays["codes"],
        sets=PlaceSets(arrays["set_offsets"], arrays["members"]),
        user_ids=arrays["pseudonyms"],
        offsets=arrays["event_offsets"],
        instants=arrays["instants"],
    )
