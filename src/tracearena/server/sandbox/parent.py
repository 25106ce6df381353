"""Children: processes with limits and without rights, for work that may go wrong.

A child is forked from a process that has never held a secret (`fork_server`), so nothing of the judge's
memory, environment, open files or keys is in it. It gives up its rights before it reads its request
(`messages.answer_request`), and is killed when its time is over.
"""

from __future__ import annotations

import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from tracearena.contest.board import Target
from tracearena.contest.rules import Rules
from tracearena.errors import DataError, TracearenaError
from tracearena.server.sandbox.attack_child import pack_attack_request
from tracearena.server.sandbox.messages import (
    KILL,
    LONGEST_MESSAGE,
    OUT_OF_MEMORY,
    Frame,
    Kind,
    UploadArrays,
    Verdict,
    escape_file_name,
    frame_message,
    pack,
    read_message,
    truth_from_parts,
    truth_to_parts,
    unpack,
    unpack_values,
)
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

Reason = Literal["memory", "cpu", "wall-clock", "threads", "signal", "exit"]

_PIPE_BYTES = 2**16
_LONGEST_STDERR = 2_000
_COMMAND = (sys.executable, "-I", "-m", "tracearena.server.sandbox.fork_server")
_NO_MEMORY = (b"memory allocation of", b"bad_alloc", b"out of memory", b"Cannot allocate memory")
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Limits:
    """What a child may use.

    Attributes
    ----------
    memory_mb
        Megabytes of 2^20 bytes.
    cpu_s, wall_s
        Seconds of processor time, and seconds from its start on.
    """

    memory_mb: int
    cpu_s: int = 60
    wall_s: int = 180

    @classmethod
    def of(cls, rules: Rules) -> Limits:
        """Return limits that the largest file by the rules stays within."""
        return cls(512 + 12 * rules.largest_file_mb)

    @classmethod
    def of_attacks(cls) -> Limits:
        """Return limits of the judge's own attacks: most of the machine's memory, and two hours."""
        machine_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
        hours_s = 2 * 3600
        return cls(machine_mb * 3 // 4, cpu_s=hours_s * (os.cpu_count() or 1), wall_s=hours_s)


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


@dataclass(frozen=True)
class Usage:
    """What a child used: seconds of processor time, and megabytes at its largest."""

    cpu_s: float
    rss_mb: float


class ForkServer:
    """Children of one process that is started when the first is wanted, and ends with this one.

    Parameters
    ----------
    command
        The program that calls `fork_server.serve`.
    most_bytes
        Of an answer; a child that says more is ended.

    Attributes
    ----------
    usage
        What the last child used.
    """

    def __init__(self, command: Sequence[str] = _COMMAND, *, most_bytes: int = 2**30) -> None:
        self.most_bytes = most_bytes
        self.usage = Usage(0.0, 0.0)
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._turn = threading.Lock()

    def run(self, work: str, request: Iterable[bytes], *about: str, limits: Limits) -> bytes:
        """Let a child do a kind of work on a request and return its answer, or raise `ChildDied`.

        What the work is about, other than the request, is made ready before the child is there.
        """
        with self._turn:
            talk = _PipeExchange(self._request_child([work, *about], limits), iter(request))
            try:
                is_whole = talk.run(self.most_bytes)
            except BaseException:  # of the request: what it should hold cannot be read
                self._end_child()
                raise
            ended = self._wait_for_end() if is_whole else self._end_child()
        said = bytes(talk.said)
        if not is_whole or ended["status"]:
            reason = _find_reason(ended, said) if is_whole else "memory"
            raise ChildDied(reason, said.decode("utf-8", "replace"))
        return bytes(talk.answer)

    def close(self) -> None:
        """End the server, and its child if there is one."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait()
        self._control = self._process = None

    def _request_child(self, work: list[str], limits: Limits) -> tuple[int, int, int]:
        """Ask for a child, and return our ends of the pipes to and from it."""
        control = self._control or self._start()
        request, answer, said = os.pipe(), os.pipe(), os.pipe()
        theirs = [request[0], answer[1], said[1]]
        try:
            socket.send_fds(control, [json.dumps({"work": work, **asdict(limits)}).encode()], theirs)
        except OSError:
            for pipe in (request[1], answer[0], said[0]):
                os.close(pipe)
            self._fail_dead_server()
        finally:
            for pipe in theirs:
                os.close(pipe)
        return request[1], answer[0], said[0]

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                self._command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL,
                env=_build_environment(), cwd="/",
                start_new_session=True,
            )  # fmt: skip
        self._control = ours
        return ours

    def _wait_for_end(self) -> dict[str, Any]:
        """Wait for the child's end and return how it ended."""
        message = b""
        if self._control is not None:
            with suppress(OSError):
                message = self._control.recv(LONGEST_MESSAGE)
        if not message:
            self._fail_dead_server()
        ended: dict[str, Any] = json.loads(message)
        self.usage = Usage(ended["cpu_s"], ended["rss_mb"])
        return ended

    def _end_child(self) -> dict[str, Any]:
        if self._control is not None:
            with suppress(OSError):
                self._control.send(KILL)
        return self._wait_for_end()

    def _fail_dead_server(self) -> NoReturn:
        """Forget a server that has died, and its child with it; the next request starts another."""
        self.close()
        raise ChildDied("exit", "the process that children are forked from has ended")


class _PipeExchange:
    """What goes to a child and comes from it, whatever the order."""

    def __init__(self, pipes: Sequence[int], request: Iterator[bytes]) -> None:
        self.answer, self.said = bytearray(), bytearray()
        self._request, self._piece = request, memoryview(b"")
        self._stdin, self._stdout, self._stderr = pipes
        self._ways = selectors.DefaultSelector()
        for pipe in pipes:
            os.set_blocking(pipe, False)
            writes = pipe == self._stdin
            self._ways.register(pipe, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)

    def run(self, most_bytes: int) -> bool:
        """Talk until the child has nothing more to say, or has ended; False if it says too much.

        A child that takes too long is ended by its parent.
        """
        try:
            while self._ways.get_map():
                for key, _ in self._ways.select():
                    if key.fd == self._stdin:
                        self._write()
                    elif key.fd == self._stdout:
                        self.answer += self._read(key.fd)
                    else:
                        self.said += self._read(key.fd)
                        del self.said[:-_LONGEST_STDERR]
                if len(self.answer) > most_bytes:
                    return False
        finally:
            for key in list(self._ways.get_map().values()):
                self._end(key.fd)
            self._ways.close()
        return True

    def _write(self) -> None:
        while not self._piece:
            following = next(self._request, None)
            if following is None:
                self._end(self._stdin)
                return
            self._piece = memoryview(following)
        try:
            sent = os.write(self._stdin, self._piece[:_PIPE_BYTES])
        except BrokenPipeError:  # it has made up its mind, or is dead
            self._end(self._stdin)
            return
        self._piece = self._piece[sent:]

    def _read(self, pipe: int) -> bytes:
        piece = os.read(pipe, _PIPE_BYTES)
        if not piece:
            self._end(pipe)
        return piece

    def _end(self, pipe: int) -> None:
        self._ways.unregister(pipe)
        os.close(pipe)


def _find_reason(ended: dict[str, Any], said: bytes) -> Reason:
    status = ended["status"]
    if not ended["in_time"]:
        return "wall-clock"
    if ended["crowded"]:
        return "threads"
    if status == OUT_OF_MEMORY or any(words in said for words in _NO_MEMORY):
        return "memory"
    if status == -signal.SIGXCPU:
        return "cpu"
    return "signal" if status < 0 else "exit"


def _build_environment() -> dict[str, str]:
    """Return the children's whole environment: one thread, and where compiled code lies if not next to ours.

    Compiled code is never kept in a folder that others may write to: it is run.
    """
    place = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).resolve().parents[2]
    if place is None and not os.access(package, os.W_OK):
        place = str(Path.home() / ".cache" / "tracearena" / "numba")
    return _ONE_THREAD if place is None else _ONE_THREAD | {"NUMBA_CACHE_DIR": place}


# What the judge has children do.


__all__ = [
    "FORK_SERVER",
    "ChildDied",
    "Frame",
    "Limits",
    "UploadArrays",
    "Verdict",
    "check_upload",
    "run_attacks",
    "score_upload",
]

FORK_SERVER = ForkServer()


def check_upload(
    data: Iterable[bytes] | bytes,
    frame: Frame,
    kind: Kind,
    rules: Rules,
    *,
    file_name: str,
    limits: Limits | None = None,
) -> UploadArrays | Verdict:
    """Check an upload in a child, by the one checker.

    Parameters
    ----------
    data
        The bytes of the file, or pieces of them.
    frame
        What it is held against.
    file_name
        The uploader's, to be shown.
    limits
        Of the child; by default `Limits.of` the rules.

    Raises
    ------
    ChildDied
        If the child does not survive the file. After some tries `Verdict.too_costly` is the answer.
    """
    values, arrays = frame.to_parts()
    asked = {
        "kind": kind,
        "file_name": escape_file_name(file_name),
        "max_bytes": rules.largest_file_mb * 2**20,
        "max_listed_ids": rules.largest_listed_ids,
    }
    head = frame_message(pack(values | {"check": asked}, arrays))
    pieces = [data] if isinstance(data, bytes) else data
    answer = FORK_SERVER.run("check", chain([head], pieces), limits=limits or Limits.of(rules))
    try:
        said = unpack_values(answer)
        if "verdict" in said:
            return Verdict.from_dict(said["verdict"])
        checked = UploadArrays.from_bytes(answer)
        if checked.kind != kind:
            raise DataError(f"the child answers {checked.kind}")
        return checked
    except (DataError, TypeError) as error:
        raise ChildDied("exit", str(error)) from None


def score_upload(
    checked: UploadArrays,
    truth: Traces | IdTable,
    rules: Rules,
    among: Any = None,
    *,
    limits: Limits | None = None,
) -> float:
    """Score a checked upload in a child, by the one scorer.

    Parameters
    ----------
    truth
        The original traces; for an inferred ID table, the ID table.
    among
        Ids of the users who count; by default all.
    """
    values, arrays = truth_to_parts(truth)
    if among is not None:
        arrays = arrays | {"among": np.asarray(among)}
    request = frame_message(pack(values | {"rules": rules.to_dict()}, arrays)) + frame_message(checked.arrays)
    answer = FORK_SERVER.run("score", [request], limits=limits or Limits.of(rules))
    try:
        value = unpack_values(answer).get("value")
    except DataError as error:
        raise ChildDied("exit", str(error)) from None
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ChildDied("exit", f"the score is {value!r}")
    return float(value)


def run_attacks(
    names: Sequence[str],
    reference: Traces,
    released: ObfuscatedTraces,
    *,
    options: Mapping[str, Any],
    seed: int,
    target: Target,
    limits: Limits | None = None,
) -> list[Traces | IdTable]:
    """Run attacks in a child and return their answers, in the order of the names.

    Parameters
    ----------
    options
        Settings of the attacks.
    seed, target
        What the attacks draw from: the seed of the contest, team and number of the data set.
    """
    settings = {"names": names, "options": dict(options), "seed": seed, "target": target}
    request = pack_attack_request(reference, released, **settings)
    # In a server of its own: what attacks load would make every child that checks an upload larger.
    with closing(ForkServer()) as server:
        answer = io.BytesIO(server.run("attack", [request], *names, limits=limits or Limits.of_attacks()))
    try:
        return [truth_from_parts(*unpack(read_message(answer))) for _ in names]
    except DataError as error:
        raise ChildDied("exit", str(error)) from None
