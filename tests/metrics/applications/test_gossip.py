"""Gossip, against a simulation that walks through time from one source at a time."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.metrics.applications import gossip
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m


def slow_gossip(traces: GpsTraces, source: int, slot_s: float, range_m: float) -> list[int]:
    slots = traces.time_ms // int(slot_s * 1000)
    arrival = [-1] * traces.n_users
    arrival[source] = 0
    for slot in np.unique(slots):
        now = np.flatnonzero(slots == slot)
        spreading = True
        while spreading:
            spreading = False
            for i in now:
                for j in now:
                    a, b = int(traces.user_index[i]), int(traces.user_index[j])
                    if arrival[a] < 0 or arrival[b] >= 0:
                        continue
                    meters = distance_m(
                        traces.latitude[i], traces.longitude[i], traces.latitude[j], traces.longitude[j]
                    )
                    if meters[0] <= range_m:
                        arrival[b] = round(float(slot - slots.min()) * slot_s)
                        spreading = True
    return arrival


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("users", [1, 7, 70])
def test_all_sources_at_once_are_each_source_alone(users: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 5 * users + 20
    traces = GpsTraces.from_points(
        np.concatenate([np.arange(users), rng.integers(0, users, n - users)]),
        rng.integers(0, 60, n) * 1000 + 12_000,
        40 + rng.uniform(0, 0.003, n),
        116 + rng.uniform(0, 0.003, n),
    )
    found = gossip(traces, slot_s=5, range_m=50)
    sources = range(users) if users < 10 else (0, 31, 64, 69)
    for source in sources:
        assert found.arrival_s[source].tolist() == slow_gossip(traces, source, 5, 50)


def test_people_meet_across_the_date_line_and_at_the_pole() -> None:
    across = GpsTraces.from_points([1, 2], [0, 0], [0.0, 0.0], [179.9999, -179.9999])
    assert gossip(across).infection_rate == 1
    pole = GpsTraces.from_points([1, 2], [0, 0], [89.9999, 89.9999], [0.0, 180.0])
    assert gossip(pole).infection_rate == 1
    apart = GpsTraces.from_points([1, 2], [0, 0], [89.999, 89.999], [0.0, 180.0])
    assert gossip(apart).infection_rate == 0.5


def test_meetings_only_help_those_who_come_later() -> None:
    traces = GpsTraces.from_points(
        ["a", "b", "b", "c"], [100_000, 100_000, 0, 0], [0.0, 0.0, 1.0, 1.0], [0.0] * 4
    )
    found = gossip(traces)
    assert found.arrival_s.tolist() == [[0, 100, -1], [100, 0, 0], [100, 0, 0]]
    assert found.rates.tolist() == pytest.approx([2 / 3, 1, 1])
    assert found.others_reached == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert found.latency_s()["0.5"] == 100


def test_a_user_without_points_is_reached_by_nobody() -> None:
    traces = GpsTraces.from_points([1, 2], [0, 0], [0.0, 0.0], [0.0, 0.0], user_ids=[1, 2, 3])
    assert gossip(traces).rates.tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParameterError, match="slot_s"):
        gossip(GpsTraces.from_points([1], [0], [0.0], [0.0]), slot_s=0)
