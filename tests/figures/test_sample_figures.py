"""Figures of the sample programs."""

import csv
from pathlib import Path

import pytest

from tracearena.errors import DataError
from tracearena.figures import FIGURES, figure


@pytest.mark.slow
@pytest.mark.parametrize("name", ["samples-4", "contest-8"])
def test_a_figure_is_a_picture_and_its_numbers(name: str, osaka: Path, tmp_path: Path) -> None:
    picture, numbers = figure(name)(tmp_path, data=osaka, seed=1)
    assert "<svg" in picture.read_text()
    with numbers.open(newline="") as file:
        assert len(list(csv.reader(file))) == 38


def test_every_figure_can_be_found() -> None:
    for name in FIGURES:
        assert callable(figure(name))


def test_a_folder_without_traces_is_refused(osaka: Path, tmp_path: Path) -> None:
    (tmp_path / "info_region.csv").write_bytes((osaka / "info_region.csv").read_bytes())
    with pytest.raises(DataError, match="reftraces"):
        figure("contest-8")(tmp_path, data=tmp_path)
