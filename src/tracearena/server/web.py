"""The web process: pages, API and uploads, in threads, by gunicorn.

It is given no key of the judge's: what it seals it cannot open.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication

from tracearena.server.lifeline import end_with_parent
from tracearena.server.settings import Address, configure
from tracearena.server.store import core_files
from tracearena.server.store.folder import Folder

THREADS = 32
# Neither queries nor headers: whatever a client puts there by mistake stays out of the log.
_LINE = '%(t)s %(h)s "%(m)s %(U)s" %(s)s %(B)s bytes %(L)s s'


class Web(BaseApplication):
    """One contest under gunicorn.

    Parameters
    ----------
    folder
        The contest.
    bind
        Address and port to listen on.
    address
        Where browsers reach it.
    threads
        Requests that are served at a time.
    """

    def __init__(self, folder: Folder, bind: str, address: Address, threads: int = THREADS) -> None:
        self._folder = folder
        self._bind = bind
        self._address = address
        self._threads = threads
        super().__init__()

    def load_config(self) -> None:
        """Tell gunicorn how to run."""
        options = {
            "bind": self._bind,
            "workers": 1,
            "worker_class": "tracearena.server.site.patience.PatientWorker",
            "threads": self._threads,
            "timeout": 60,
            "graceful_timeout": 30,
            "keepalive": 5,
            "accesslog": "-",
            "access_log_format": _LINE,
            "errorlog": "-",
            "loglevel": "warning",
            # Who is believed about forwarded headers is decided in one place, the middleware.
            "forwarded_allow_ips": "",
            "control_socket_disable": True,
        }
        for name, value in options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Return the application, in the process that serves it."""
        from django.core.wsgi import get_wsgi_application

        from tracearena.server.uploads.receiving import sweep

        configure(self._folder, self._address)
        sweep(self._folder)
        return get_wsgi_application()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tracearena.server.web", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bind", default="127.0.0.1:8000")
    parser.add_argument("--allowed-host", action="append", default=[])
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--trusted-proxy", action="append", default=[])
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--lifeline", action="store_true", help="end when standard input does")
    given = parser.parse_args(arguments)
    core_files.forbid()
    if given.lifeline:
        end_with_parent()
    address = Address(
        hosts=given.allowed_host, secure=given.secure, trusted_proxies=given.trusted_proxy
    )  # fmt: skip
    Web(Folder(given.folder), given.bind, address, given.threads).run()


if __name__ == "__main__":
    main()
