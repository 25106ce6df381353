"""What releases spend is added up per unit, within the total, and one release at a time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracearena.errors import FileError, ParameterError
from tracearena.files.atomic import try_lock
from tracearena.synthesis.private.ledger import Ledger


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("1,2,3")
    return path


def spend(data: Path, epsilon: float, unit: str = "person") -> Ledger:
    return Ledger.update(data, lambda known: known.spend(f"for one {unit}", epsilon, 1e-6, unit))


def test_what_people_and_trips_lose_is_added_up_separately(data: Path) -> None:
    for epsilon, unit in ((1.0, "person"), (2.0, "trip"), (0.5, "person"), (4.0, "trip")):
        spend(data, epsilon, unit)
    ledger = Ledger.open(data)
    assert (ledger.spent("person"), ledger.spent("trip")) == (1.5, 6.0)
    assert len(ledger.spendings) == 4


@pytest.mark.parametrize(("unit", "other"), [("person", "trip"), ("trip", "person")])
def test_a_total_for_one_unit_allows_no_release_for_the_other(data: Path, unit: str, other: str) -> None:
    Ledger.update(data, lambda known: known.with_total(2, unit))
    said = f"for one {other} protects one {other}, and the total is for one {unit}: these do not add up"
    with pytest.raises(ParameterError, match=said):
        spend(data, 0.1, other)
    assert spend(data, 2.0, unit).spent(unit) == 2.0
    with pytest.raises(ParameterError, match=r"would spend ε = 0\.001 after the 2 of earlier releases"):
        spend(data, 0.001, unit)
    assert Ledger.open(data).spent(unit) == 2.0


def test_no_total_for_people_is_promised_after_releases_that_protect_trips(data: Path) -> None:
    spend(data, 1.0, "trip")
    with pytest.raises(ParameterError, match="an earlier release, for one trip, protects one trip"):
        Ledger.update(data, lambda known: known.with_total(5))
    assert Ledger.open(data).total is None
    assert Ledger.update(data, lambda known: known.with_total(5, "trip")).total == 5


def test_two_releases_at_once_do_not_spend_the_same_rest(data: Path) -> None:
    Ledger.update(data, lambda known: known.with_total(3))

    def slowly(known: Ledger) -> Ledger:
        time.sleep(0.02)  # time for another release to read the same ledger
        return known.spend("release", 1.0, 0.0, "person")

    def release(_: int) -> bool:
        while True:
            try:
                Ledger.update(data, slowly)
            except FileError:  # the other one has the ledger
                time.sleep(0.005)
            except ParameterError:
                return False
            else:
                return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(release, range(6))) == 3
    assert Ledger.open(data).spent("person") == 3


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_ledger_in_use_stays_as_it_is(data: Path, kind: str) -> None:
    path = data if kind == "file" else data.parent
    with try_lock(path) as is_ours:
        assert is_ours
        with pytest.raises(FileError, match="another command is changing; run this one again"):
            spend(path, 1.0)
    assert Ledger.open(path).spendings == ()
    assert spend(path, 1.0).spent("person") == 1
    (path.parent / f"{path.name}.budget.json").unlink()


def test_one_cell_of_a_ledger_that_is_wrong_is_refused(data: Path) -> None:
    ledger = spend(data, 1.0)
    good = ledger.path.read_text()
    for old, new in (('"person"', '"day"'), ("1.0", "-1"), ("1e-06", "NaN"), ('"spendings"', '"spent"')):
        ledger.path.write_text(good.replace(old, new))
        with pytest.raises(FileError, match="is not a ledger"):
            spend(data, 1.0)
