"""Released degrees have six decimals or what ``--digits`` says, in every format and for every defence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.command_line import tracearena

from tracearena.algorithms import catalogue
from tracearena.errors import ParameterError
from tracearena.io import read, write
from tracearena.obfuscation import GeoInd, Snapping, Thinning
from tracearena.obfuscation.gps import round_coordinates
from tracearena.traces import GpsTraces

POINTS = 50
OWN_DEFENCE = """
from dataclasses import dataclass
from typing import ClassVar

from tracearena.algorithms import GpsObfuscator


@dataclass(kw_only=True)
class Shift(GpsObfuscator):
    name: ClassVar[str] = "Shift"

    def transform(self, original, *, seed=None):
        return original.with_positions(original.latitude + 0.1 / 3, original.longitude + 0.1 / 7)
"""


@pytest.fixture
def track() -> GpsTraces:
    """Points with all the bits that a double has."""
    rng = np.random.default_rng(3)
    return GpsTraces(
        user_ids=["a"],
        offsets=[0, POINTS],
        time_ms=1_200_000_000_000 + 10_000 * np.arange(POINTS),
        latitude=39.9 + rng.random(POINTS) / 100,
        longitude=116.3 + rng.random(POINTS) / 100,
    )


@pytest.fixture
def folder(tmp_path: Path, track: GpsTraces) -> Path:
    """A folder with the track in a file and somebody's own defence."""
    write(track, tmp_path / "track.parquet")
    (tmp_path / "own.py").write_text(OWN_DEFENCE)
    return tmp_path


def has_decimals(values: NDArray[np.float64], digits: int) -> bool:
    """Whether each value is the very double that so many decimals mean."""
    return all(value == float(f"{value:.{digits}f}") for value in values.tolist())


@pytest.mark.parametrize("defence", [GeoInd(expected_noise=100), Snapping(side=37), Thinning(interval=20)])
def test_every_gps_defence_rounds(defence: GeoInd | Snapping | Thinning, track: GpsTraces) -> None:
    for seed in (None, 1):
        released = defence.transform(track, seed=seed)
        assert has_decimals(released.latitude, 6)
        assert has_decimals(released.longitude, 6)
    coarse = catalogue.create(f"{str(defence)[:-1]},digits=3)", "gps-obfuscator").transform(track)
    assert has_decimals(coarse.latitude, 3)
    assert str(catalogue.create(str(defence), digits=3)) == str(defence)


def test_noise_with_a_window_is_rounded(track: GpsTraces) -> None:
    assert has_decimals(GeoInd(expected_noise=100, window=60).transform(track).longitude, 6)


def test_rounding_leaves_no_sign_at_zero() -> None:
    near = GpsTraces(
        user_ids=["a"],
        offsets=[0, 2],
        time_ms=[0, 1],
        latitude=[-1e-9, 1e-9],
        longitude=[180.0, -179.9999999999],
    )
    assert not np.signbit(round_coordinates(near).latitude).any()
    assert round_coordinates(near).longitude.tolist() == [180.0, -180.0]


@pytest.mark.parametrize("digits", [-1, 10, 1.5, "6", True])
def test_digits_are_checked(digits: object) -> None:
    with pytest.raises(ParameterError, match="digits"):
        GeoInd(expected_noise=100, digits=digits)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.gpx", "out"])
def test_every_format_has_rounded_degrees(name: str, folder: Path) -> None:
    done = tracearena("obfuscate", "GeoInd(expected_noise=100m)", "track.parquet", name, folder=folder)
    assert done.status == 0, done.err
    released = read(folder / name).traces
    assert released.n_points == POINTS
    assert has_decimals(released.latitude, 6)
    assert has_decimals(released.longitude, 6)


@pytest.mark.slow
def test_somebodys_own_defence_is_rounded_too(folder: Path) -> None:
    for options, digits in (((), 6), (("--digits", 2), 2)):
        done = tracearena(
            "obfuscate", "own:Shift", "track.parquet", "out.parquet", *options, "--json", folder=folder
        )
        assert done.status == 0, done.err
        assert done.json["points"] == POINTS
        assert has_decimals(read(folder / "out.parquet").traces.latitude, digits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("PL(4,1)", "track.parquet", "out.csv", "--digits", 3), "PL(4,1) releases places"),
        (("GeoInd(100m, digits=4)", "track.parquet", "out.csv", "--digits", 3), "keeps 4 digits"),
        (("GeoInd(100m)", "track.parquet", "out.csv", "--digits", 10), "--digits"),
    ],
)
def test_digits_that_mean_nothing_are_refused(
    arguments: tuple[object, ...], message: str, folder: Path
) -> None:
    done = tracearena("obfuscate", *arguments, folder=folder)
    assert done.status == 2
    assert message in done.err
    assert not (folder / "out.csv").exists()
