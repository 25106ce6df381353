"""How commands read traces: one record of options for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tracearena.cli._console import note
from tracearena.cli._contest_files import MaxBytesOption, MaxListedIdsOption, TimesOption
from tracearena.cli._option_records import parameters_of
from tracearena.cli._reading_options import (
    BoundsOption,
    ColumnsOption,
    DecimalOption,
    DelimiterOption,
    FromDateOption,
    FromOption,
    GridOption,
    HoursOption,
    IntervalOption,
    NoHeaderOption,
    OneUserOption,
    PlacesFileOption,
    ReferenceDaysOption,
    ResampleOption,
    SlotOption,
    SplitAtOption,
    TimeFormatOption,
    TimezoneOption,
    ToDateOption,
    TopOption,
    UtcHoursOption,
)
from tracearena.cli._refusing import refuse

if TYPE_CHECKING:
    from tracearena.intake import Choices, Reading, Report
    from tracearena.intake.sampling import Sample
    from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces

_OF_TABLES = ("columns", "delimiter", "decimal", "time_format", "one_user")


class _Reported(Protocol):
    """Something read, with the report of its file."""

    @property
    def report(self) -> Report:
        """What was wrong with it."""


_AnyReading = TypeVar("_AnyReading", bound=_Reported)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What the command line says about reading traces; a command has them all, or some groups of them."""

    format: FromOption = None
    columns: ColumnsOption = None
    no_header: NoHeaderOption = False
    delimiter: DelimiterOption = None
    decimal: DecimalOption = None
    time_format: TimeFormatOption = None
    one_user: OneUserOption = None
    places: PlacesFileOption = None
    times: TimesOption = None
    grid: GridOption = None
    bounds: BoundsOption = None
    top: TopOption = None
    interval: IntervalOption = None
    slot: SlotOption = None
    resample: ResampleOption = None
    timezone: TimezoneOption = None
    utc_hours: UtcHoursOption = False
    hours: HoursOption = None
    from_date: FromDateOption = None
    to_date: ToDateOption = None
    split_at: SplitAtOption = None
    reference_days: ReferenceDaysOption = None
    max_bytes: MaxBytesOption = None
    max_listed_ids: MaxListedIdsOption = None

    @property
    def words(self) -> list[str]:
        """The same options as they are written on a command line, without those left at their defaults."""
        said: list[str] = []
        for name, one in parameters_of(ReadingOptions).items():
            value = getattr(self, name)
            if value != one.default:
                option = f"--{name.replace('_', '-')}"
                said += [option] if value is True else [option, str(value)]
        return said

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files beside the traces that are read too."""
        return self.places, self.times

    @property
    def is_split(self) -> bool:
        """Whether one file is to be cut into reference and original traces."""
        return self.split_at is not None or self.reference_days is not None

    @property
    def cuts_local_times(self) -> bool:
        """Whether only some hours or dates of the file are read."""
        return not (self.hours is None and self.from_date is None and self.to_date is None)

    def choices(self) -> Choices:
        """Return which places and instants to make."""
        from tracearena.intake import Choices

        return Choices.parse(
            grid=self.grid,
            bounds=self.bounds,
            top=self.top,
            interval=self.interval,
            slot=self.slot,
            timezone=self.timezone,
            utc_hours=self.utc_hours,
        )

    def layout(self) -> dict[str, Any]:
        """Return what is said about the columns of a table."""
        given = {name: getattr(self, name) for name in _OF_TABLES}
        said = {name: value for name, value in given.items() if value is not None}
        return said | ({"header": False} if self.no_header else {})

    def refuse_layout(self, what: str) -> None:
        """Refuse what is said about the columns of a table, where no such table is read."""
        refuse(what, **self.layout(), no_header=self.no_header)

    def refuse_limits(self) -> None:
        """Refuse limits of submissions where none of the contest's is read."""
        limits = {"max_bytes": self.max_bytes, "max_listed_ids": self.max_listed_ids}
        refuse("other files than the contest's submissions", **limits)

    def format_of(self, path: Path) -> str:
        """Return the format of a file, as it is said or as it looks."""
        from tracearena.formats import recognise
        from tracearena.intake.layout import Layout

        return self.format or recognise(path, Layout.parse(**self.layout()))

    def is_gps(self, path: Path) -> bool:
        """Whether a file holds GPS points: coordinates without places."""
        from tracearena.formats import recognition
        from tracearena.intake.layout import Layout

        return recognition.is_gps(path, self.format, Layout.parse(**self.layout()))

    def say_unread_columns(self, path: Path, format: str) -> None:
        """Say which columns of a table of events or points are left out."""
        from tracearena.formats.recognition import unread_columns
        from tracearena.intake.layout import Layout

        others = unread_columns(path, format, Layout.parse(**self.layout()))
        if others:
            note(f"{path}: columns left out: {', '.join(others)}")

    def other_columns(self, path: Path, format: str, sample: Sample | None = None) -> dict[str, Any]:
        """Return who has which value when in the columns of a table that are left out."""
        from tracearena.formats.recognition import unread_columns
        from tracearena.intake.layout import Layout
        from tracearena.intake.other_columns import values_of_columns

        layout = Layout.parse(**self.layout())
        return values_of_columns(path, unread_columns(path, format, layout), layout, sample)

    def for_another(self, path: Path) -> ReadingOptions:
        """Return the options for a further file: one that we wrote has our own columns."""
        from tracearena.formats import recognition

        if not self.layout() or path.is_dir() or not recognition.is_own_table(path):
            return self
        return replace(
            self,
            columns=None,
            no_header=False,
            delimiter=None,
            decimal=None,
            time_format=None,
            one_user=None,
        )

    def read(self, path: Path, sample: Sample | None = None) -> Reading[Traces | GpsTraces]:
        """Read a file of any format, or a sample of it: events at places, or GPS points without a grid."""
        from tracearena.formats import read
        from tracearena.intake.periods import parse_hours, within_dates, within_hours

        hours = None if self.hours is None else parse_hours(self.hours)
        choices = self.choices()
        self.refuse_for(is_gps=self.is_gps(path))
        reading = read(
            path,
            self.format,
            places=self.places,
            times=self.times,
            choices=choices,
            resample=self.resample,
            sample=sample,
            **self.layout(),
        )
        if self.from_date is not None or self.to_date is not None:
            reading = within_dates(reading, self.from_date, self.to_date)
        return reading if hours is None else within_hours(reading, hours)

    def read_events(self, path: Path, *, quietly: bool = False) -> Reading[Traces]:
        """Read events at places, and say on stderr what was wrong with them."""
        reading = self.read(path).as_events()
        if not quietly:
            say(reading)
        return reading

    def read_points(self, path: Path) -> Reading[GpsTraces]:
        """Read GPS points, and the coordinates of events too; say on stderr what was wrong with them."""
        from tracearena.formats import recognition
        from tracearena.intake.layout import Layout

        options = self
        formats = recognition.look_at(path, Layout.parse(**self.layout())).formats
        if self.format is None and "points" in formats:
            options = replace(self, format="points")
        reading = options.read(path).as_points()
        say(reading)
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

    def read_alike(self, path: Path, first: Reading[Traces]) -> Reading[Traces]:
        """Read another file of the data set of `first`."""
        options = self.for_another(path)
        if options._makes_instants(path):
            traces, report = first
            return options.like(traces.places, traces.clock, report).read_events(path)
        if options.format_of(path) == "pwscup":
            options = replace(options, times=options._times_of(path, first))
        return say_once(options.read_events(path, quietly=True), first)

    def _times_of(self, path: Path, first: Reading[Traces]) -> Path | None:
        """Return the table of times of a further file of the contest: that of the first, if it has none."""
        from tracearena.formats import pwscup

        own = self.times or pwscup.found_times(path, self.places)
        is_known = own is None and first.report.format == "pwscup"
        return pwscup.found_times(first.report.path) if is_known else own

    def read_obfuscated(
        self,
        path: Path,
        original: Reading[Traces],
        *,
        allow_repetition: bool = False,
        id_table: IdTable | None = None,
    ) -> Reading[ObfuscatedTraces]:
        """Read what is released of the original's events, in their order.

        It is a file of obfuscated traces, or traces of any format as they are; or, with the table of who
        is who, anonymized traces.
        """
        from tracearena.errors import FileError
        from tracearena.formats import read_released
        from tracearena.formats.released import is_released, of_events
        from tracearena.formats.released_table import is_released_table
        from tracearena.intake import Reading
        from tracearena.intake.alignment import aligned
        from tracearena.traces import ObfuscatedTraces
        from tracearena.traces._arrays import positions

        if id_table is not None:
            self.refuse_limits()
            released, report = self.read_anonymized(path, original)
            at = positions(released.user_ids, id_table.pseudonyms)
            if (at < 0).any():
                problem = f"has a user {released.user_ids[at < 0][0].item()!r} whom the id table has not"
                raise FileError.whole(path, problem, "other-users")
            _, named = aligned(original.traces, released.with_user_ids(id_table.user_ids[at]))
            return Reading(of_events(named, original.traces, path), report)
        # Beside the contest's traces stand the contest's files, and their mistakes are told as its.
        of_contest = original.report.format == "pwscup" and not is_released_table(path)
        if of_contest or is_released(path):
            return read_released(
                path,
                original.traces,
                format="pwscup" if of_contest else None,
                allow_repetition=allow_repetition,
                max_bytes=self.max_bytes,
                max_listed_ids=self.max_listed_ids,
            )
        self.refuse_limits()
        plain = self.read_alike(path, original)
        _, moved = aligned(original.traces, plain.traces)
        return Reading(of_events(ObfuscatedTraces.unchanged(moved), original.traces, path), plain.report)

    def read_anonymized(self, path: Path, known: Reading[Traces]) -> Reading[ObfuscatedTraces]:
        """Read what is released under pseudonyms of the data set of `known`.

        It is a file of anonymized traces, or traces of any format as they are.
        """
        from tracearena.formats import read_released
        from tracearena.formats.released import contest_header, is_released
        from tracearena.intake import Reading
        from tracearena.traces import ObfuscatedTraces

        traces = known.traces
        if contest_header(path) is not None:
            times = self._times_of(path, known)
            return say_once(read_released(path, places=self.places or traces.places, times=times), known)
        if is_released(path):
            return read_released(path, places=self.places, clock=traces.clock)
        plain = self.read_alike(path, known)
        return Reading(ObfuscatedTraces.unchanged(plain.traces), plain.report)

    def halves(
        self, reading: Reading[Traces | GpsTraces]
    ) -> tuple[Reading[Traces | GpsTraces], Reading[Traces | GpsTraces]]:
        """Cut one file into reference and original traces."""
        from tracearena.errors import ParameterError
        from tracearena.intake.periods import split_after, split_at

        if self.split_at is not None and self.reference_days is not None:
            raise ParameterError("--split-at and --reference-days exclude each other")
        if self.split_at is not None:
            return split_at(reading, self.split_at)
        return split_after(reading, self.reference_days or 0)

    def _makes_instants(self, path: Path) -> bool:
        """Whether the instants of a file are chosen here: it has none of its own, and may get some."""
        from tracearena.formats import recognition

        name = self.format_of(path)
        if name in recognition.GPS_FORMATS:
            return self.grid is not None
        prepared = name == "peopleflow" and recognition.is_prepared(path)
        return name not in ("pwscup", "ppmtf") and not prepared

    def refuse_for(self, *, is_gps: bool) -> None:
        """Refuse options that GPS points, or events, have no use for."""
        if not is_gps:
            refuse("events, which GPS points are not", resample=self.resample)
            return
        refuse("GPS points", places=self.places, times=self.times, top=self.top, utc_hours=self.utc_hours)
        if self.grid is None:
            refuse(
                "GPS points without --grid",
                interval=self.interval,
                slot=self.slot,
                resample=self.resample,
            )


def say(reading: _Reported) -> None:
    """Say on stderr what was wrong with a file."""
    for line in reading.report.lines():
        note(line)


def say_once(reading: _AnyReading, first: _Reported) -> _AnyReading:
    """Say what was wrong with a further file, without what was said of the first already."""
    if reading.report.assumed == first.report.assumed:
        reading.report.assumed = ""
    say(reading)
    return reading
