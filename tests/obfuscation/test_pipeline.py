"""Pipelines: what stages make of each other's releases, and what their names mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import tracearena as ta
from tracearena.algorithms import GpsObfuscator, catalogue
from tracearena.cities import simulate, simulate_gps
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import AlgorithmError, DataError, ParameterError
from tracearena.metrics import reidentification_score
from tracearena.obfuscation import (
    GeoInd,
    PerDay,
    PlanarLaplace,
    RandomizedResponse,
    RoundTime,
    Snapping,
    SwapTimes,
    Thinning,
    place_part,
)
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces


@pytest.fixture(scope="module")
def check_ins() -> Traces:
    return simulate(users=40, days=30, mode="checkins", seed=1)


@pytest.fixture(scope="module")
def points() -> GpsTraces:
    return simulate_gps(users=5, days=6, seed=2)


def test_a_pipeline_is_its_stages_one_after_the_other(check_ins: Traces, points: GpsTraces) -> None:
    noise, swap = PlanarLaplace(l=1, r=1), SwapTimes(cell=1000, period="month")
    pipeline = ta.Pipeline([noise, swap])
    root = seed_sequence(7)
    moved = noise.transform(check_ins, seed=child_seed(root, 0))
    assert pipeline.transform(check_ins, seed=7) == swap.transform(moved, seed=child_seed(root, 1))
    assert pipeline.stages == (noise, swap)
    snap, few = Snapping(side=500), PerDay(n=12)
    thinned = few.transform(snap.transform(points), seed=child_seed(root, 1))
    assert ta.Pipeline([snap, few]).transform(points, seed=7) == thinned


def test_it_is_what_all_of_its_stages_are() -> None:
    facts = {
        "PL(1,1)+SwapTimes(1km,month)": (("obfuscator",), False, False),
        "PL(1,1)+RoundTime(1h)": (("obfuscator",), True, False),
        "PL(1,1)+RR(1)": (("obfuscator",), True, True),
        "Snap(1km)+PerDay(12)": (("gps-obfuscator",), True, False),
        "Snap(1km)+GeoInd(10m)": (("gps-obfuscator",), True, True),
        "PerDay(12)+RoundTime(6h)": (("obfuscator", "gps-obfuscator"), True, False),
    }
    for name, expected in facts.items():
        pipeline = catalogue.create(name)
        assert isinstance(pipeline, ta.Pipeline)
        assert (pipeline.serves, pipeline.by_user, pipeline.keeps_times) == expected
        for kind in ("obfuscator", "gps-obfuscator"):
            assert catalogue.is_kind(name, kind) == (kind in expected[0])  # type: ignore[arg-type]
        assert not catalogue.is_kind(name, "synthesizer")


@pytest.mark.parametrize(
    "name",
    [
        "PL(1,1)+SwapTimes(1km,month)",
        "Thin(60)+GeoInd(expected_noise=100m, window=300s)+RoundTime(part)",
        "RR(1)+PerDay(3)+RoundTime(10min)",
    ],
)
def test_its_name_gives_it_back(name: str) -> None:
    pipeline = catalogue.create(name)
    assert str(pipeline) == name
    again = catalogue.create(f" {name.replace('+', ' + ')} ")
    assert again == pipeline
    assert hash(again) == hash(pipeline)
    assert ta.Pipeline([ta.Pipeline(pipeline.stages[:2]), *pipeline.stages[2:], PerDay(n=1)]) == ta.Pipeline(
        [*pipeline.stages, PerDay(n=1)]
    )


def test_names_with_a_plus_of_their_own_stay_what_they_are() -> None:
    assert str(catalogue.create("Interpolate+Smooth(9)", "gps-attack")) == "Interpolate+Smooth(9)"
    assert catalogue.is_kind("Interpolate+Smooth", "gps-attack")
    assert catalogue.create("GeoInd(1e+2m)") == GeoInd(expected_noise=100)
    assert str(catalogue.create("Bayes-R(PL(1,1)+SwapTimes(1km,month))")).startswith("Bayes-R(PL(1,1)+SwapT")


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("PL(1,1)+Swap(1km)", None, "stage 2 of PL(1,1)+Swap(1km): there is no defence called 'Swap'"),
        ("PL(1)+No", None, "stage 1 of PL(1)+No: PL(1): PL needs r"),
        ("No+SwapTimes(1km,year)", None, "stage 2 of No+SwapTimes(1km,year): SwapTimes(1km,year): period"),
        ("PL(1,1)+Bayes-R", None, "stage 2 of PL(1,1)+Bayes-R: Bayes-R is a re-identification attack"),
        ("PL(1,1)+GeoInd(100m)", None, "PL(1,1) is a defence for events at places, GeoInd("),
        (
            "PL(1,1)+RoundTime(1h)",
            "gps-obfuscator",
            "stage 1 of PL(1,1)+RoundTime(1h): PL is a defence for events",
        ),
        ("PL(1,1)+RoundTime(1h)", "synthesizer", "a synthesizer is expected here"),
        ("PL(1,1)+", None, "PL(1,1)+"),
    ],
)
def test_what_is_wrong_is_said_of_the_stage(name: str, kind: Any, told: str) -> None:
    with pytest.raises(ParameterError) as refused:
        catalogue.create(name, kind)
    assert told in str(refused.value)


def test_its_stages_are_described_one_by_one() -> None:
    with pytest.raises(
        ParameterError, match=r"is a pipeline; describe its stages one by one: PL\(1,1\), PerDay"
    ):
        ta.algorithms.describe("PL(1,1)+PerDay(2)")


def test_what_is_no_pipeline_is_refused() -> None:
    with pytest.raises(ParameterError, match="two stages or more, not 1"):
        ta.Pipeline([PerDay(n=1)])
    with pytest.raises(ParameterError, match="is a defence, not str"):
        ta.Pipeline([PerDay(n=1), "RR(1)"])  # type: ignore[list-item]


def test_settings_reach_every_stage() -> None:
    pipeline = catalogue.create("GeoInd(100m)+RoundTime(1h)", digits=3, timezone="Asia/Tokyo")
    assert [one.get_params(deep=False)["digits"] for one in pipeline.stages] == [3, 3]
    assert pipeline.stages[1].timezone == "Asia/Tokyo"
    assert pipeline.digits == 3


def test_a_defence_of_places_needs_places_to_start_from(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=5, days=2)
    for first, told in (("MRLH(0,0,0.5)", "deleted events"), ("MRLH(1,1,0)", "released sets")):
        with pytest.raises(
            DataError, match=rf"RR\(2\) needs one place for every event, but an earlier defence {told}"
        ):
            catalogue.create(f"{first}+RR(2)").transform(walks, seed=1)
    released = catalogue.create("RoundTime(3h)+PL(4,1)+RR(4)").transform(walks, seed=1)
    assert released.is_single.all()


@pytest.mark.parametrize(
    "name",
    [
        "RR(1)+RoundTime(day)",
        "PL(1,1)+RR(2)+ShuffleDays(month)",
        "PerDay(2)+PL(1,1)+RoundTime(3h)",
        "Resample(1h)+RR(1)+PerDay(1)+PL(1,1)",
    ],
)
@pytest.mark.parametrize("seed", [5, None])
def test_some_users_after_the_others_get_what_all_get_at_once(
    check_ins: Traces, name: str, seed: int | None
) -> None:
    pipeline = catalogue.create(name)
    root = seed_sequence(seed)
    whole = pipeline.transform(check_ins, seed=root)
    for first, stop in [(0, 3), (3, 4), (4, 40)]:
        part = check_ins.take_users(slice(first, stop))
        own = {"seed": root, "first": int(check_ins.offsets[first]), "total": len(check_ins)}
        assert pipeline.transform_part(part, **own) == whole.take_users(slice(first, stop))


def test_users_do_not_share_draws(check_ins: Traces) -> None:
    # Ten people with the same days: each one's noise is their own, also where events were left out before.
    one = check_ins.take_users([3])
    same = Traces.concat([one.with_user_ids([number]) for number in range(10)])
    released = catalogue.create("PerDay(2)+PL(0.1,1)").transform(same, seed=1)
    codes = [tuple(released.take_users([number]).codes.tolist()) for number in range(10)]
    assert len(set(codes)) == 10


def test_what_it_does_to_places_are_the_stages_that_keep_times() -> None:
    noise, answer = PlanarLaplace(l=1, r=1), RandomizedResponse(epsilon=1)
    rounding = RoundTime(unit="day")
    assert place_part(noise) is noise
    assert place_part(rounding) is None
    assert place_part(ta.Pipeline([noise, rounding])) == noise
    assert place_part(ta.Pipeline([noise, rounding, answer])) == ta.Pipeline([noise, answer])
    assert place_part(ta.Pipeline([rounding, PerDay(n=1)])) is None


@pytest.mark.long
def test_who_knows_the_whole_pipeline_finds_more_people_than_who_knows_one_stage(check_ins: Traces) -> None:
    first, second = check_ins.split_days(15)
    released = catalogue.create("PL(1,1)+SwapTimes(1km,month)").transform(second, seed=1)
    release = ta.pseudonymise(released, seed=2)

    def count_found(name: str) -> float:
        answer = catalogue.create(f"Bayes-R({name})").fit(first).identify(release.anonymized, seed=1)
        return 40 * (1 - reidentification_score(release.id_table, answer).reidentification)

    whole = count_found("PL(1,1)+SwapTimes(1km,month)")
    # Chance finds one of 40 people, and more than six with a probability below 10⁻⁴.
    assert whole > max(count_found("SwapTimes(1km,month)"), 6)
    assert count_found("GeoInd(1km)+RoundTime(1h)") > 6


@dataclass(frozen=True, kw_only=True)
class Halved(GpsObfuscator):
    """Every other point, a little aside."""

    name: ClassVar[str] = "Halved"
    by_user: ClassVar[bool] = True

    def transform(self, original: GpsTraces, *, seed: Any = None) -> GpsTraces:
        kept = original.keep(np.arange(len(original)) % 2 == 0)
        return kept.with_positions(kept.latitude + 1e-8, kept.longitude)


@dataclass(frozen=True, kw_only=True)
class Wrong(GpsObfuscator):
    """Nothing that could be released."""

    name: ClassVar[str] = "Wrong"

    def transform(self, original: GpsTraces, *, seed: Any = None) -> Any:
        return original.n_points


def test_classes_from_elsewhere_are_stages_too(points: GpsTraces) -> None:
    released = ta.Pipeline([Thinning(interval=60), Halved()]).transform(points, seed=1)
    assert np.array_equal(released.latitude, released.latitude.round(6)), "what is released is rounded"
    with pytest.raises(AlgorithmError, match=r"Wrong.transform must return GpsTraces"):
        ta.Pipeline([Thinning(interval=60), Wrong()]).transform(points, seed=1)


def test_it_follows_a_release_as_it_follows_traces(check_ins: Traces) -> None:
    pipeline = catalogue.create("PL(1,1)+RoundTime(1h)")
    released = ObfuscatedTraces.from_traces(check_ins)
    assert pipeline.transform(released, seed=1) == pipeline.transform(check_ins, seed=1)


def test_sets_of_users_who_lost_rows_hold_their_true_places(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=6, days=2)
    kept, released, general = (
        catalogue.create(name).transform(walks, seed=1)
        for name in ("PerDay(3)+MRLH(0,0,0)", "PerDay(3)+MRLH(1,1,0)", "MRLH(1,1,0)")
    )
    assert released.n_events == kept.n_events == 36
    event, member, _ = general.pairs()
    blocks = {int(place): set(member[event == at]) for at, place in enumerate(walks.place_index)}
    event, member, _ = released.pairs()
    assert [set(member[event == at]) for at in range(36)] == [blocks[int(place)] for place in kept.codes]


def test_nobody_stays_nobody_through_all_stages(check_ins: Traces) -> None:
    nobody = check_ins.take_users(slice(0, 0))
    released = catalogue.create("PerDay(2)+RoundTime(3h)").transform(nobody, seed=1)
    assert (released.n_users, released.n_events) == (0, 0)
