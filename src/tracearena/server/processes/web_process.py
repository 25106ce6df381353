"""The web process: pages, API and uploads, by gunicorn.

It is given no key of the judge's: what it seals it cannot open.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication

from tracearena.server.processes.wsgi import (
    HEADER_S,
    MOST_CONNECTIONS,
    LimitingGeventWorker,
    make_tls_context,
)
from tracearena.server.sandbox import confinement
from tracearena.server.sandbox.confinement import exit_with_parent
from tracearena.server.settings import Address, configure
from tracearena.server.store.folder import Folder

# Neither queries nor headers: whatever a client puts there by mistake stays out of the log.
_ACCESS_LOG_FORMAT = '%(t)s %(h)s "%(m)s %(U)s" %(s)s %(B)s bytes %(L)s s'

_M_ARENA_MAX = -8
"""Of glibc's malloc.h."""


class WebApplication(BaseApplication):
    """One contest under gunicorn.

    Parameters
    ----------
    folder
        The contest.
    bind
        Address and port to listen on.
    address
        Where browsers reach it.
    workers
        Number of processes.
    tls
        Files of a certificate and its key, if the server speaks HTTPS by itself.
    """

    def __init__(
        self,
        folder: Folder,
        bind: str,
        address: Address,
        workers: int = 1,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        self._folder = folder
        self._tls = tls
        self._bind = bind
        self._address = address
        self._workers = workers
        self.trusted_proxies = address.trusted_proxies
        super().__init__()

    def load_config(self) -> None:
        """Tell gunicorn how to run."""
        options: dict[str, Any] = {
            "bind": self._bind,
            "workers": self._workers,
            "worker_class": LimitingGeventWorker,
            "worker_connections": MOST_CONNECTIONS,
            "timeout": 60,
            "graceful_timeout": 15,
            "keepalive": HEADER_S,
            "limit_request_fields": 50,
            "accesslog": "-",
            "access_log_format": _ACCESS_LOG_FORMAT,
            "errorlog": "-",
            "loglevel": "warning",
            # Who is believed about forwarded headers is decided in one place, the middleware.
            "forwarded_allow_ips": "",
            "control_socket_disable": True,
        }
        if self._tls is not None:
            certificate, key = self._tls
            options |= {"certfile": str(certificate), "keyfile": str(key)}
            options["ssl_context"] = lambda config, default: make_tls_context(certificate, key)
        for name, value in options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Return the application, in the process that serves it."""
        from django.core.wsgi import get_wsgi_application

        configure(self._folder, self._address)
        application = get_wsgi_application()
        from tracearena.server.processes.wsgi import ThreadPoolApplication
        from tracearena.server.uploads import remove_stale_uploads

        remove_stale_uploads(self._folder)
        return ThreadPoolApplication(application, self._workers)


def run_web(arguments: Sequence[str] | None = None) -> None:
    """Serve until a signal to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m tracearena.server.processes.web_process", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bind", default="127.0.0.1:8000")
    parser.add_argument("--allowed-host", action="append", default=[])
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--trusted-proxy", action="append", default=[])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--key", type=Path)
    parser.add_argument("--lifeline", action="store_true", help="end when standard input does")
    given = parser.parse_args(arguments)
    confinement.hide_process_memory()
    # Let this process have as many files open as it may have connections, where the system allows it.
    wanted = 2 * MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))
    # Let threads share what others have freed; by default glibc keeps it for each thread apart.
    with suppress(AttributeError):  # another C library has no such setting
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
    if given.lifeline:
        exit_with_parent()
    tls = None if given.certificate is None else (given.certificate, given.key)
    address = Address(
        hosts=given.allowed_host,
        secure=given.secure or tls is not None,
        trusted_proxies=given.trusted_proxy,
    )
    WebApplication(Folder(given.folder), given.bind, address, given.workers, tls).run()


if __name__ == "__main__":
    run_web()
