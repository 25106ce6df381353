"""In a name, a number without a unit that would mean less than a metre or a second is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.algorithms import catalogue
from tracearena.obfuscation import GeoInd

POINTS = "user,time,latitude,longitude\n" + "".join(
    f"{user},2020-01-01T08:{minute:02d}:00Z,35.{minute:03d},139.5\n"
    for user in (1, 2)
    for minute in range(30)
)


@pytest.mark.parametrize(
    ("spec", "spellings"),
    [
        ("GeoInd(0.02)", "0.02m, or epsilon=0.02"),
        ("GeoInd(expected_noise=0.02)", "0.02m, or epsilon=0.02"),
        ("GeoInd(100, 0.5)", "0.5s"),
        ("Thin(0.02)", "0.02s"),
        ("Snap(0.001)", "0.001m"),
        ("PL(4, 0.0002)", "0.0002km"),
    ],
)
def test_the_command_names_the_spellings_and_writes_nothing(
    spec: str,
    spellings: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "in.csv").write_text(POINTS)
    status, _, told = tracearena("obfuscate", spec, tmp_path / "in.csv", tmp_path / "out.csv", "--seed", 1)
    assert status == 2
    assert spellings in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("spec", ["GeoInd(0.02m)", "Thin(0.02s)", "Snap(0.001m)", "PL(4,0.2m)"])
def test_a_number_with_its_unit_is_taken_at_its_word_and_keeps_it_in_the_name(spec: str) -> None:
    made = catalogue.create(spec)
    assert catalogue.create(str(made)) == made


def test_python_says_metres_by_its_keyword() -> None:
    assert GeoInd(expected_noise=0.02).expected_noise_m == 0.02
    assert catalogue.create("GeoInd(epsilon=0.02)").expected_noise_m == 100


@pytest.mark.parametrize(
    "spec", ["GeoInd(1)", "Thin(1)", "Snap(1)", "PL(4,0.5)", "ClusterAveraging(0.7,2,0)"]
)
def test_ordinary_bare_numbers_stay_as_they_are(spec: str) -> None:
    catalogue.create(spec)
