"""What the time ids of PWS Cup files mean (info_time.csv)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.files.io import is_stream, read_bytes, replacing
from tracearena.io.pwscup.checker import ANONYMIZED, TIMES, TRACES, Sheet, open_sheet
from tracearena.traces import Clock
from tracearena.traces.row_table import EventTable

NAME = "info_time.csv"
PWS_CLOCK = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
"""The contest's day: 20 instants, every half hour from 8:00."""

CONTEST_INSTANTS = 800
"""Instants of the longest data of the contest: 20 days for reference and 20 for original traces."""
_LARGEST_NEIGHBOUR = 2**26


@dataclass(frozen=True)
class ContestTimes:
    """A clock, with the numbers of days of reference and of original traces.

    >>> ContestTimes(PWS_CLOCK, 2, 2).original_span
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


def read_times(path: str | PathLike[str]) -> ContestTimes:
    """Read the table of times: the same instants every day, reference days first."""
    sheet = open_sheet(path, TIMES)
    rows = list(sheet.lines())
    sheet.refuse_faulty()
    times = _guess_times([cells for _, cells in rows], sheet)
    expected = _format_time_rows(times)
    for (row, cells), line in zip(rows, expected, strict=False):
        if ",".join(cells) != line:
            sheet.add(Fault(row, None, ",".join(cells), f"it must be {line}", "not-a-clock"))
    if len(rows) != len(expected):
        problem = f"the last day has other instants than the first: {len(rows)} rows, not {len(expected)}"
        sheet.add(Fault(min(len(rows), len(expected)) + 1, None, None, problem, "not-a-clock"))
    sheet.refuse_faulty()
    return times


def _guess_times(rows: list[list[str]], sheet: Sheet) -> ContestTimes:
    """Return the times that the first day and the number of rows tell of."""
    per_day = max(sum(cells[2] == "1" for cells in rows), 1)
    seconds = [int(hour) * 3600 + int(minute) * 60 for *_, hour, minute in rows[:2]]
    interval = seconds[1] - seconds[0] if per_day > 1 else 3600
    try:
        clock = Clock(instants_per_day=per_day, start_s=seconds[0], interval_s=interval)
    except ParameterError as error:
        sheet.add(
            Fault(1, None, None, f"the times of the first day do not form a clock: {error}", "not-a-clock")
        )
        sheet.refuse_faulty()
        raise
    reference = sum(cells[0] == "ref" for cells in rows)
    return ContestTimes(clock, -(-reference // per_day), -(-(len(rows) - reference) // per_day))


def _format_time_rows(times: ContestTimes) -> list[str]:
    lines = []
    cut, stop = times.original_span
    for instant in range(stop):
        second = int(times.clock.second_of_day(instant))
        side = "ref" if instant < cut else "org"
        day = int(times.clock.day_of(instant)) + 1
        lines.append(f"{side},{instant + 1},{day},{second // 3600},{second // 60 % 60}")
    return lines


def write_times(times: ContestTimes, path: str | PathLike[str]) -> None:
    """Write the table of times; the instants of the clock must be whole minutes."""
    with replacing(path) as out:
        out.write(_format_times_file(times))


def _format_times_file(times: ContestTimes) -> bytes:
    if times.clock.start_s % 60 or times.clock.interval_s % 60:
        raise DataError("info_time.csv has hours and minutes, but this clock has seconds")
    return "\n".join([TIMES.header, *_format_time_rows(times), ""]).encode("ascii")


def times_beside(path: str | PathLike[str]) -> ContestTimes | None:
    """Read the table of times in the folder of a file; None if there is none."""
    beside = Path(path).with_name(NAME)
    return read_times(beside) if beside.is_file() else None


def find_times_file(path: str | PathLike[str], places: object = None) -> Path | None:
    """Return the table of times of a file: in its folder, or in the folder of its places."""
    for near in (path, places):
        if isinstance(near, (str, PathLike)) and Path(near).with_name(NAME).is_file():
            return Path(near).with_name(NAME)
    return None


DEFAULT_TIMES = (
    f"{NAME} is missing, so the times are read as those of the contest: 20 times per day, every 30 min "
    "from 08:00; name another table of times with --times"
)
"""What is said of a file that is read by the contest's clock for want of a table of times."""


def choose_clock(
    path: str | PathLike[str], clock: Clock | ContestTimes | None, first: int, stop: int
) -> Clock:
    """Return the clock of a file with events from instant `first` up to `stop`.

    Without a clock or times it is that of the ``info_time.csv`` next to the file, and without one
    the contest's, if the events can have been made by it.
    """
    if isinstance(clock, Clock):
        return clock
    times = times_beside(path) if clock is None else clock
    if times is None:
        if not _is_contest_span(first, stop):
            raise FileError.whole(
                path,
                f"times {first + 1} to {stop} are not the contest's (whole days of "
                f"{PWS_CLOCK.instants_per_day} times, at most {CONTEST_INSTANTS} in all): give their "
                f"table with --times, or put {NAME} next to the file",
                "no-clock",
            )
        return PWS_CLOCK
    known = times.original_span[1]
    if stop > known:
        problem = f"the table of times ({NAME}) ends with time {known}; it must be one of this file's"
        raise FileError.whole(path, problem, "beyond-clock", str(stop))
    return times.clock


@contextmanager
def write_times_beside(path: str | PathLike[str], traces: EventTable) -> Iterator[Path | None]:
    """Put ``info_time.csv`` next to a file that cannot be read without, if the block ends well.

    One that is there with the same instants per day stays, with more days where they are needed; one
    with others is refused, because other files are read by it.

    Yields
    ------
    Path or None
        The file that will be written.
    """
    target = Path(path)
    if not len(traces) or is_stream(target):
        yield None
        return
    first, stop = int(traces.instants.min()), int(traces.instants.max()) + 1
    clock, known = traces.clock, times_beside(target)
    days = int(clock.day_of(stop - 1)) + 1
    if known is None and _has_same_times(clock, PWS_CLOCK) and _is_contest_span(first, stop):
        yield None
        return
    if known is not None and not _has_same_times(clock, known.clock):
        raise FileError.whole(
            target.with_name(NAME),
            f"has {_describe_clock(known.clock)}, but {target.name} {_describe_clock(clock)}; write to "
            "another folder",
            "other-clock",
        )
    if known is None:
        for other in sorted(target.parent.glob("*.csv*")):
            if other.name != target.name and other.is_file() and _uses_contest_clock(other):
                raise FileError.whole(
                    target.with_name(NAME),
                    f"would give {target.name} {_describe_clock(clock)}, and also {other.name} next "
                    "to it, which uses the clock of the contest; write to another folder",
                    "other-clock",
                )
    old = (0, 0) if known is None else (known.reference_days, known.original_days)
    if sum(old) >= days:
        yield None
        return
    with replacing(target.with_name(NAME)) as out:
        out.write(_format_times_file(ContestTimes(clock, old[0], days - old[0])))
        yield target.with_name(NAME)


def _uses_contest_clock(path: Path) -> bool:
    """Whether a file holds traces of the contest whose times are the contest's."""
    try:
        lines = read_bytes(path, max_bytes=_LARGEST_NEIGHBOUR).splitlines()
        if not lines or lines[0].decode() not in (TRACES.header, ANONYMIZED.header):
            return False
        times = [int(line.split(b",")[1]) for line in lines[1:]]
    except (OSError, FileError, ValueError, IndexError):
        return False
    return len(times) > 0 and _is_contest_span(min(times) - 1, max(times))


def _is_contest_span(first: int, stop: int) -> bool:
    per_day = PWS_CLOCK.instants_per_day
    return first % per_day == 0 and stop % per_day == 0 and stop <= CONTEST_INSTANTS


def _has_same_times(one: Clock, other: Clock) -> bool:
    """Whether two clocks have the same times of day, which is all that the table holds."""
    # One instant a day has no interval.
    alone = one.instants_per_day == 1
    return (one.instants_per_day, one.start_s) == (other.instants_per_day, other.start_s) and (
        alone or one.interval_s == other.interval_s
    )


def _describe_clock(clock: Clock) -> str:
    return f"{clock.instants_per_day} times per day, {clock.interval_words} from {clock.label(0)}"
