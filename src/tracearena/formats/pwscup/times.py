"""What the time ids mean (info_time.csv)."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from tracearena.errors import DataError, Fault, ParameterError
from tracearena.formats.pwscup._layout import TIMES
from tracearena.formats.pwscup._rows import write_lines
from tracearena.formats.pwscup._sheet import Sheet, open_sheet
from tracearena.traces import Clock

PWS_CLOCK = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
"""The contest's day: 20 instants, every half hour from 8:00."""


@dataclass(frozen=True)
class Times:
    """A clock, and how many days are for reference and for original traces.

    >>> Times(PWS_CLOCK, 2, 2).original_span
    (40, 80)
    """

    clock: Clock
    reference_days: int
    original_days: int

    @property
    def reference_span(self) -> tuple[int, int]:
        """First instant of the reference traces and one past their last."""
        return 0, self.reference_days * self.clock.instants_per_day

    @property
    def original_span(self) -> tuple[int, int]:
        """First instant of the original traces and one past their last."""
        first = self.reference_span[1]
        return first, first + self.original_days * self.clock.instants_per_day


def read_times(path: str | PathLike[str]) -> Times:
    """Read the table of times: the same instants every day, reference days first."""
    sheet = open_sheet(path, TIMES)
    rows = list(sheet.lines())
    sheet.refuse_faulty()
    times = _guess([cells for _, cells in rows], sheet)
    expected = _lines(times)
    for (row, cells), line in zip(rows, expected, strict=False):
        if ",".join(cells) != line:
            sheet.add(Fault(row, None, ",".join(cells), f"it must be {line}", "not-a-clock"))
    if len(rows) != len(expected):
        problem = f"the last day has other instants than the first: {len(rows)} rows, not {len(expected)}"
        sheet.add(Fault(min(len(rows), len(expected)) + 1, None, None, problem, "not-a-clock"))
    sheet.refuse_faulty()
    return times


def _guess(rows: list[list[str]], sheet: Sheet) -> Times:
    """Return the times that the first day and the number of rows tell of."""
    per_day = max(sum(cells[2] == "1" for cells in rows), 1)
    seconds = [int(hour) * 3600 + int(minute) * 60 for *_, hour, minute in rows[:2]]
    interval = seconds[1] - seconds[0] if per_day > 1 else 3600
    try:
        clock = Clock(instants_per_day=per_day, start_s=seconds[0], interval_s=interval)
    except ParameterError as error:
        sheet.add(Fault(1, None, None, f"the times of the first day make no clock: {error}", "not-a-clock"))
        sheet.refuse_faulty()
        raise
    reference = sum(cells[0] == "ref" for cells in rows)
    return Times(clock, -(-reference // per_day), -(-(len(rows) - reference) // per_day))


def _lines(times: Times) -> list[str]:
    lines = []
    cut, stop = times.original_span
    for instant in range(stop):
        second = int(times.clock.second_of_day(instant))
        side = "ref" if instant < cut else "org"
        day = int(times.clock.day_of(instant)) + 1
        lines.append(f"{side},{instant + 1},{day},{second // 3600},{second // 60 % 60}")
    return lines


def write_times(path: str | PathLike[str], times: Times) -> None:
    """Write the table of times; the clock must tick in whole minutes."""
    if times.clock.start_s % 60 or times.clock.interval_s % 60:
        raise DataError("info_time.csv holds hours and minutes, and this clock has seconds")
    write_lines(path, TIMES, _lines(times))
