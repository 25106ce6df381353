"""The privacy budget of a data set: what its releases have spent, in a file next to it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Self

from tracearena.checks import require_number
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files.io import digest_file, digest_values, read_bytes, refuse_pipe, replacing

SUFFIX = ".budget.json"
FORMAT = "tracearena-budget"


@dataclass(frozen=True)
class Spending:
    """One release: what made it, what it cost, and when, in UTC."""

    method: str
    epsilon: float
    delta: float
    unit: str
    at: str


@dataclass(frozen=True)
class Ledger:
    """What all releases of a file have spent together.

    ε and δ of the releases add up (basic composition). The file is known by the digest of its content: a copy
    elsewhere has a ledger of its own, and changed data begins at zero, although people may be in both.

    Attributes
    ----------
    data
        The file or folder.
    digest
        SHA-256 of its content.
    total
        The largest ε that may be spent, if there is a limit.
    spendings
        Releases of this content.
    others
        Entries of the same name with another content, by their digest.
    """

    data: Path
    digest: str
    total: float | None = None
    spendings: tuple[Spending, ...] = ()
    others: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def open(cls, data: str | PathLike[str]) -> Self:
        """Read the ledger of a file; one that does not exist is empty."""
        path = Path(data)
        refuse_pipe(path)
        empty = cls(path, _digest_content(path))
        if not empty.path.exists():
            return empty
        try:
            content = json.loads(read_bytes(empty.path))
            if content.get("format") != FORMAT:
                raise DataError(f"it is not a {FORMAT}")
            known = dict(content["data"])
            own = known.pop(empty.digest, {"total": None, "spendings": []})
            spendings = tuple(Spending(**one) for one in own["spendings"])
            if own["total"] is not None:
                require_number("total", own["total"], above=0)
            for one in spendings:
                require_number("epsilon", one.epsilon, above=0)
        except FileError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise FileError.whole(empty.path, f"is not a ledger: {said}", "bad-ledger") from None
        return replace(empty, total=own["total"], spendings=spendings, others=tuple(known.items()))

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return self.data.parent / (self.data.name + SUFFIX)

    @property
    def epsilon(self) -> float:
        """ε spent so far."""
        return math.fsum(one.epsilon for one in self.spendings)

    @property
    def delta(self) -> float:
        """δ spent so far."""
        return math.fsum(one.delta for one in self.spendings)

    def with_total(self, total: float) -> Self:
        """Return the ledger with a limit on ε."""
        require_number("total", total, above=0)
        return replace(self, total=float(total))

    def spend(self, method: str, epsilon: float, delta: float, unit: str) -> Self:
        """Return the ledger with one more release, or refuse one beyond the limit."""
        if self.total is not None and self.epsilon + epsilon > self.total * (1 + 1e-9):
            raise ParameterError(
                f"{self.data}: {method} would spend ε = {epsilon:g} after the {self.epsilon:g} of earlier "
                f"releases, more than the total of {self.total:g}; generating from a saved model "
                "(--model) costs nothing"
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, spendings=(*self.spendings, Spending(method, epsilon, delta, unit, now)))

    def write(self) -> None:
        """Write the file."""
        own = {"total": self.total, "spendings": [asdict(one) for one in self.spendings]}
        content = {"format": FORMAT, "data": {**dict(self.others), self.digest: own}}
        with replacing(self.path) as out:
            out.write(json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n")


def _digest_content(path: Path) -> str:
    if not path.exists():
        raise FileError.whole(path, "does not exist", "missing")
    if not path.is_dir():
        return digest_file(path)
    files = sorted(one for one in path.rglob("*") if one.is_file())
    return digest_values(*(f"{one.relative_to(path)}\0{digest_file(one)}\n" for one in files))
