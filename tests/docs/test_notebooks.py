"""The notebooks run from the first cell to the last, and are kept without what they printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return a notebook, or skip where there is nothing to read it with."""
    return pytest.importorskip("nbformat").read(path, as_version=4)


def test_there_is_one_for_each_reader() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["data_owner", "researcher", "team", "trackintel_user"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_no_outputs(path: Path) -> None:
    for cell in read(path).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path, tmp_path: Path) -> None:
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    if path.stem == "trackintel_user":
        pytest.importorskip("trackintel")
        pytest.importorskip("folium")
    notebook = read(path)
    client.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = [set(output.get("data", {})) for output in outputs]
    assert sum("image/png" in kind for kind in kinds) >= (1 if path.stem == "trackintel_user" else 3)
    assert sum("text/html" in kind for kind in kinds) >= 3
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and ".plot(" in cell.source]
    assert all("image/png" in cell.outputs[-1].data for cell in shown)
