"""Tables of results: the plausible-deniability test, and utility beside privacy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.files import read_bytes, write_csv
from tracearena.formats.ppmtf._columns import UNKNOWN

_COUNT = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class DeniabilityResults:
    """What the plausible-deniability test found.

    Attributes
    ----------
    counts
        For each trace (users in order, and each user's traces in order) the number k' of users
        who could as well have been its input.
    passed
        Whether k' reached k.
    """

    counts: NDArray[np.int64]
    passed: NDArray[np.bool_]

    @property
    def rate(self) -> float:
        """Share of the traces that passed."""
        return float(self.passed.mean()) if len(self.passed) else 0.0


def read_deniability(path: str | PathLike[str]) -> DeniabilityResults:
    """Read ``pdtest_res_Itr<t>.csv``."""
    lines = read_bytes(path).decode("utf-8", "replace").split()
    rows = [line.split(",") for line in lines]
    if not rows or rows[-1][:2] != [UNKNOWN, UNKNOWN]:
        raise FileError.whole(path, "must end with a line -,-,passed,total,rate", "no-summary")
    faults = [
        Fault(number, None, ",".join(row), "must be a count and 0 or 1", "bad-row", header_lines=0)
        for number, row in enumerate(rows[:-1], start=1)
        if len(row) != 2 or not _COUNT.fullmatch(row[0]) or row[1] not in ("0", "1")
    ]
    if faults:
        raise FileError(path, faults, len(faults))
    counts = np.array([int(row[0]) for row in rows[:-1]], np.int64)
    passed = np.array([row[1] == "1" for row in rows[:-1]], bool)
    return DeniabilityResults(counts, passed)


def write_deniability(results: DeniabilityResults, path: str | PathLike[str]) -> None:
    """Write ``pdtest_res_Itr<t>.csv``, one line a trace and the summary."""
    rows = zip(results.counts.tolist(), results.passed.astype(int).tolist(), strict=True)
    totals = ("-", "-", int(results.passed.sum()), len(results.passed), results.rate)
    write_csv(path, None, [*rows, totals])


def read_utility_and_privacy(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read ``utilpriv_<algorithm>_<city>.csv``, of PPMTF or PPMTF+.

    Returns
    -------
    list of dict
        For each line its values by column name: text for ``tracedir`` and ``tracefile``, numbers
        otherwise, None where the table has a dash.
    """
    lines = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    if names[:2] != ["tracedir", "tracefile"]:
        header = lines[0] if lines else ""
        raise FileError(path, [Fault(0, None, header, "must begin with tracedir, tracefile", "bad-header")])
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[1:] if line]
    faults = [fault for number, row in enumerate(rows, start=1) for fault in _faults(number, row, names)]
    if faults:
        raise FileError(path, faults, len(faults))
    return [
        {name: _value(name, cell) for name, cell in zip(names, row, strict=True) if name != UNKNOWN}
        for row in rows
    ]


def _faults(number: int, row: list[str], names: list[str]) -> list[Fault]:
    if len(row) != len(names):
        problem = f"has {len(row)} cells; {len(names)} are wanted"
        return [Fault(number, None, ",".join(row), problem, "bad-row")]
    return [
        Fault(number, name, cell, "must be a finite number or a dash", "bad-number")
        for name, cell in zip(names[2:], row[2:], strict=True)
        if cell != UNKNOWN and not _is_number(cell)
    ]


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _value(name: str, cell: str) -> Any:
    if name in ("tracedir", "tracefile"):
        return cell
    return None if cell == UNKNOWN else float(cell)
