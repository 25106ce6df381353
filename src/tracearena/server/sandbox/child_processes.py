"""Children: freshly executed processes with limits, for work that may go wrong.

Nothing of the parent's memory, environment, open files or keys is in a child. It limits its memory,
processor time and files before it reads its request (`child_side`), and ends with all that it started
when its time is over.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from tracearena.contest.rules import Rules
from tracearena.errors import TracearenaError
from tracearena.server.sandbox.child_side import OUT_OF_MEMORY

Reason = Literal["memory", "cpu", "wall-clock", "signal", "exit"]

_PIPE_BYTES = 2**16
_KEPT_WORDS = 2_000
_LARGEST_ANSWER = 2**30
_PAUSE_S = 0.005
_NO_MEMORY = (b"memory allocation of", b"bad_alloc", b"out of memory", b"Cannot allocate memory")
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Limits:
    """What a child may use.

    Attributes
    ----------
    memory_mb
        Megabytes of 2^20 bytes.
    cpu_s, wall_s
        Seconds of processor time, and seconds from its start.
    """

    memory_mb: int
    cpu_s: int = 60
    wall_s: int = 180

    @classmethod
    def of(cls, rules: Rules) -> Limits:
        """Return limits that the largest file by the rules stays within."""
        return cls(512 + 12 * rules.largest_file_mb)


class ChildDied(TracearenaError):
    """A child ended without an answer.

    Attributes
    ----------
    reason
        The limit that it reached, or ``signal`` or ``exit``.
    said
        The end of what it said, for the judge's log; never for a team.
    """

    def __init__(self, reason: Reason, said: str = "") -> None:
        super().__init__(f"a child of the judge ended without an answer: {reason}")
        self.reason: Reason = reason
        self.said = said


def run_child(module: str, request: Iterable[bytes], *, limits: Limits) -> bytes:
    """Run a module as a child and return its answer, or raise `ChildDied`."""
    return run_command([sys.executable, "-I", "-m", module], request, limits=limits)


def run_command(command: Sequence[str], request: Iterable[bytes], *, limits: Limits) -> bytes:
    """Run a child by its command, to which the limits are added."""
    numbers = [str(limit) for limit in (limits.memory_mb, limits.cpu_s, limits.wall_s)]
    deadline = time.monotonic() + limits.wall_s
    with subprocess.Popen(
        [*command, *numbers],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        cwd="/",
        close_fds=True,
        start_new_session=True,
    ) as child:
        try:
            talk = _Talk(child, iter(request))
            in_time = talk.go_on_until(deadline) and _ends_before(child, deadline)
        finally:
            # Not yet waited for, so the number is still the child's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
    said = bytes(talk.said)
    if not in_time or child.returncode:
        reason = _reason(child.returncode, said) if in_time else talk.stopped
        raise ChildDied(reason, said.decode("utf-8", "replace"))
    return bytes(talk.answer)


class _Talk:
    """What goes to a child and comes from it, whatever the order."""

    def __init__(self, child: subprocess.Popen[bytes], request: Iterator[bytes]) -> None:
        self.answer, self.said = bytearray(), bytearray()
        self.stopped: Reason = "wall-clock"
        self._request, self._piece = request, memoryview(b"")
        self._stdin, self._stdout, self._stderr = (
            cast(IO[bytes], pipe) for pipe in (child.stdin, child.stdout, child.stderr)
        )
        self._ways = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
            writes = pipe is self._stdin
            self._ways.register(pipe, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)

    def go_on_until(self, deadline: float) -> bool:
        """Talk until the child has nothing more to say; False if it takes too long or says too much."""
        with self._ways:
            while self._ways.get_map():
                ready = self._ways.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    return False
                for key, _ in ready:
                    self._handle(key.fileobj)
                if len(self.answer) > _LARGEST_ANSWER:
                    self.stopped = "memory"
                    return False
        return True

    def _handle(self, pipe: Any) -> None:
        if pipe is self._stdin:
            self._write()
        elif pipe is self._stdout:
            self.answer += self._read(self._stdout)
        else:
            self.said += self._read(self._stderr)
            del self.said[:-_KEPT_WORDS]

    def _write(self) -> None:
        while not self._piece:
            following = next(self._request, None)
            if following is None:
                self._end(self._stdin)
                return
            self._piece = memoryview(following)
        try:
            sent = os.write(self._stdin.fileno(), self._piece[:_PIPE_BYTES])
        except BrokenPipeError:  # it has made up its mind, or is dead
            self._end(self._stdin)
            return
        self._piece = self._piece[sent:]

    def _read(self, pipe: IO[bytes]) -> bytes:
        piece = os.read(pipe.fileno(), _PIPE_BYTES)
        if not piece:
            self._end(pipe)
        return piece

    def _end(self, pipe: IO[bytes]) -> None:
        self._ways.unregister(pipe)
        pipe.close()


def _ends_before(child: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for the end of a child without taking its number back."""
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _reason(status: int, said: bytes) -> Reason:
    if status == OUT_OF_MEMORY or any(words in said for words in _NO_MEMORY):
        return "memory"
    if status == -signal.SIGXCPU:
        return "cpu"
    if status == -signal.SIGALRM:
        return "wall-clock"
    return "signal" if status < 0 else "exit"


def _environment() -> dict[str, str]:
    """Return a child's whole environment: one thread, and where compiled code is kept if not beside ours.

    Compiled code is never kept in a folder that others may write to: it is run.
    """
    place = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).resolve().parents[2]
    if place is None and not os.access(package, os.W_OK):
        place = str(Path.home() / ".cache" / "tracearena" / "numba")
    return _ONE_THREAD if place is None else _ONE_THREAD | {"NUMBA_CACHE_DIR": place}
