"""What became of an upload: the arrays that it holds, or why it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from tracearena.contest.submissions import printable
from tracearena.errors import DataError, Fault, FileError
from tracearena.server.sandbox.frames import Frame
from tracearena.server.sandbox.packing import Arrays, pack, unpack, unpack_values
from tracearena.traces import IdTable, ObfuscatedTraces, PlaceSets, Traces

Kind = Literal["obfuscated", "inferred-table", "inferred-traces"]

KINDS: tuple[Kind, ...] = ("obfuscated", "inferred-table", "inferred-traces")
_LONGEST_REASON = 20_000
_LONGEST_WORDS = 2_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Checked:
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

    def obfuscated(self, original: Traces) -> ObfuscatedTraces:
        """Return the obfuscated traces, on the events of the original or of its frame."""
        arrays = self._unpacked("obfuscated", ("codes", "offsets", "members"))
        sets = PlaceSets(arrays["offsets"], arrays["members"])
        return ObfuscatedTraces.like(original, arrays["codes"], sets)

    def inferred_table(self, pseudonyms: Any) -> IdTable:
        """Return the guess at who is who."""
        return IdTable(pseudonyms, self._unpacked("inferred-table", ("users",))["users"])

    def inferred_traces(self, frame: Frame) -> Traces:
        """Return the guess at who was where."""
        cells = self._unpacked("inferred-traces", ("cells",))["cells"]
        if cells.shape != (len(frame.users) * frame.n_instants,) or (cells < 0).any():
            raise DataError("inferred traces must have one place for each event of the frame")
        return frame.filled(cells)

    def _unpacked(self, kind: Kind, names: tuple[str, ...]) -> Arrays:
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
        return cls.of(FileError.whole(shown_name(file_name), problem, "too-costly"))

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
        said["reason"] = "\n".join(map(printable, self.reason.split("\n")))
        for fault in said["faults"]:
            for name in ("column", "value", "problem"):
                fault[name] = None if fault[name] is None else printable(fault[name])
        return said

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the verdict of plain values; long texts are cut."""
        try:
            faults = tuple(_fault(one) for one in values["faults"])
            reason, more = str(values["reason"])[:_LONGEST_REASON], int(values["more"])
            return cls(str(values["code"])[:_LONGEST_WORDS], reason, faults, more)
        except (KeyError, TypeError, ValueError):
            raise DataError("this is no verdict") from None


def shown_name(file_name: str) -> str:
    """Return the uploader's name of a file as text that disturbs no terminal and no page.

    >>> shown_name("../../secret\\x1b[2J.csv")
    'secret\\\\x1b[2J.csv'
    """
    last = file_name.replace("\\", "/").rpartition("/")[2]
    return printable(last)[:_LONGEST_NAME] or "upload"


def _fault(values: Mapping[str, Any]) -> Fault:
    row, column, value = values["row"], values["column"], values["value"]
    return Fault(
        None if row is None else int(row),
        None if column is None else str(column)[:_LONGEST_WORDS],
        None if value is None else str(value)[:_LONGEST_WORDS],
        str(values["problem"])[:_LONGEST_WORDS],
        str(values["code"])[:_LONGEST_WORDS],
    )
