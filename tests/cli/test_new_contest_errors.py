"""``contest new`` refuses a contest that could not be held, before it makes anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

pytest.importorskip("django")


def test_a_contest_whose_anonymization_phase_is_over_is_not_made(tmp_path: Path) -> None:
    """Its judge would publish at once, and a phase that is over is not opened again."""
    done = tracearena(
        "contest", "new", "friday", "--teams", 2, "--users", 20, "--days", 4,
        "--begin", "2020-01-01T09:00+09:00", "--json", folder=tmp_path,
    )  # fmt: skip
    assert done.status == 2
    assert "the anonymization phase would already be over: it ends at 2020-01-08T" in done.err
    assert not list(tmp_path.iterdir())
