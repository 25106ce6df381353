"""`score usefulness`: what one's own release is still good for, as Figure 13 of [contest] asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena import metrics
from tracearena.cities import pois, simulate
from tracearena.io import pwscup, write_places
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def original() -> Traces:
    return simulate(30, 2, clock=pwscup.PWS_CLOCK, seed=1)


@pytest.fixture(scope="module")
def files(original: Traces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    pwscup.write_places(original.places, folder / "info_region.csv")
    pwscup.write_traces(original, folder / "org.csv")
    write_places(pois(), folder / "pois.csv")
    return folder


def release(files: Path, defence: str) -> Path:
    path = files / f"{defence.partition('(')[0]}.csv"
    done = tracearena("obfuscate", defence, files / "org.csv", path, "--seed", 1)
    assert done.status == 0, done.err
    return path


def usefulness(files: Path, released: Path, *more: object) -> dict[str, float]:
    both = ("--original", files / "org.csv", "--obfuscated", released)
    done = tracearena("score", "usefulness", *both, *more, "--json")
    assert done.status == 0, done.err
    result: dict[str, float] = done.json
    return result


def test_an_unchanged_release_is_as_useful_as_the_original(files: Path) -> None:
    found = usefulness(files, release(files, "No"), "--pois", files / "pois.csv")
    assert found.pop("poi_accuracy") == 1
    assert [found[name] for name in ("tp_tv", "tp_tv_top50", "tm_emd_x", "tm_emd_y", "tm_emd")] == [0.0] * 5


def test_the_numbers_are_those_of_the_metrics(original: Traces, files: Path) -> None:
    released = release(files, "PL(4,1)")
    truth = PlanarLaplace(l=4, r=1).transform(original, seed=1)
    found = usefulness(files, released, "--pois", files / "pois.csv")
    expected = metrics.poi_accuracy_score(original, truth, pois())
    assert found["poi_accuracy"] == pytest.approx(expected.poi_accuracy)
    assert found["tp_tv_top50"] == pytest.approx(metrics.tp_tv(original, truth, top=50))
    assert found["tm_emd_x"] == pytest.approx(metrics.tm_emd(original, truth, "x", bins=32))
    assert found["tm_emd"] == pytest.approx(metrics.tm_emd_sliced(original, truth, bins=32))


def test_more_noise_is_less_useful(files: Path) -> None:
    little, much = (usefulness(files, release(files, name)) for name in ("PL(7,1)", "RR(0)"))
    assert all(little[name] < much[name] for name in little)


def test_a_category_needs_places_that_have_it(files: Path) -> None:
    both = ("score", "usefulness", "--original", files / "org.csv", "--obfuscated", release(files, "No"))
    done = tracearena(*both, "--category", "food")
    assert (done.status, "--category" in done.err) == (2, True)
    done = tracearena(*both, "--pois", files / "pois.csv", "--category", "volcano")
    assert (done.status, "volcano" in done.err) == (2, True)
