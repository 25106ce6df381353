"""The privacy budget of a data set: what its releases have spent, in a file next to it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Self

from tracearena.checks import require_choice, require_number
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files.atomic import LOCKS, try_lock
from tracearena.files.io import digest_file, digest_values, read_bytes, refuse_pipe, replacing

SUFFIX = ".budget.json"
FORMAT = "tracearena-budget"
UNITS = ("person", "trip")


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

    ε of the releases for one unit add up (basic composition); those for different units do not, because a
    person with n trips loses n times what a trip loses. The file is known by the digest of its content: a
    copy elsewhere has a ledger of its own, and changed data begins at zero, although people may be in both.

    Attributes
    ----------
    data
        The file or folder.
    digest
        SHA-256 of its content.
    total, unit
        The largest ε that may be spent, if there is a limit, and for whom it holds.
    spendings
        Releases of this content.
    others
        Entries of the same name with another content, by their digest.
    """

    data: Path
    digest: str
    total: float | None = None
    unit: str = "person"
    spendings: tuple[Spending, ...] = ()
    others: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def open(cls, data: str | PathLike[str]) -> Self:
        """Read the ledger of a file; one that does not exist is empty."""
        path = Path(data)
        refuse_pipe(path)
        return cls(path, _digest_content(path))._read()

    @classmethod
    def update(cls, data: str | PathLike[str], change: Callable[[Self], Self]) -> Self:
        """Read the ledger, change it and write it in one step: no two releases spend the same rest."""
        path = Path(data)
        refuse_pipe(path)
        empty = cls(path, _digest_content(path))
        with try_lock(path) as is_ours:
            if LOCKS and not is_ours:
                problem = "has a ledger that another command is changing; run this one again"
                raise FileError.whole(path, problem, "ledger-in-use")
            changed = change(empty._read())
            changed._write()
        return changed

    def _read(self) -> Self:
        if not self.path.exists():
            return self
        try:
            content = json.loads(read_bytes(self.path))
            if content.get("format") != FORMAT:
                raise DataError(f"it is not a {FORMAT}")
            known = dict(content["data"])
            own = known.pop(self.digest, {"total": None, "unit": UNITS[0], "spendings": []})
            spendings = tuple(Spending(**one) for one in own["spendings"])
            if own["total"] is not None:
                require_number("total", own["total"], above=0)
            for one in spendings:
                require_number("epsilon", one.epsilon, above=0)
                require_number("delta", one.delta, at_least=0)
            for unit in (own["unit"], *(one.unit for one in spendings)):
                require_choice("unit", unit, UNITS)
        except FileError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise FileError.whole(self.path, f"is not a ledger: {said}", "bad-ledger") from None
        others = tuple(known.items())
        return replace(self, total=own["total"], unit=own["unit"], spendings=spendings, others=others)

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return self.data.parent / (self.data.name + SUFFIX)

    def spent(self, unit: str) -> float:
        """Return ε that one person, or one trip, has lost so far in releases for this unit."""
        return math.fsum(one.epsilon for one in self.spendings if one.unit == unit)

    def with_total(self, total: float, unit: str = "person") -> Self:
        """Return the ledger with a limit on ε for one unit."""
        require_number("total", total, above=0)
        require_choice("unit", unit, UNITS)
        for one in self.spendings:
            if one.unit != unit:
                raise self._refuse_unit(f"an earlier release, {one.method},", one.unit, unit)
        return replace(self, total=float(total), unit=unit)

    def spend(self, method: str, epsilon: float, delta: float, unit: str) -> Self:
        """Return the ledger with one more release, or refuse one that the limit does not allow."""
        if self.total is not None:
            if unit != self.unit:
                raise self._refuse_unit(method, unit, self.unit)
            if self.spent(unit) + epsilon > self.total * (1 + 1e-9):
                raise ParameterError(
                    f"{self.data}: {method} would spend ε = {epsilon:g} after the {self.spent(unit):g} of "
                    f"earlier releases, more than the total of {self.total:g}; generating from a saved model "
                    "(--model) costs nothing"
                )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, spendings=(*self.spendings, Spending(method, epsilon, delta, unit, now)))

    def _refuse_unit(self, method: str, unit: str, of_total: str) -> ParameterError:
        return ParameterError(
            f"{self.data}: {method} protects one {unit}, and the total is for one {of_total}: these do not "
            "add up, because a person with n trips loses n times what a trip loses"
        )

    def _write(self) -> None:
        spendings = [asdict(one) for one in self.spendings]
        own = {"total": self.total, "unit": self.unit, "spendings": spendings}
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
