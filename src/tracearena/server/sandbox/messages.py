"""What goes to and from a child, and the inside of a child.

An upload becomes arrays, or a verdict that says why it is refused. Arrays and a few plain values travel as
bytes, never as a pickle. A child gives its rights up before it reads a byte, and answers once.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.contest.submissions import escape_unprintable
from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.server.sandbox import confinement
from tracearena.traces import Clock, Grid, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces._arrays import to_id_array
from tracearena.traces.row_table import EventTable

Kind = Literal["obfuscated", "inferred-table", "inferred-traces"]

KINDS: tuple[Kind, ...] = ("obfuscated", "inferred-table", "inferred-traces")
_LONGEST_REASON = 20_000
_LONGEST_TEXT_FIELD = 2_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class UploadArrays:
    """An upload that follows the rules of its file, as packed arrays: they can be stored or passed on.

    What is unpacked is looked at again, since the arrays come from a process that read hostile bytes.
    """

    kind: Kind
    arrays: bytes = field(repr=False)

    @classmethod
    def of(cls, kind: Kind, arrays: Arrays) -> Self:
        """Pack the arrays of a file."""
        return cls(kind, pack({"kind": kind}, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return what `arrays` holds, with its kind."""
        kind = unpack_values(data).get("kind")
        if kind not in KINDS:
            raise DataError("these are not the arrays of an upload")
        return cls(kind, data)

    def to_obfuscated(self, original: Traces) -> ObfuscatedTraces:
        """Return the obfuscated traces, on the events of the original or of its frame."""
        arrays = self._unpack_arrays("obfuscated", ("codes", "offsets", "members"))
        sets = PlaceSets(arrays["offsets"], arrays["members"])
        return ObfuscatedTraces.like(original, arrays["codes"], sets)

    def to_id_table(self, pseudonyms: Any) -> IdTable:
        """Return the guess at who is who."""
        return IdTable(pseudonyms, self._unpack_arrays("inferred-table", ("users",))["users"])

    def to_traces(self, frame: Frame) -> Traces:
        """Return the guess at who was where."""
        cells = self._unpack_arrays("inferred-traces", ("cells",))["cells"]
        if cells.shape != (len(frame.users) * frame.n_instants,) or (cells < 0).any():
            raise DataError("inferred traces must have one place for each event of the frame")
        return frame.fill(cells)

    def _unpack_arrays(self, kind: Kind, names: tuple[str, ...]) -> Arrays:
        _, arrays = unpack(self.arrays)
        if self.kind != kind or tuple(arrays) != names:
            raise DataError(f"this upload is {self.kind}, not {kind}")
        return arrays


@dataclass(frozen=True)
class Verdict:
    """Why an upload is refused: what ``tracearena check`` says of it.

    Attributes
    ----------
    code
        A fixed word, that of the first fault; ``too-costly`` for a file that no child survived.
    reason
        The same for people, with file name, rows and values; a line for each fault.
    faults
        The first faults, in file order.
    more
        How many others there are.
    """

    code: str
    reason: str
    faults: tuple[Fault, ...] = ()
    more: int = 0

    @classmethod
    def of(cls, error: FileError) -> Self:
        """Return the checker's error as a verdict."""
        code = error.faults[0].code if error.faults else "refused"
        return cls(code, str(error), tuple(error.faults), error.total - len(error.faults))

    @classmethod
    def too_costly(cls, file_name: str, reason: str) -> Self:
        """Return the verdict on a file that could not be read within the limits of a child."""
        problem = f"cannot be read within the judge's limits ({reason})"
        return cls.of(FileError.whole(escape_file_name(file_name), problem, "too-costly"))

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        faults = [fault.to_dict() for fault in self.faults]
        return {"code": self.code, "reason": self.reason, "faults": faults, "more": self.more}

    def to_store(self) -> dict[str, Any]:
        """Return the verdict as every database takes it: what does not show in a file is spelt out.

        >>> Verdict("not-a-number", "row 1", (Fault(1, "reg_id", "5\\0", "it must be one", "x"),)).to_store()[
        ...     "faults"
        ... ][0]["value"]
        '5\\\\x00'
        """
        said = self.to_dict()
        said["reason"] = "\n".join(map(escape_unprintable, self.reason.split("\n")))
        for fault in said["faults"]:
            for name in ("column", "value", "problem"):
                fault[name] = None if fault[name] is None else escape_unprintable(fault[name])
        return said

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the verdict of plain values; long texts are cut."""
        try:
            faults = tuple(_parse_fault(one) for one in values["faults"])
            reason, more = str(values["reason"])[:_LONGEST_REASON], int(values["more"])
            return cls(str(values["code"])[:_LONGEST_TEXT_FIELD], reason, faults, more)
        except (KeyError, TypeError, ValueError):
            raise DataError("this is not a verdict") from None


def escape_file_name(file_name: str) -> str:
    """Return the uploader's name of a file as text that disturbs no terminal and no page.

    >>> escape_file_name("../../secret\\x1b[2J.csv")
    'secret\\\\x1b[2J.csv'
    """
    last = file_name.replace("\\", "/").rpartition("/")[2]
    return escape_unprintable(last)[:_LONGEST_NAME] or "upload"


def _parse_fault(values: Mapping[str, Any]) -> Fault:
    row, column, value = values["row"], values["column"], values["value"]
    return Fault(
        None if row is None else int(row),
        None if column is None else str(column)[:_LONGEST_TEXT_FIELD],
        None if value is None else str(value)[:_LONGEST_TEXT_FIELD],
        str(values["problem"])[:_LONGEST_TEXT_FIELD],
        str(values["code"])[:_LONGEST_TEXT_FIELD],
    )


# What an upload is checked against, without a secret: users, instants and places.


_MOST_INSTANTS = 1_000_000
_MOST_CELLS = 2**30
_PLACE_ARRAYS = ("latitude", "longitude", "ids", "sensitive", "categories")


@dataclass(frozen=True)
class Frame:
    """Users and instants of traces without gaps, and the places; where everybody was is not in it.

    Attributes
    ----------
    users
        Ids of the users, ascending, as the rows of original traces are.
    first_instant, n_instants
        The instants of every user.
    pseudonyms
        What an inferred ID table must answer, ascending; None where nothing is released yet.
    """

    places: Places
    clock: Clock
    users: NDArray[Any]
    first_instant: int
    n_instants: int
    pseudonyms: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        require_whole("first_instant", self.first_instant, at_least=0, at_most=_MOST_INSTANTS)
        require_whole("n_instants", self.n_instants, at_least=1, at_most=_MOST_INSTANTS)
        object.__setattr__(self, "users", to_id_array(self.users, "users"))
        if self.pseudonyms is not None:
            object.__setattr__(self, "pseudonyms", to_id_array(self.pseudonyms, "pseudonyms"))
        if len(self.users) * self.n_instants > _MOST_CELLS:
            raise DataError(f"a frame of {len(self.users)} users × {self.n_instants} instants is too large")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, traces: EventTable, *, users: Any = None, pseudonyms: Any = None) -> Self:
        """Return the frame of traces.

        Parameters
        ----------
        users
            Whom an answer may name, where the traces are those of pseudonyms; by default their users.
        pseudonyms
            What an inferred ID table must answer.
        """
        named = traces.user_ids if users is None else users
        first, stop = traces.span
        return cls(traces.places, traces.clock, named, first, stop - first, pseudonyms)

    def traces(self) -> Traces:
        """Return traces of the users, in which everybody is at the first place all the time."""
        return self.fill(np.zeros(len(self.users) * self.n_instants, np.int32))

    def fill(self, cells: NDArray[np.int32]) -> Traces:
        """Return the traces whose places these are, user by user, -1 where there is no event."""
        dense = cells.reshape(len(self.users), self.n_instants)
        return Traces.from_dense(
            dense, self.places, self.clock, user_ids=self.users, first_instant=self.first_instant
        )

    def to_bytes(self) -> bytes:
        """Return the frame as bytes."""
        return pack(*self.to_parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the frame that `to_bytes` wrote, or raise `DataError`."""
        return cls.from_parts(*unpack(data))

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the frame as plain values and arrays, to be packed with others."""
        places, grid = self.places, self.places.grid
        clock = dataclasses.asdict(self.clock)
        clock["first_day"] = None if self.clock.first_day is None else self.clock.first_day.isoformat()
        values = {
            "clock": clock,
            "grid": None if grid is None else dataclasses.asdict(grid),
            "km_per_degree": places.km_per_degree,
            "first_instant": self.first_instant,
            "n_instants": self.n_instants,
        }
        arrays = {name: getattr(places, name) for name in _PLACE_ARRAYS} | {"users": self.users}
        arrays["pseudonyms"] = self.pseudonyms
        return values, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_parts(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the frame whose `parts` these are; others among them do not matter."""
        try:
            first_day = values["clock"]["first_day"]
            day = None if first_day is None else date.fromisoformat(first_day)
            clock = Clock(**{**values["clock"], "first_day": day})
            grid = None if values["grid"] is None else Grid(**values["grid"])
            named = {name: arrays.get(name) for name in _PLACE_ARRAYS[2:]}
            places = Places(
                arrays["latitude"],
                arrays["longitude"],
                **named,
                grid=grid,
                km_per_degree=values["km_per_degree"],
            )
            first, number = values["first_instant"], values["n_instants"]
            return cls(places, clock, arrays["users"], first, number, arrays.get("pseudonyms"))
        except (KeyError, TypeError, ValueError, IndexError, ParameterError) as error:
            raise DataError(f"this is not a frame: {error}") from None


def truth_to_parts(truth: Traces | IdTable) -> tuple[dict[str, Any], Arrays]:
    """Return what a score is computed from, as plain values and arrays."""
    if isinstance(truth, IdTable):
        return {}, {"pseudonyms": truth.pseudonyms, "table": truth.user_ids}
    values, arrays = Frame.of(truth).to_parts()
    return values, arrays | {"cells": truth.dense().ravel()}


def truth_from_parts(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Traces | IdTable:
    """Return the traces or the ID table whose `truth_to_parts` these are."""
    if "table" in arrays:
        return IdTable(arrays["pseudonyms"], arrays["table"])
    return Frame.from_parts(values, arrays).fill(arrays["cells"])


# Arrays and plain values as bytes.


Arrays = dict[str, NDArray[Any]]

_HEAD_LENGTH_BYTES = 4
_LONGEST_TEXT = 2**20
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(\|b1|<i4|<i8|<f8|<U[1-9][0-9]{0,4})', "
    rb"'fortran_order': False, 'shape': \(([0-9]{1,12}),\), \} *\n",
    re.DOTALL,
)
"""What stands at the beginning of a list of whole numbers, decimals, switches or short texts."""


def pack(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None) -> bytes:
    """Return values and arrays as bytes.

    >>> values, arrays = unpack(pack({"rows": 2}, {"codes": np.array([5, -1])}))
    >>> values["rows"], arrays["codes"].tolist()
    (2, [5, -1])
    """
    files = {name: _encode_array(array) for name, array in (arrays or {}).items()}
    listed = [[name, len(file)] for name, file in files.items()]
    text = json.dumps({"values": dict(values), "arrays": listed}).encode()
    return len(text).to_bytes(_HEAD_LENGTH_BYTES, "big") + text + b"".join(files.values())


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the values and arrays, or raise `DataError`."""
    values, listed, at = _parse_head(data)
    if at + sum(listed.values()) != len(data):
        raise DataError("packed arrays are truncated, or followed by other data")
    arrays: Arrays = {}
    for name, size in listed.items():
        arrays[name] = _decode_array(data[at : at + size])
        at += size
    return values, arrays


def unpack_values(data: bytes) -> dict[str, Any]:
    """Return the values alone, without looking at the arrays."""
    return _parse_head(data)[0]


def _parse_head(data: bytes) -> tuple[dict[str, Any], dict[str, int], int]:
    stop = _HEAD_LENGTH_BYTES + int.from_bytes(data[:_HEAD_LENGTH_BYTES], "big")
    if not _HEAD_LENGTH_BYTES < stop <= min(len(data), _HEAD_LENGTH_BYTES + _LONGEST_TEXT):
        raise DataError("these are not packed arrays")
    try:
        head = json.loads(data[_HEAD_LENGTH_BYTES:stop])
        values, listed = head["values"], {str(name): size for name, size in head["arrays"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError("the list of packed arrays cannot be read") from None
    if not isinstance(values, dict) or not all(type(n) is int and n >= 0 for n in listed.values()):
        raise DataError("the list of packed arrays is not valid")
    return values, listed, stop


def _encode_array(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _decode_array(data: bytes) -> NDArray[Any]:
    """Return the array of an ``.npy`` file, in memory of its own."""
    # NumPy's own reader evaluates the header, and makes room for whatever it claims.
    head = _HEADER.match(data)
    if head is None:
        raise DataError("a packed array has no header, or a type or shape that is not accepted")
    dtype, size = np.dtype(head[1].decode()), int(head[2])
    if size * dtype.itemsize != len(data) - head.end():
        raise DataError("a packed array is not as long as its header says")
    return np.frombuffer(data, dtype, count=size, offset=head.end()).copy()


# The inside of a child.


Work = Callable[[IO[bytes]], bytes]
"""What a child does: it reads a request and returns the answer."""

OUT_OF_MEMORY = 75
"""Exit status of a child that reached its memory limit."""

KILL = b"kill"
"""The message that ends a child before its time."""
LONGEST_MESSAGE = 4096

_MB = 2**20
_MESSAGE_LENGTH_BYTES = 8
_MORE_ADDRESSES_MB = 4096
_OPEN_FILES = 64
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


def answer_request(work: Work, pipes: Sequence[int], memory_mb: int, cpu_s: int) -> NoReturn:
    """Be a child that was just forked: give up all rights, do the work, answer, end.

    Parameters
    ----------
    pipes
        Descriptors for the request, the answer, and what is said besides.
    memory_mb, cpu_s
        Limits.
    """
    status = 1
    try:
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        answer = os.dup(1)
        os.dup2(2, 1)  # what a library prints is not part of the answer
        # Let the kernel kill this process when its parent ends, however that happens.
        if confinement.is_linux():
            parent = os.getppid()
            confinement.prctl(confinement.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent or parent == 1:
                os._exit(1)
        set_limits(memory_mb, cpu_s)
        drop_rights()
        with open(0, "rb", closefd=False) as request:
            result = work(request)
        with open(answer, "wb") as out:
            out.write(result)
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Nothing that the parent left to be done at its own end is done here.
        os._exit(status)


def set_limits(memory_mb: int, cpu_s: int) -> None:
    """Limit what this process may use, for good.

    Memory counts where it is really asked for; addresses alone, which compilers reserve, may be more.
    Nothing is left behind by a crash: a core file would hold the upload in clear.
    """
    limits = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_DATA: (memory_mb * _MB,) * 2,
        resource.RLIMIT_AS: ((memory_mb + _MORE_ADDRESSES_MB) * _MB,) * 2,
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES,) * 2,
    }
    for which, (soft, hard) in limits.items():
        most = resource.getrlimit(which)[1]
        cut = [value if most == resource.RLIM_INFINITY else min(value, most) for value in (soft, hard)]
        resource.setrlimit(which, (cut[0], cut[1]))


def drop_rights() -> None:
    """Let this process read code and nothing else, write and start nothing, and reach nobody.

    What the kernel lacks is left out; `describe_missing_guards` says what that is.
    """
    if confinement.is_linux():
        confinement.prctl(confinement.PR_SET_NO_NEW_PRIVS, 1)
    if confinement.find_landlock_version():
        confinement.allow_reading_only(map(Path, [*sys.path, *_LIBRARIES]))
    if confinement.can_limit_calls():
        confinement.allow_known_calls_only()


def describe_missing_guards() -> str:
    """Return in sentences what this machine's kernel lacks to guard against a child; empty if nothing."""
    found = []
    if not confinement.find_landlock_version():
        found.append("This kernel has no Landlock: code that breaks out of the checker could read files.")
    if not confinement.can_limit_calls():
        found.append(
            "Seccomp is missing for this kernel or architecture: code that breaks out of the checker could "
            "write files, start processes and use the network."
        )
    return " ".join(found)


def frame_message(packed: bytes) -> bytes:
    """Return packed values and arrays as `read_message` takes them."""
    return len(packed).to_bytes(_MESSAGE_LENGTH_BYTES, "big") + packed


def read_message(request: IO[bytes]) -> bytes:
    """Return the next packed values and arrays of a request."""
    size = int.from_bytes(request.read(_MESSAGE_LENGTH_BYTES), "big")
    packed = request.read(size)
    if size == 0 or len(packed) < size:
        raise DataError("the request ends too early")
    return packed
