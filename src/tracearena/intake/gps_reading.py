"""What reading GPS files found: the traces, what was left out, and what looked odd."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import SHOWN_FAULTS, Fault, FileError
from tracearena.intake.local_time import BARE_AS_UTC, LocalTime, asked_for, guessed
from tracearena.traces import GpsTraces

OLDEST_MS = int(np.datetime64("2005-01-01", "ms").astype(np.int64))


@dataclass(frozen=True)
class Finding:
    """A fault in one file, and whether its point was left out."""

    path: str
    fault: Fault
    dropped: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}" + (" (left out)" if self.dropped else " (kept)")


@dataclass
class Findings:
    """Collects what is odd while files are read; `strict` makes the first lost point an error."""

    strict: bool = False
    dropped: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    shown: list[Finding] = field(default_factory=list)
    unzoned: int = 0

    def drop(self, path: str, fault: Fault, times: int = 1) -> None:
        """Note points that are left out; show the first fault of each kind and ten in all."""
        if self.strict:
            raise FileError(path, [fault])
        self._show(Finding(path, fault, True), self.dropped[fault.code])
        self.dropped[fault.code] += times

    def notice(self, path: str, fault: Fault, times: int = 1) -> None:
        """Note something odd about points that are kept."""
        self._show(Finding(path, fault, False), self.noticed[fault.code])
        self.noticed[fault.code] += times

    def _show(self, finding: Finding, known: int) -> None:
        if known == 0 or len(self.shown) < SHOWN_FAULTS:
            self.shown.append(finding)

    def add(self, other: Findings) -> None:
        """Join the findings of another part of the input, which comes later."""
        for finding in other.shown:
            counts = self.dropped if finding.dropped else self.noticed
            self._show(finding, counts[finding.fault.code])
        self.dropped += other.dropped
        self.noticed += other.noticed


@dataclass(frozen=True)
class GpsReading:
    """GPS traces as read, with a report of everything that was wrong with the files.

    Attributes
    ----------
    traces
        The points that could be read.
    dropped, noticed
        Number of points left out, and of oddities that were kept, by kind of fault.
    findings
        The first of them, with file, row and value.
    unzoned
        Number of points whose times name no zone.
    timezone
        The zone that the caller named, for these and for the hours of the day.
    """

    traces: GpsTraces
    dropped: dict[str, int]
    noticed: dict[str, int]
    findings: tuple[Finding, ...]
    unzoned: int = 0
    timezone: str | None = None

    @classmethod
    def of(cls, traces: GpsTraces, findings: Findings, timezone: str | None = None) -> GpsReading:
        """Join the traces with what was found."""
        return cls(
            traces,
            dict(findings.dropped),
            dict(findings.noticed),
            tuple(findings.shown),
            findings.unzoned,
            timezone,
        )

    @cached_property
    def local_time(self) -> LocalTime:
        """Whose clocks the hours of the day go by."""
        if self.timezone is not None:
            return asked_for(self.timezone)
        if self.unzoned == self.traces.n_points:
            return BARE_AS_UTC
        return guessed(self.traces.latitude, self.traces.longitude)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            "points": self.traces.n_points,
            "dropped": self.dropped,
            "noticed": self.noticed,
            "findings": [{"file": f.path, "dropped": f.dropped, **f.fault.to_dict()} for f in self.findings],
        }

    def lines(self) -> list[str]:
        """Return the report as lines for people; none if the files were faultless."""
        counts = [f"{n:,} points left out: {code}" for code, n in self.dropped.items()]
        counts += [f"{n:,} kept although odd: {code}" for code, n in self.noticed.items()]
        return [*(str(finding) for finding in self.findings), *counts]


def misplaced(
    path: str,
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    rows: NDArray[np.int64],
    findings: Findings,
    header_lines: int = 1,
) -> NDArray[np.bool_]:
    """Find positions that are not on earth, report them, and return where they are.

    A latitude beyond ±90 beside a longitude within ±90 is reported as swapped. A file most of
    whose positions are so is refused: exchanging its columns is the cure, not dropping them.
    """
    bad_latitude = ~(np.abs(latitude) <= 90)
    bad_longitude = ~(np.abs(longitude) <= 180)
    swapped = bad_latitude & (np.abs(latitude) <= 180) & (np.abs(longitude) <= 90)
    at = np.flatnonzero(swapped)
    if 2 * len(at) > len(latitude):
        raise FileError(
            path,
            [_swapped(rows[at[0]], latitude[at[0]], longitude[at[0]], header_lines)],
            total=len(at),
        )
    for i in at:
        findings.drop(path, _swapped(rows[i], latitude[i], longitude[i], header_lines))
    for i in np.flatnonzero(bad_latitude & ~swapped):
        findings.drop(path, _beyond("latitude", rows[i], latitude[i], 90, header_lines))
    for i in np.flatnonzero(bad_longitude & ~bad_latitude):
        findings.drop(path, _beyond("longitude", rows[i], longitude[i], 180, header_lines))
    return np.asarray(bad_latitude | bad_longitude)


def _swapped(row: int, latitude: float, longitude: float, header_lines: int) -> Fault:
    return Fault(
        int(row), "latitude", f"{latitude}, {longitude}",
        "latitude and longitude look swapped; exchange the columns", "swapped", header_lines,
    )  # fmt: skip


def _beyond(column: str, row: int, value: float, limit: int, header_lines: int) -> Fault:
    return Fault(
        int(row), column, str(value), f"must be from -{limit} to {limit}", f"bad-{column}", header_lines
    )


def oddly_dated(path: str, time_ms: NDArray[np.int64], rows: NDArray[np.int64], findings: Findings,
                header_lines: int = 1) -> None:  # fmt: skip
    """Report points from before there were such files (a receiver that had not found its satellites)."""
    odd = np.flatnonzero(time_ms < OLDEST_MS)
    if odd.size:
        shown = str(np.datetime64(int(time_ms[odd[0]]), "ms").astype("datetime64[s]"))
        problem = "is dated before 2005, as by a receiver without a fix"
        fault = Fault(int(rows[odd[0]]), "time", shown, problem, "odd-date", header_lines)
        findings.notice(path, fault, int(odd.size))


def unsorted(path: str, time_ms: NDArray[np.int64], rows: NDArray[np.int64], findings: Findings,
             header_lines: int = 1) -> None:  # fmt: skip
    """Report times that fall; the points are sorted later."""
    falls = np.flatnonzero(np.diff(time_ms) < 0)
    if falls.size:
        first = int(falls[0]) + 1
        shown = str(np.datetime64(int(time_ms[first]), "ms").astype("datetime64[s]"))
        problem = "comes after a later time; the points are sorted by time"
        fault = Fault(int(rows[first]), "time", shown, problem, "unsorted", header_lines)
        findings.notice(path, fault, int(falls.size))


def odd_users(path: str, traces: GpsTraces, findings: Findings) -> None:
    """Report users without points, and points of one user at the same time."""
    for user in np.flatnonzero(np.diff(traces.offsets) == 0):
        fault = Fault(None, "user", str(traces.user_ids[user]), "has no points", "empty-user")
        findings.notice(path, fault)
    same = np.flatnonzero((np.diff(traces.time_ms) == 0) & (np.diff(traces.user_index) == 0))
    if same.size:
        at = int(same[0])
        shown = str(np.datetime64(int(traces.time_ms[at]), "ms").astype("datetime64[s]"))
        problem = f"user {traces.user_ids[traces.user_index[at]]} has two points at the same time"
        findings.notice(path, Fault(None, "time", shown, problem, "same-time"), int(same.size))
