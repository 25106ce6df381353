"""Lets tests and doctests of the server's modules be imported: Django wants to be configured first."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tracearena.server.settings import configure
from tracearena.server.store.folder import Folder, Secrets


def pytest_configure() -> None:
    """Point Django to a contest that does not exist; tests turn to contests of their own."""
    with tempfile.TemporaryDirectory() as place:
        nowhere = Folder(Path(place))
        nowhere.write_secrets(Secrets("only for imports", 64 * "0"))
        configure(nowhere)
