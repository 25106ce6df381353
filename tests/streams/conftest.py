"""The command line, for tests that say which status they expect."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.border.command_line import tracearena

from tracearena.cli import _streams
from tracearena.streams import event_tables, portions, releases, walking


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stream every table, a few thousand points or a few hundred events at a time."""
    monkeypatch.setattr(_streams, "STREAMED_FROM", 1)
    for made in (portions.table_of, portions.shuffled, walking.walk_together):
        monkeypatch.setattr(made, "__kwdefaults__", {**made.__kwdefaults__, "portion": 20_000})
    for looked_at in (event_tables.event_table_of, releases.release_table_of):
        small = {**looked_at.__kwdefaults__, "portion": 700, "chunk": 999}
        monkeypatch.setattr(looked_at, "__kwdefaults__", small)


@pytest.fixture
def small_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shuffle a few hundred events at a time."""
    small = {**portions.shuffled.__kwdefaults__, "portion": 700}
    monkeypatch.setattr(portions.shuffled, "__kwdefaults__", small)


@pytest.fixture
def run() -> Callable[..., str]:
    """Run a command; return what it prints, or what it says where it ends with another status."""

    def command(*arguments: object, status: int = 0) -> str:
        done = tracearena(*arguments)
        assert done.status == status, done.err
        return done.err if status else done.out

    return command
