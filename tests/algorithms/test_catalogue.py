import dataclasses
import sys
import types
from typing import Any, ClassVar

import pytest

from tracearena.algorithms import Obfuscator, catalogue, parse
from tracearena.algorithms.base import kinds_of
from tracearena.engine import SeedLike
from tracearena.errors import ParameterError
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import ObfuscatedTraces, Traces


@dataclasses.dataclass(frozen=True, kw_only=True)
class Everything(Obfuscator):
    """A user's own defence: delete all."""

    name: ClassVar[str] = "Everything"
    times: int = 1

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        return ObfuscatedTraces.like(original, [-1] * original.n_events)


def test_names_are_written_as_the_papers_write_them() -> None:
    assert catalogue.create("MRLH(1,1,0.5)") == MRLH(mu_x=1, mu_y=1, deletion=0.5)
    assert catalogue.create(" PL( 4 , r=1 ) ") == PlanarLaplace(l=4, r=1)


@pytest.mark.parametrize("name", ["No", "MRLH(1,1,0.5)", "RR(0.1)", "PL(4,1)", "Cheat(1)", "VisitProb-R"])
def test_an_algorithm_says_its_own_name(name: str) -> None:
    assert str(catalogue.create(name)) == name


@pytest.mark.parametrize("name", ["PL(0.1234567,1)", "RR(1e-09)", "Cheat(0.30000000000000004)"])
def test_no_digit_of_a_parameter_is_lost_in_the_name(name: str) -> None:
    assert str(catalogue.create(name)) == name


def test_options_reach_those_who_know_them() -> None:
    assert catalogue.create("RR(1)", legacy_2019=True).legacy_2019
    assert str(catalogue.create("No", legacy_2019=True)) == "No"


def test_units_become_metres_and_seconds() -> None:
    assert parse("X(1.5km, wait=2h, who=all, on=true)") == (
        "X",
        [1500.0],
        {"wait": 7200.0, "who": "all", "on": True},
    )


def test_a_unit_is_turned_into_the_parameters_own() -> None:
    assert catalogue.create("PL(4,500m)") == catalogue.create("PL(4,0.5)") == PlanarLaplace(l=4, r=0.5)
    assert catalogue.create("GeoInd(expected_noise=0.1km, window=5min)").window == 300


@pytest.mark.parametrize(("spec", "told"), [("PL(4m,1)", "l has no unit"), ("PL(4,5min)", "in km, not in s")])
def test_a_unit_without_meaning_is_refused(spec: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        catalogue.create(spec)


def test_a_users_own_class_joins_by_its_import_path() -> None:
    sys.modules["my_defences"] = sys.modules[__name__]
    try:
        assert catalogue.create("my_defences:Everything(2)", "obfuscator").times == 2
    finally:
        del sys.modules["my_defences"]


def test_a_users_own_class_must_be_a_dataclass(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(Obfuscator):
        name = "Plain"
        transform = Everything.transform

    monkeypatch.setitem(sys.modules, "my_defences", types.SimpleNamespace(Plain=Plain))
    with pytest.raises(ParameterError, match="is not a dataclass"):
        catalogue.create("my_defences:Plain")


def test_a_users_own_class_joins_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "Everything"
        value = "my_defences:Everything"

    monkeypatch.setitem(__import__("sys").modules, "my_defences", __import__("sys").modules[__name__])
    monkeypatch.setattr(
        catalogue, "entry_points", lambda group: [Point] if group == "tracearena.algorithms" else []
    )
    catalogue.entries.cache_clear()
    try:
        assert "Everything" in catalogue.names("obfuscator")
        assert isinstance(catalogue.create("Everything"), Everything)
    finally:
        catalogue.entries.cache_clear()


def test_a_broken_plug_in_is_left_out_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "Broken"
        value = "no_such_module:Thing"

    monkeypatch.setattr(catalogue, "entry_points", lambda group: [Point])
    catalogue.entries.cache_clear()
    try:
        with pytest.warns(UserWarning, match="Broken is ignored"):
            assert "Broken" not in catalogue.entries()
    finally:
        catalogue.entries.cache_clear()


@pytest.mark.parametrize(
    ("spec", "kind", "told"),
    [
        ("MRHL(1,1,0.5)", "obfuscator", "did you mean MRLH?"),
        ("GeoIn(100m)", "obfuscator", "there is no defence called 'GeoIn'; did you mean GeoInd?"),
        ("PlanarLaplace(4,1)", "obfuscator", "no defence called 'PlanarLaplace'; did you mean PL?"),
        ("mrlh", "obfuscator", "did you mean MRLH?"),
        ("visitprob", "reidentification", "there is no attack called 'visitprob'; did you mean VisitProb-"),
        ("ppmtf", "synthesizer", "did you mean PPMTF?"),
        (
            "Zzz",
            "obfuscator",
            "places No, MRLH, RR, PL, Cheat, ClusterAveraging, KAnonymous, Decoy, Impostor, Fakes, SwapTimes",
        ),
        ("Zzz", "gps-obfuscator", "defences for GPS traces GeoInd, Thin, Snap, Zones, TrimEnds"),
        (
            "VisitProb-R",
            "obfuscator",
            "a re-identification attack; a defence for events at places is expected here",
        ),
        (
            "GeoInd(100m)",
            "obfuscator",
            "GeoInd is a defence for GPS traces; a defence for events at places is",
        ),
        ("Thin(1d)", None, "interval = 1d: unknown unit; use one of s, min, h"),
        ("Thin(5m)", None, "interval is measured in s, not in m: use one of s, min, h"),
        ("Snap(3 miles)", None, "side = 3 miles: unknown unit; use one of m, km"),
        ("MRLH(1,1)", None, "needs deletion"),
        ("MRLH(1,1,2)", None, "at most 1"),
        ("MRLH(1,1,0.5,true)", None, "at most 3 parameters (mu_x, mu_y, deletion)"),
        ("VisitProb-R(1)", None, "takes no parameters"),
        ("PL(1)", None, "write PL(l,r)"),
        ("MRLH(\u0661,1,0)", None, "mu_x"),
        ("RR(1" + 5000 * "0" + ")", None, "epsilon"),
        ("PL(1e-320,1e4)", None, "l / r"),
        ("MRLH(1,1,0.5,mu_x=2)", None, "given twice"),
        ("MRLH(mu_x=1,1,0.5)", None, "before those with a name"),
        ("RR(eps=1)", None, "no parameter 'eps'"),
        ("RR(,)", None, "empty"),
        ("RR(nan)", None, "epsilon"),
        ("RR(-1)", None, "epsilon"),
        ("PL(0,1)", None, "greater than 0"),
        ("Cheat(1.1)", None, "share"),
        ("(1)", None, "is not the name of an algorithm"),
        ("RR(1", None, "is not the name of an algorithm"),
        ("no_such_module:Thing", None, "cannot import"),
        ("math:pi", None, "is not an algorithm"),
        ("tracearena.algorithms:Obfuscator", None, "has no transform"),
    ],
)
def test_what_cannot_be_made_is_explained(spec: str, kind: Any, told: str) -> None:
    with pytest.raises(ParameterError) as error:
        catalogue.create(spec, kind)
    assert told in str(error.value)


def test_every_entry_loads_and_bears_its_name() -> None:
    for entry in catalogue.entries().values():
        algorithm = entry.load()
        assert (algorithm.name, algorithm.kind) == (entry.name, entry.kind)
        assert kinds_of(algorithm) == entry.kinds
        assert entry.kinds[0] == entry.kind


def test_a_name_is_resolved_before_anything_is_made() -> None:
    assert catalogue.resolve("PL(4,500m)", "obfuscator") == (PlanarLaplace, {"l": 4, "r": 0.5})
