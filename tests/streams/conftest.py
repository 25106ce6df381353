"""The command line, for tests that say which status they expect."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.border.command_line import tracearena


@pytest.fixture
def run() -> Callable[..., str]:
    """Run a command; return what it prints, or what it says where it ends with another status."""

    def command(*arguments: object, status: int = 0) -> str:
        done = tracearena(*arguments)
        assert done.status == status, done.err
        return done.err if status else done.out

    return command
