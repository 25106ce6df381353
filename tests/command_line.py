"""Run ``tracearena`` in this process, as a user would meet it."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tracearena.cli import main


class Done(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


def tracearena(*arguments: object, folder: Path | None = None) -> Done:
    """Run a command, in a folder or in the current one; an error that is not the caller's is raised."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    before = set(sys.modules)
    with (
        contextlib.chdir(folder or Path()),
        mock.patch.object(sys, "argv", ["tracearena", *map(str, arguments)]),
        mock.patch.object(sys, "path", list(sys.path)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as leave:
            status = int(leave.code or 0)
        _forget_modules_of(Path.cwd(), sys.modules.keys() - before)
    return Done(status, out.getvalue(), err.getvalue())


def _forget_modules_of(folder: Path, imported: Iterable[str]) -> None:
    """Let the next command import a user's own algorithms again, as a new process would."""
    for name in imported:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).parent == folder:
            del sys.modules[name]
