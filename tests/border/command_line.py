"""Run ``tracearena`` in this process, as a user would meet it."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

from tracearena.cli import main


@dataclass(frozen=True)
class Done:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


def tracearena(*arguments: object) -> Done:
    """Run a command; an error that is not the caller's is raised."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["tracearena", *map(str, arguments)]),
        mock.patch.object(sys, "path", list(sys.path)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as leave:
            status = int(leave.code or 0)
    return Done(status, out.getvalue(), err.getvalue())
