"""Figures of the sample programs."""

import csv
from pathlib import Path

import pytest

from tracearena.errors import DataError
from tracearena.papers import figure, list_figures
from tracearena.papers.data import Size


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("samples-4", {}), ("contest-8", {"iterations": 3})])
def test_a_figure_is_a_picture_and_its_numbers(name: str, options: dict[str, int], tmp_path: Path) -> None:
    picture, numbers = figure(name)(tmp_path, seed=1, size=Size(60, 2), **options)
    assert "<svg" in picture.read_text()
    with numbers.open(newline="") as file:
        assert len(list(csv.reader(file))) == 38


@pytest.mark.long
def test_contest_8_of_the_organisers_traces_has_a_row_for_every_defence(osaka: Path, tmp_path: Path) -> None:
    picture, numbers = figure("contest-8")(tmp_path, data=osaka, seed=1)
    assert "<svg" in picture.read_text()
    with numbers.open(newline="") as file:
        assert len(list(csv.reader(file))) == 38


@pytest.mark.long
def test_samples_4_is_the_organisers_own_table(osaka: Path, tmp_path: Path) -> None:
    """Their programs looked at a tenth of the events; draws differ, so attacks agree to 0.025."""
    _, numbers = figure("samples-4")(tmp_path, data=osaka, seed=1)
    with numbers.open(newline="") as file:
        ours = {row["defence"]: row for row in csv.DictReader(file)}
    with (osaka / "sample_results_team001_data01.csv").open(newline="") as file:
        published = list(csv.DictReader(file))
    assert len(published) == len(ours) == 37
    for theirs, row in zip(published, ours.values(), strict=True):
        assert float(row["utility"]) == pytest.approx(float(theirs["Util"]), abs=1e-9), theirs["Ano"]
        for column, attack in (("I2", "VisitProb-R"), ("I3", "HomeProb-R"), ("T3", "HomeProb-T")):
            assert float(row[attack]) == pytest.approx(float(theirs[column]), abs=0.025), theirs["Ano"]


def test_every_figure_can_be_found() -> None:
    for name, one in list_figures().items():
        assert figure(name) is one
        assert (one.name, bool(one.shows)) == (name, True)


def test_a_folder_without_traces_is_refused(osaka: Path, tmp_path: Path) -> None:
    (tmp_path / "info_region.csv").write_bytes((osaka / "info_region.csv").read_bytes())
    with pytest.raises(DataError, match="reftraces"):
        figure("contest-8")(tmp_path, data=tmp_path)
