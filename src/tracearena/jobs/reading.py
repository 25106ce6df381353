"""Options for reading the inputs of a job, in the notation of the command line."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note
from tracearena.jobs.outputs import File, refuse_options

if TYPE_CHECKING:
    from tracearena.io import Choices, Input, Reading, Report
    from tracearena.io.options import Layout
    from tracearena.io.suggestions import Sample
    from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces

LIMITS = ("max_bytes", "max_listed_ids")
"""Options that limit what a submission may be."""

EVENTS_ONLY = ("grid", "places", "times", "top", "interval", "slot", "resample", "utc_hours")
"""Options of reading that make events of points, which no application wants."""

_OF_TABLES = ("columns", "delimiter", "decimal", "time_format", "one_user")


class _HasReport(Protocol):
    """Something read, with the report of its file."""

    @property
    def report(self) -> Report:
        """What was wrong with it."""


_AnyReading = TypeVar("_AnyReading", bound=_HasReport)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The options for reading traces of the command line; commands have all of them or some groups."""

    format: str | None = None
    columns: str | None = None
    no_header: bool = False
    delimiter: str | None = None
    decimal: str | None = None
    time_format: str | None = None
    one_user: str | None = None
    places: Path | None = None
    times: Path | None = None
    grid: str | None = None
    bounds: str | None = None
    top: int | None = None
    interval: str | None = None
    slot: str | None = None
    resample: str | None = None
    timezone: str | None = None
    utc_hours: bool = False
    hours: str | None = None
    from_date: str | None = None
    to_date: str | None = None
    split_at: str | None = None
    reference_days: int | None = None
    max_bytes: int | None = None
    max_listed_ids: int | None = None

    @property
    def words(self) -> list[str]:
        """The same options as words of a command line, without defaults."""
        said: list[str] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default:
                option = f"--{one.name.replace('_', '-')}"
                said += [option] if value is True else [option, str(value)]
        return said

    @property
    def files(self) -> tuple[Path | None, ...]:
        """Further files that are read with the traces."""
        return self.places, self.times

    @property
    def is_split(self) -> bool:
        """Whether one file is split into reference and original traces."""
        return self.split_at is not None or self.reference_days is not None

    @property
    def cuts_rows(self) -> bool:
        """Whether only some hours or dates are read, or the file is split into reference and original."""
        given = (self.hours, self.from_date, self.to_date, self.split_at, self.reference_days)
        return any(value is not None for value in given)

    def choices(self) -> Choices:
        """Return the choice of places and instants."""
        from tracearena.io import ChoiceOptions, Choices
        from tracearena.io.options import select_options

        return Choices.parse(**select_options(vars(self), ChoiceOptions))

    def parse_layout(self) -> Layout:
        """Return the layout of a table that the options describe."""
        from tracearena.io.options import Layout

        given = {name: getattr(self, name) for name in _OF_TABLES}
        said = {name: value for name, value in given.items() if value is not None}
        return Layout.parse(header=not self.no_header, **said)

    def refuse_layout(self, what: str) -> None:
        """Raise an error for options about columns, if no table is read."""
        given = {name: getattr(self, name) for name in _OF_TABLES}
        refuse_options(what, **given, no_header=self.no_header)

    def refuse_limits(self) -> None:
        """Raise an error for limits of submissions, if no submission to a contest is read."""
        limits = {"max_bytes": self.max_bytes, "max_listed_ids": self.max_listed_ids}
        refuse_options("files other than submissions to a contest", **limits)

    def open(self, path: File | Input) -> Input:
        """Open a file with these options; an `Input` keeps the options that are not set here.

        A job opens each of its files once. The `Input` then has the format and the layout, and the methods
        that read use them.
        """
        from tracearena.io import Input

        layout = self.parse_layout()
        if not isinstance(path, Input):
            return Input(path, layout, self.format)
        return path.read_as(self.format or path.asked_format, layout if layout.option_names else None)

    def open_second(self, path: Path | Input) -> Input:
        """Open a further file of a command; files written by tracearena have its own columns."""
        from tracearena.io.options import AS_NAMED

        source = self.open(path)
        is_own = bool(source.layout.option_names) and source.is_own_table
        return source.read_as(source.asked_format, AS_NAMED) if is_own else source

    def read(self, path: Path | Input, sample: Sample | None = None) -> Reading[Traces | GpsTraces]:
        """Read a file of any format, or a sample of it: events at places, or GPS points without a grid."""
        from tracearena.io import Input, read
        from tracearena.io.alignment import keep_dates, keep_hours, parse_hours

        hours = None if self.hours is None else parse_hours(self.hours)
        choices = self.choices()
        source = path if isinstance(path, Input) else self.open(path)
        self.refuse_for(is_gps=source.holds_points)
        reading = read(
            source,
            places=self.places,
            times=self.times,
            choices=choices,
            resample=self.resample,
            sample=sample,
        )
        if self.from_date is not None or self.to_date is not None:
            reading = keep_dates(reading, self.from_date, self.to_date)
        return reading if hours is None else keep_hours(reading, hours)

    def read_events(self, path: Path | Input, *, quietly: bool = False) -> Reading[Traces]:
        """Read events at places, and report problems on stderr."""
        reading = self.read(path).as_events()
        if not quietly:
            note_problems(reading)
        return reading

    def read_points(self, path: Path | Input) -> Reading[GpsTraces]:
        """Read GPS points or the coordinates of events, and report problems on stderr."""
        from tracearena.io import Input

        source = path if isinstance(path, Input) else self.open(path)
        if source.asked_format is None and "points" in source.guess.formats:
            source = source.read_as("points")
        reading = self.read(source).as_points()
        note_problems(reading)
        return reading

    def like(self, places: Places, clock: Clock, report: Report) -> ReadingOptions:
        """Return the options for another file of a data set: the same grid, instants and zone."""
        grid, zone = places.grid, None if report.clock is None else report.clock.zone
        box = None if self.grid is None or grid is None else grid.box
        return replace(
            self,
            bounds=self.bounds or (None if box is None else ",".join(map(repr, box))),
            interval=self.interval or (None if report.clock is None else f"{clock.interval_s}s"),
            timezone=self.timezone or (None if self.utc_hours else zone),
        )

    def read_alike(self, path: Path | Input, first: Reading[Traces]) -> Reading[Traces]:
        """Read another file of the data set of `first`."""
        from tracearena.io import GPS_FORMATS

        source, options = self.open_second(path), self
        # The instants of a file are chosen here where it has none of its own, and may get some.
        are_points = source.format in GPS_FORMATS
        if self.grid is not None if are_points else not source.has_instants:
            traces, report = first
            return self.like(traces.places, traces.clock, report).read_events(source)
        if source.format == "pwscup":
            options = replace(self, times=self._find_times_file(source.path, first))
        return note_new_problems(options.read_events(source, quietly=True), first)

    def _find_times_file(self, path: Path, first: Reading[Traces]) -> Path | None:
        """Return the table of times of a further file of the contest: that of the first, if it has none."""
        from tracearena.io import pwscup

        own = self.times or pwscup.find_times_file(path, self.places)
        is_known = own is None and first.report.format == "pwscup"
        return pwscup.find_times_file(first.report.path) if is_known else own

    def read_obfuscated(
        self,
        path: Path | Input,
        original: Reading[Traces],
        *,
        allow_repetition: bool = False,
        id_table: IdTable | None = None,
    ) -> Reading[ObfuscatedTraces]:
        """Read the released events in the order of the original.

        The file has obfuscated traces, unchanged traces in any format or, with the ID table, anonymized
        traces.
        """
        from tracearena.errors import FileError
        from tracearena.io import Input, Reading, read_released
        from tracearena.io.alignment import align_tables
        from tracearena.io.options import AS_NAMED
        from tracearena.io.released import match_original_events
        from tracearena.traces import ObfuscatedTraces
        from tracearena.traces._arrays import find_positions

        source = path if isinstance(path, Input) else self.open(path)
        if id_table is not None:
            self.refuse_limits()
            released, report = self.read_anonymized(source, original)
            at = find_positions(released.user_ids, id_table.pseudonyms)
            if (at < 0).any():
                problem = f"has a user {released.user_ids[at < 0][0].item()!r} who is not in the id table"
                raise FileError.whole(path, problem, "other-users")
            _, named = align_tables(original.traces, released.with_user_ids(id_table.user_ids[at]))
            return Reading(match_original_events(named, original.traces, path), report)
        # Next to the contest's traces are its files, and their mistakes are named as the contest does.
        of_contest = original.report.format == "pwscup" and not source.is_released_table
        if of_contest or source.is_release:
            return read_released(
                source.read_as(source.asked_format, AS_NAMED),
                original.traces,
                format="pwscup" if of_contest else None,
                allow_repetition=allow_repetition,
                max_bytes=self.max_bytes,
                max_listed_ids=self.max_listed_ids,
            )
        self.refuse_limits()
        plain = self.read_alike(source, original)
        _, moved = align_tables(original.traces, plain.traces)
        return Reading(
            match_original_events(ObfuscatedTraces.from_traces(moved), original.traces, path), plain.report
        )

    def read_anonymized(self, path: Path | Input, known: Reading[Traces]) -> Reading[ObfuscatedTraces]:
        """Read the release under pseudonyms that belongs to the data set of `known`.

        The file has anonymized traces, or unchanged traces in any format.
        """
        from tracearena.io import Input, Reading, read_released
        from tracearena.io.options import AS_NAMED
        from tracearena.traces import ObfuscatedTraces

        source, traces = path if isinstance(path, Input) else self.open(path), known.traces
        released = source.read_as(source.asked_format, AS_NAMED)
        if source.contest_header is not None:
            times = self._find_times_file(source.path, known)
            return note_new_problems(
                read_released(released, places=self.places or traces.places, times=times), known
            )
        if source.is_release:
            return read_released(released, places=self.places, clock=traces.clock)
        plain = self.read_alike(source, known)
        return Reading(ObfuscatedTraces.from_traces(plain.traces), plain.report)

    def halves(
        self, reading: Reading[Traces | GpsTraces]
    ) -> tuple[Reading[Traces | GpsTraces], Reading[Traces | GpsTraces]]:
        """Split one file into reference and original traces."""
        from tracearena.io.alignment import split_after_days, split_at_date

        if self.split_at is not None and self.reference_days is not None:
            raise ParameterError("use either --split-at or --reference-days, not both")
        if self.split_at is not None:
            return split_at_date(reading, self.split_at)
        return split_after_days(reading, self.reference_days or 0)

    def refuse_for(self, *, is_gps: bool) -> None:
        """Raise an error for options that do not apply to GPS points, or to events."""
        if not is_gps:
            refuse_options("events at places", resample=self.resample)
            return
        refuse_options(
            "GPS points", places=self.places, times=self.times, top=self.top, utc_hours=self.utc_hours
        )
        if self.grid is None:
            refuse_options(
                "GPS points without --grid",
                interval=self.interval,
                slot=self.slot,
                resample=self.resample,
            )


def note_unread_columns(source: Input, format: str) -> None:
    """Print which columns are left out of a table of events or points that is read as a format."""
    others = source.list_unread_columns(format)
    if others:
        note(f"{source}: ignored columns: {', '.join(others)}")


def note_problems(reading: _HasReport) -> None:
    """Note what was wrong with a file."""
    for line in reading.report.lines():
        note(line)


def note_new_problems(reading: _AnyReading, first: _HasReport) -> _AnyReading:
    """Return what was wrong with a further file, without what was said of the first already."""
    if reading.report.assumed == first.report.assumed:
        reading.report.assumed = ""
    note_problems(reading)
    return reading
