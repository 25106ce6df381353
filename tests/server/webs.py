"""Web processes for tests, forked from one that has imported all that a web process imports."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracearena.server.settings import configure
from tracearena.server.store.folder import Folder, Secrets


def _import_all() -> None:
    """Import what the web does; it turns to its contest when it is forked."""
    from django.conf import settings

    if not settings.configured:
        with tempfile.TemporaryDirectory() as place:
            nowhere = Folder(Path(place))
            nowhere.write_secrets(Secrets("only for imports", 64 * "0"))
            configure(nowhere)
    import tracearena.server.processes.web_process
    import tracearena.server.processes.wsgi  # noqa: F401


_import_all()
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["__main__", __name__])


def _shorten_waits(times: int) -> None:
    """Let this web process wait this many times shorter for slow clients."""
    from tracearena.server.processes import web_process, wsgi

    web_process.HEADER_S //= times
    wsgi.SEND_S //= times
    wsgi.GRACE_S /= times


def _serve(arguments: Sequence[str], log: Path, environment: Mapping[str, str], times: int) -> None:
    from tracearena.server.processes.web_process import run_web

    os.setsid()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    _shorten_waits(times)
    run_web(arguments)


class Web:
    """A process that runs `processes.web_process`, in a session of its own; it is used as `Popen` is.

    Parameters
    ----------
    arguments
        Folder and options.
    log
        Where all that it says is added.
    times
        How many times shorter than others it waits for those who are slow.
    """

    def __init__(self, arguments: Sequence[str], log: Path, times: int = 1) -> None:
        given = (arguments, log, dict(os.environ), times)
        self._process = _FORKING.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """How it has ended."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return how it has ended, None while it runs."""
        return self._process.exitcode

    def terminate(self) -> None:
        """Tell it to end."""
        self._process.terminate()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("web", timeout or 0)
        return self._process.exitcode
