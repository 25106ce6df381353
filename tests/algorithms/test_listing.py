"""What is known of the algorithms before any is used: in Python, and by ``tracearena algorithms``."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import ClassVar

import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.algorithms import catalogue, describe, overview
from tracearena.errors import ParameterError

OWN = """
from dataclasses import dataclass
from typing import ClassVar
import tracearena as ta

@dataclass(kw_only=True)
class Blur(ta.algorithms.GpsObfuscator):
    \"\"\"Blur every point ([mine] 3).

    Parameters
    ----------
    width
        How far, above 0.

        A second paragraph.
    often : int
        How often.

    Notes
    -----
    steps
        No parameter.
    \"\"\"

    name: ClassVar[str] = "Blur"
    units: ClassVar[dict] = {"width": "m"}
    width: float
    often: int = 2
    slowly: bool = ta.algorithms.setting(False)

    def transform(self, original, *, seed=None):
        return original

@dataclass(kw_only=True)
class Silent(Blur):
    name: ClassVar[str] = "Silent"
"""


@pytest.mark.parametrize(
    ("kind", "first", "last", "count"),
    [
        ("defences", "No", "Resample", 27),
        ("defence", "No", "Resample", 27),
        ("gps-defences", "GeoInd", "Resample", 11),
        ("attacks", "Random-R", "Interpolate+Smooth", 20),
        ("reidentification", "Random-R", "Link-R", 9),
        ("trace-inference", "Random-T", "Habits-T", 8),
        ("GPS-attacks", "Interpolate", "Interpolate+Smooth", 3),
        ("synthesizers", "PPMTF", "PrivateTrips", 7),
        ("obfuscator", "No", "Resample", 16),
    ],
)
def test_kinds_have_plain_words(kind: str, first: str, last: str, count: int) -> None:
    found = overview(kind)
    assert (found[0].name, found[-1].name, len(found)) == (first, last, count)
    done = tracearena("algorithms", kind, "--json")
    assert [one["name"] for one in done.json["algorithms"]] == [one.name for one in found]


def test_all_are_listed_once() -> None:
    listed = [(one.name, one.kind) for one in overview()]
    assert sorted(listed) == sorted(
        (entry.name, kind) for entry in catalogue.entries().values() for kind in entry.kinds
    )
    assert tracearena("algorithms").out == f"{overview()}\n"


def test_a_kind_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="one of defences, gps-defences, attacks"):
        overview("walls")
    done = tracearena("algorithms", "defenses")
    assert (done.status, done.out) == (2, "")
    assert "did you mean defences?" in done.err
    done = tracearena("algorithms", "MRHL")
    assert (done.status, done.out) == (2, "")
    assert "there is no algorithm called 'MRHL'; did you mean MRLH?" in done.err


def test_parameters_come_with_default_unit_choices_and_meaning() -> None:
    done = tracearena("algorithms", "ClusterAveraging", "--json")
    (about,) = done.json["algorithms"]
    assert about["signature"] == "ClusterAveraging(threshold, clusters=100, blur_km=0km, limit_km=2km)"
    assert about["command"] == "tracearena obfuscate 'ClusterAveraging(0.7)' IN OUT"
    parameters = {one.pop("name"): one for one in about["parameters"]}
    assert parameters["limit_km"] == {
        "required": False,
        "default": 2.0,
        "unit": "km",
        "choices": [],
        "is_setting": False,
        "meaning": "Distance in km from which a visit is worth nothing.",
    }
    assert parameters["threshold"]["required"]
    zeros = {one.name: one for one in describe("PPMTF").parameters}["zeros"]
    assert (zeros.default, zeros.choices) == ("sampled", ("sampled", "all"))
    digits = {one.name: one for one in describe("Snap").parameters}["digits"]
    assert (digits.default, digits.is_setting) == (6, True)


def test_one_algorithm_is_explained_to_people() -> None:
    assert tracearena("algorithms", "PL").out.splitlines()[:4] == [
        "PL(l, r in km)",
        "    Move each event by planar Laplace noise: l-privacy within r km",
        "",
        "    a defence for events at places: tracearena obfuscate 'PL(4,1)' IN OUT",
    ]
    assert "[window in s]" in tracearena("algorithms", "GeoInd(100m)").out


def test_a_class_from_elsewhere_says_what_its_docstring_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_listed.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    assert tracearena("algorithms", "own_listed:Blur").out.splitlines() == [
        "own_listed:Blur(width in m, often=2)",
        "    Blur every point",
        "",
        "    a defence for GPS traces: tracearena obfuscate 'own_listed:Blur(width,often)' IN OUT",
        "",
        "    width in m    How far, above 0. A second paragraph",
        "    often=2       How often",
        "    slowly=false  given by its name",
    ]
    silent = describe("own_listed:Silent")
    assert (silent.summary, silent.parameters[0].meaning) == ("", "How far, above 0. A second paragraph.")


def test_a_notebook_shows_a_table() -> None:
    html = ta.algorithms.overview("gps-defences")._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == 12
    assert "<code>Thin(interval in s)</code>" in html
    assert repr(ta.algorithms.overview("synthesizers")).startswith("Synthesizers: tracearena synthesize NAME")
    assert len(ta.algorithms.overview()[2:4]) == 2


def test_a_listing_is_plain_values_for_a_frame() -> None:
    rows = overview("synthesizers").to_dicts()
    assert json.loads(json.dumps(rows))[0]["parameters"][0]["name"] == "factors"


def test_what_is_not_a_dataclass_docstring_is_no_summary() -> None:
    @dataclasses.dataclass(kw_only=True)
    class Bare(ta.algorithms.Obfuscator):
        name: ClassVar[str] = "Bare"
        k: int = 1

        def transform(self, original, *, seed=None):  # type: ignore[no-untyped-def]
            return original

    from tracearena.algorithms.listing import description_of

    assert description_of(Bare, "Bare").summary == ""
