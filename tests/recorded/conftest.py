"""The files that transcripts start from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.recorded.files import make_files

from tracearena.traces import Traces


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, make_walks: Callable[..., Traces]) -> Path:
    """A folder that is copied for every transcript."""
    folder = tmp_path_factory.mktemp("prepared")
    make_files(folder, make_walks(users=12, days=4))
    return folder
