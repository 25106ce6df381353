"""Joining a Dask scheduler, or starting workers on this machine; and saying why it does not work."""

from __future__ import annotations

import logging
import re
import ssl
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tracearena.errors import ClusterError, ParameterError

MEMORY_SETTINGS = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
"""Dask has workers give memory back at once, and so fetch it anew for every array: 1.6 times the time."""
QUIET_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Workers beside us look at themselves less often: on the same cores it is the work that pays for it."""
LOOPBACK = "127.0.0.1"
TLS_FILES = {"ca-file": "CA_FILE", "client.cert": "CLIENT__CERT", "client.key": "CLIENT__KEY"}
"""The files that a client of a TLS cluster needs: Dask's settings, and how the environment names them."""
_CERTIFICATES = ("ca-file", "client.cert")
_ALLOWED = (
    "tcp://HOST:PORT of a Dask scheduler (ports go up to 65535), tls://HOST:PORT of one with TLS, or local:N "
    "for N worker processes on this machine"
)
_LAST_PORT = 65_535
_REFUSED_BY_US = ("certificate does not match", "certificate_verify_failed")
_ENDED_BY_THEM = ("alert", "(closed)", "reset by peer")


def joined(address: str, opened: ExitStack, timeout_s: float) -> Any:
    """Return a client of the scheduler, or of workers that are started here and end with `opened`."""
    local = require_address(address)
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "a cluster needs Dask: install it with pip install 'tracearena[cluster]'"
        ) from None
    _silence_dask()
    if local is not None:
        client = Client(opened.enter_context(_started(local)))
        client.register_plugin(_deaf_to_interrupts())
        return client
    if address.startswith("tls://"):
        _check_tls_files(address)
    try:
        return Client(address, timeout=timeout_s)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ClusterError(f"cannot join {address}: {_in_a_line(error)}") from None
    except (OSError, TimeoutError) as error:
        raise ClusterError(_why_not(address, _in_a_line(error))) from None


def require_address(address: str) -> int | None:
    """Refuse what is no address; return how many workers are to be started here, None if there are some."""
    local = re.fullmatch(r"local:([1-9]\d{0,3})", address)
    port = re.fullmatch(r"(?:tcp|tls|ucx)://[^/\s]+:(\d+)", address)
    if local is None and (port is None or not 0 < int(port[1]) <= _LAST_PORT):
        raise ParameterError.of("cluster", address, _ALLOWED)
    return None if local is None else int(local[1])


def _silence_dask() -> None:
    """Keep Dask's own lines from our users: what they say, our errors say."""
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)


def _check_tls_files(address: str) -> None:
    """Refuse settings that name no file, or one that is none of TLS, before Dask says less."""
    for setting, variable in TLS_FILES.items():
        named = _tls_file(setting)
        where = f"distributed.comm.tls.{setting} (DASK_DISTRIBUTED__COMM__TLS__{variable})"
        if named is None:
            raise ClusterError(f"cannot join {address}: name a file in Dask's setting {where}")
        if not Path(named).is_file():
            raise ClusterError(f"cannot join {address}: {named} is no file; Dask's setting {where} names it")
        if setting in _CERTIFICATES and not _holds_certificate(named):
            raise ClusterError(
                f"cannot join {address}: {named} holds no certificate (PEM); Dask's setting {where} names it"
            )


def _holds_certificate(file: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except (ssl.SSLError, OSError):
        return False
    return True


def _tls_file(setting: str) -> str | None:
    import dask

    named = dask.config.get(f"distributed.comm.tls.{setting}", None)
    return None if named is None else str(named)


def _why_not(address: str, said: str) -> str:
    """Say what keeps us out: certificates where they do, or that nobody answers."""
    if any(sign in said.lower() for sign in _REFUSED_BY_US):
        return f"the certificate of {address} is not signed by {_tls_file('ca-file')}: {said}"
    if address.startswith("tls://") and any(sign in said.lower() for sign in _ENDED_BY_THEM):
        return f"{address} does not accept our certificate {_tls_file('client.cert')}: {said}"
    if address.startswith("tcp://") and any(sign in said.lower() for sign in _ENDED_BY_THEM):
        return f"{address} ends the connection; if it speaks TLS, say tls://: {said}"
    return f"no Dask scheduler answers at {address}: {said}"


def _in_a_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _started(workers: int) -> Any:
    """Start a scheduler and workers to which nobody comes from another machine."""
    import dask
    from distributed import LocalCluster

    memory = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in MEMORY_SETTINGS.items()}
    with dask.config.set(memory | QUIET_SETTINGS):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=logging.CRITICAL,
        )


def _deaf_to_interrupts() -> Any:
    """Return a plug-in for workers beside us: Ctrl-C is for us, who may have to ask them for their rows."""
    import signal

    from distributed import WorkerPlugin

    class DeafToInterrupts(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return DeafToInterrupts()
