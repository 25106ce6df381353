"""The parent of a contest's processes: one web, some judges; what dies is started again.

The parent alone reads the judge's private key. It goes through a pipe to each judge and nowhere else:
not to the web process, not into an environment, not into a file.
"""

from __future__ import annotations

import http.client
import logging
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import IO

from tracearena.errors import DataError, ParameterError
from tracearena.server.settings import Address, is_loopback
from tracearena.server.store.folder import Folder, lock_for_serving

_POLL_S = 0.2
_START_S = 120.0
_END_TIMEOUT_S = 20.0
"""A process may take this long to end before it is killed."""
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.5, 30.0
_STEADY_S = 60.0
"""A process that lives this long has recovered, and is started again at once if it dies."""
_LONGEST_HOST = 24
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Where and how a contest is served.

    Parameters
    ----------
    host, port
        Where the web process listens.
    workers
        Number of judges.
    web_workers
        Number of processes that answer requests.
    address
        How browsers reach it.
    web
        Whether there is a web process; without one, other machines or users run it.
    tls
        Files of a certificate and its key, if the web process speaks HTTPS by itself.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    web_workers: int = 1
    address: Address = field(default_factory=Address)
    web: bool = True
    tls: tuple[Path, Path] | None = None

    def __post_init__(self) -> None:
        if self.tls is not None:
            _require_certificate(*self.tls)
        if self.web and not is_loopback(self.host):
            is_secure = self.address.secure or self.tls is not None
            needed = {"--allowed-host": self.address.hosts, "--certificate and --key": is_secure}
            missing = [option for option, given in needed.items() if not given]
            if missing:
                raise ParameterError(
                    f"--host {self.host}: other machines can reach this address, so it also needs "
                    f"{' and '.join(missing)}: the names that browsers use, and HTTPS (--secure if a proxy "
                    "in front provides it), without which passwords and traces would cross the network "
                    "unencrypted"
                )

    @property
    def url(self) -> str:
        """Where the first page is, seen from this machine."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{name}:{self.port}/"


def _require_certificate(certificate: Path, key: Path) -> None:
    """Refuse files that are no certificate with its key, before a process is started that would not start."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise ParameterError(
            f"--certificate {certificate} --key {key}: {error.strerror or error}; give a certificate "
            "and its key without a passphrase, both in PEM"
        ) from None


def run_processes(
    folder: Folder,
    key: bytes | None,
    serving: ServerOptions,
    *,
    ready: Callable[[str], None] = print,
    log: IO[bytes] | None = None,
) -> None:
    """Run web and judges until SIGTERM or SIGINT comes.

    Parameters
    ----------
    folder
        The contest.
    key
        The judge's private key; None where there are no judges.
    serving
        Where and how.
    ready
        Called with the address when the first page answers.
    log
        Where the processes write what they say; where this one does if left out.
    """
    # Both halves at once are a whole server, of which there is one; single halves may be added to it.
    is_whole = serving.web and key is not None
    with lock_for_serving(folder, first=is_whole) as lock, stop_on_signal() as stop:
        if serving.web:
            require_free_port(serving)
        _supervise(_build_processes(folder, key, serving, lock, log), serving, stop, ready)


@contextmanager
def serve_in_background(
    folder: Folder, key: bytes, serving: ServerOptions, *, log: IO[bytes] | None = None
) -> Iterator[str]:
    """Run web and judges while the block runs, and give the address of the first page when it answers.

    What they say goes to a log, or where this process's own words go.
    """
    require_free_port(serving)
    stop, is_ready = threading.Event(), threading.Event()
    with lock_for_serving(folder) as lock:
        children = _build_processes(folder, key, serving, lock, log)
        work = threading.Thread(
            target=_supervise, args=(children, serving, stop, lambda url: is_ready.set()), daemon=True
        )
        work.start()
        try:
            if not is_ready.wait(_START_S):
                raise DataError(f"{serving.url} did not answer within {_START_S:.0f} s")
            yield serving.url.rstrip("/")
        finally:
            stop.set()
            work.join()


def _supervise(
    children: Sequence[_ServerProcess],
    serving: ServerOptions,
    stop: threading.Event,
    ready: Callable[[str], None],
) -> None:
    """Keep the processes running until a signal to stop, then end them."""
    is_ready = not serving.web
    try:
        while not stop.is_set():
            for child in children:
                child.keep_running()
            if not is_ready and _is_answering(serving):
                is_ready = True
                ready(serving.url)
            stop.wait(_POLL_S)
    finally:
        deadline = time.monotonic() + _END_TIMEOUT_S
        for child in children:
            child.ask_to_end()
        for child in children:
            child.wait(max(deadline - time.monotonic(), 0.1))


def _build_processes(
    folder: Folder, key: bytes | None, serving: ServerOptions, lock: int, log: IO[bytes] | None = None
) -> list[_ServerProcess]:
    commands = _build_commands(folder, key, serving)
    return [_ServerProcess(name, command, secret, lock, log) for name, command, secret in commands]


def _build_commands(
    folder: Folder, key: bytes | None, serving: ServerOptions
) -> Iterator[tuple[str, list[str], bytes | None]]:
    place, address = str(folder.path.absolute()), serving.address
    # -P: nothing in the folder where the command was typed is taken for a module.
    python = [sys.executable, "-P", "-m"]
    if serving.web:
        listening = f"[{serving.host}]" if ":" in serving.host else serving.host
        command = [*python, "tracearena.server.processes.web_process", place, "--lifeline"]
        command += ["--bind", f"{listening}:{serving.port}", "--workers", str(serving.web_workers)]
        for option, values in (
            ("--allowed-host", address.hosts),
            ("--trusted-proxy", address.trusted_proxies),
        ):
            command += [word for value in values for word in (option, value)]
        if serving.tls is not None:
            command += ["--certificate", str(serving.tls[0]), "--key", str(serving.tls[1])]
        yield "web", [*command, *(["--secure"] if address.secure else [])], None
    if key is not None:
        own = make_process_name()
        for number in range(1, serving.workers + 1):
            name = f"judge {number} {own}"
            yield (
                name,
                [*python, "tracearena.server.processes.judge_process", place, "--lifeline", "--name", name],
                key,
            )


def make_process_name() -> str:
    """Return a name that no other process has, on whatever machine: host, process and four drawn letters.

    Containers may share both host name and process number.
    """
    return f"{socket.gethostname()[:_LONGEST_HOST]}-{os.getpid()}-{secrets.token_hex(2)}"


class _ServerProcess:
    """One process that is to run as long as the parent does."""

    def __init__(
        self, name: str, command: Sequence[str], secret: bytes | None, lock: int, log: IO[bytes] | None
    ) -> None:
        self.name, self._command, self._secret, self._log = name, list(command), secret, log
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None
        self._started, self._not_before, self._delay = 0.0, 0.0, _FIRST_DELAY_S

    def keep_running(self) -> None:
        """Start it if it does not run, the later the more often it died recently."""
        now = time.monotonic()
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return
            if now - self._started >= _STEADY_S:
                self._delay = _FIRST_DELAY_S
            _logger.warning("%s ended with %d; started again in %.1f s", self.name, status, self._delay)
            self._drop_process()
            self._not_before = now + self._delay
            self._delay = min(2 * self._delay, _LONGEST_DELAY_S)
        if now >= self._not_before:
            self._started = time.monotonic()
            # A session of its own: Ctrl-C in the terminal reaches the parent, which ends all in order.
            # The pipe stays open as its lifeline. It has the lock as well: nobody moves the contest
            # while it still works, though its parent may have been killed.
            self._process = subprocess.Popen(
                self._command, bufsize=0, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log,
                start_new_session=True, pass_fds=[self._lock],
            )  # fmt: skip
            if self._secret is not None and self._process.stdin is not None:
                with suppress(BrokenPipeError):
                    self._process.stdin.write(self._secret.hex().encode() + b"\n")

    def _drop_process(self) -> None:
        """Close the lifeline of a process that has ended."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None

    def ask_to_end(self) -> None:
        """Send SIGTERM, if it runs."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    def wait(self, seconds: float) -> None:
        """Wait for its end, and kill it if it takes longer."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            _logger.warning("%s did not end in %.0f s and is killed", self.name, _END_TIMEOUT_S)
            self._process.kill()
            self._process.wait()
        self._drop_process()


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def find_free_port() -> int:
    """Return a port of this machine that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def require_free_port(serving: ServerOptions) -> None:
    """Refuse a port that somebody listens on, before anything is started."""
    try:
        found = socket.getaddrinfo(serving.host, serving.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(found[0], found[1]) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(found[4])
    except OSError as error:
        raise ParameterError(
            f"--host {serving.host} --port {serving.port}: cannot listen there: {error.strerror or error}"
        ) from None


def _is_answering(serving: ServerOptions) -> bool:
    """Whether the web answers and has its database."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    place = everywhere.get(serving.host, serving.host)
    if serving.tls is None:
        connection = http.client.HTTPConnection(place, serving.port, timeout=_END_TIMEOUT_S)
    else:
        # It is this machine that is asked: whose name the certificate has does not matter.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(place, serving.port, timeout=_END_TIMEOUT_S, context=context)
    try:
        connection.request("GET", "/health", headers={"Host": "localhost"})
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def open_log_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a pipe for other processes; each line that comes through it is added to the file.

    What this process logs goes there too. The file may be renamed at any time, as logrotate does: the next
    line goes to a new one.
    """
    handler = WatchedFileHandler(path, encoding="utf-8", errors="backslashreplace")
    root = logging.getLogger()
    before, root.handlers = root.handlers, [handler]
    reading, writing = os.pipe()
    copying = threading.Thread(target=_copy_lines, args=(reading, handler), daemon=True)
    copying.start()
    try:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            yield pipe
        # A process that outlives its parent for a moment may hold the other end.
        copying.join(5.0)
    finally:
        root.handlers = before
        handler.close()


def _copy_lines(reading: int, handler: logging.Handler) -> None:
    with os.fdopen(reading, encoding="utf-8", errors="backslashreplace") as lines:
        for line in lines:
            handler.handle(logging.LogRecord("", logging.INFO, "", 0, line.rstrip("\n"), None, None))
