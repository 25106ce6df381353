"""How commands read traces: one record of options for all of them.

`reads_traces` gives a command these options; the command gets them as one `ReadingOptions`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, get_type_hints

import typer

from tracearena.cli._output import note, refuse_options
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.io import Choices, Input, Reading, Report
    from tracearena.io.id_mapping import UserKey
    from tracearena.io.options import Layout
    from tracearena.io.suggestions import Sample
    from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces


_OF_TABLES = ("columns", "delimiter", "decimal", "time_format", "one_user")


class _HasReport(Protocol):
    """Something read, with the report of its file."""

    @property
    def report(self) -> Report:
        """What was wrong with it."""


_AnyReading = TypeVar("_AnyReading", bound=_HasReport)


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
        for name, one in build_parameters(ReadingOptions).items():
            value = getattr(self, name)
            if value != one.default:
                option = f"--{name.replace('_', '-')}"
                said += [option] if value is True else [option, str(value)]
        return said

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files next to the traces that are read too."""
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
        from tracearena.io import Choices

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

    def parse_layout(self) -> Layout:
        """Return the same as the readers take it."""
        from tracearena.io.options import Layout

        return Layout.parse(**self.layout())

    def refuse_layout(self, what: str) -> None:
        """Refuse what is said about the columns of a table, where no such table is read."""
        refuse_options(what, **self.layout(), no_header=self.no_header)

    def refuse_limits(self) -> None:
        """Refuse limits of submissions where none of the contest's is read."""
        limits = {"max_bytes": self.max_bytes, "max_listed_ids": self.max_listed_ids}
        refuse_options("other files than the contest's submissions", **limits)

    def open(self, path: Path | Input) -> Input:
        """Return a path as these options say that it is to be read, looked at once."""
        from tracearena.io import Input

        if isinstance(path, Input):
            return path
        return Input(path, self.parse_layout(), self.format)

    def open_second(self, path: Path | Input) -> Input:
        """Return a further file of a command: one that we wrote has our own columns."""
        from tracearena.io.options import AS_NAMED

        source = self.open(path)
        is_own = bool(source.layout.option_names) and source.is_own_table
        return source.read_as(source.asked_format, AS_NAMED) if is_own else source

    def read(self, path: Path | Input, sample: Sample | None = None) -> Reading[Traces | GpsTraces]:
        """Read a file of any format, or a sample of it: events at places, or GPS points without a grid."""
        from tracearena.io import read
        from tracearena.io.alignment import keep_dates, keep_hours, parse_hours

        hours = None if self.hours is None else parse_hours(self.hours)
        choices = self.choices()
        source = self.open(path)
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
        """Read events at places, and say on stderr what was wrong with them."""
        reading = self.read(path).as_events()
        if not quietly:
            note_problems(reading)
        return reading

    def read_points(self, path: Path | Input) -> Reading[GpsTraces]:
        """Read GPS points, and the coordinates of events too; say on stderr what was wrong with them."""
        source = self.open(path)
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
        """Read what is released of the original's events, in their order.

        It is a file of obfuscated traces, or traces of any format as they are; or, with the table of who
        is who, anonymized traces.
        """
        from tracearena.errors import FileError
        from tracearena.io import Reading, read_released
        from tracearena.io.alignment import align_tables
        from tracearena.io.released import match_original_events
        from tracearena.traces import ObfuscatedTraces
        from tracearena.traces._arrays import find_positions

        source = self.open(path)
        if id_table is not None:
            self.refuse_limits()
            released, report = self.read_anonymized(source, original)
            at = find_positions(released.user_ids, id_table.pseudonyms)
            if (at < 0).any():
                problem = f"has a user {released.user_ids[at < 0][0].item()!r} whom the id table has not"
                raise FileError.whole(path, problem, "other-users")
            _, named = align_tables(original.traces, released.with_user_ids(id_table.user_ids[at]))
            return Reading(match_original_events(named, original.traces, path), report)
        # Next to the contest's traces are its files, and their mistakes are named as the contest does.
        of_contest = original.report.format == "pwscup" and not source.is_released_table
        if of_contest or source.is_release:
            return read_released(
                source,
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
        """Read what is released under pseudonyms of the data set of `known`.

        It is a file of anonymized traces, or traces of any format as they are.
        """
        from tracearena.io import Reading, read_released
        from tracearena.traces import ObfuscatedTraces

        source, traces = self.open(path), known.traces
        if source.contest_header is not None:
            times = self._find_times_file(source.path, known)
            return note_new_problems(
                read_released(source, places=self.places or traces.places, times=times), known
            )
        if source.is_release:
            return read_released(source, places=self.places, clock=traces.clock)
        plain = self.read_alike(source, known)
        return Reading(ObfuscatedTraces.from_traces(plain.traces), plain.report)

    def halves(
        self, reading: Reading[Traces | GpsTraces]
    ) -> tuple[Reading[Traces | GpsTraces], Reading[Traces | GpsTraces]]:
        """Cut one file into reference and original traces."""
        from tracearena.io.alignment import split_after_days, split_at_date

        if self.split_at is not None and self.reference_days is not None:
            raise ParameterError("--split-at and --reference-days exclude each other")
        if self.split_at is not None:
            return split_at_date(reading, self.split_at)
        return split_after_days(reading, self.reference_days or 0)

    def refuse_for(self, *, is_gps: bool) -> None:
        """Refuse options that GPS points, or events, have no use for."""
        if not is_gps:
            refuse_options("events, which GPS points are not", resample=self.resample)
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
    """Say which columns are left out of a table of events or points that is read as a format."""
    others = source.list_unread_columns(format)
    if others:
        note(f"{source}: columns left out: {', '.join(others)}")


def note_problems(reading: _HasReport) -> None:
    """Say on stderr what was wrong with a file."""
    for line in reading.report.lines():
        note(line)


def note_new_problems(reading: _AnyReading, first: _HasReport) -> _AnyReading:
    """Say what was wrong with a further file, without what was said of the first already."""
    if reading.report.assumed == first.report.assumed:
        reading.report.assumed = ""
    note_problems(reading)
    return reading


PANEL = "Reading"


def _build_reading_option(name: str, help: str, **settings: Any) -> Any:
    return typer.Option(name, help=help, rich_help_panel=PANEL, **settings)


FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--format",
        rich_help_panel=PANEL,
        help="Format; recognised if omitted. Events: pwscup, ppmtf, peopleflow, foursquare, tsmc, gowalla, "
        "table, partitions, released. GPS: points, geolife, gpx, google-records, google-timeline, owntracks, "
        "trips, porto. Either: geojson, jsonl, gpkg, geoparquet.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    _build_reading_option(
        "--columns", "Which column is which, such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON."
    ),
]
NoHeaderOption = Annotated[
    bool,
    _build_reading_option("--no-header", "The table has no header; --columns then gives numbers from 1."),
]
DelimiterOption = Annotated[
    str | None,
    _build_reading_option("--delimiter", "What stands between fields, such as ';' or tab; found if omitted."),
]
DecimalOption = Annotated[str | None, _build_reading_option("--decimal", "Decimal sign of numbers: . or ,")]
TimeFormatOption = Annotated[
    str | None, _build_reading_option("--time-format", "How times are written, such as '%d.%m.%Y %H:%M:%S'.")
]
OneUserOption = Annotated[
    str | None,
    _build_reading_option(
        "--one-user", "All rows, or all files of a folder, are of one person of this name."
    ),
]
PlacesFileOption = Annotated[
    Path | None,
    _build_reading_option("--places", "File of places: regions, POIs, venues or a table; found beside IN."),
]
TimesOption = Annotated[
    Path | None,
    _build_reading_option(
        "--times",
        "pwscup: what the time ids mean (info_time.csv); found beside the traces or places if omitted.",
    ),
]
GridOption = Annotated[
    str | None,
    _build_reading_option("--grid", "Put events or GPS points on a grid of rows x columns, such as 32x32."),
]
BoundsOption = Annotated[
    str | None, _build_reading_option("--bounds", "Keep this box only: south,west,north,east in degrees.")
]
TopOption = Annotated[int | None, _build_reading_option("--top", "Keep the N most visited places only.")]
IntervalOption = Annotated[
    str | None,
    _build_reading_option(
        "--interval", "Time between instants, such as 20min; 1h, or what all times lie on."
    ),
]
SlotOption = Annotated[
    str | None, _build_reading_option("--slot", "Length of a slot, such as 2h; one instant if omitted.")
]
SlotsOption = Annotated[
    str | None,
    typer.Option(
        "--slots",
        help="Slots of a model as any sets of instants: '0-6,6-9,9-24' hours, "
        "'weekday 0-12,12-24; weekend 0-24', or instants as '{1,2,25,26},{3,4,27,28}'.",
    ),
]
ResampleOption = Annotated[
    str | None,
    _build_reading_option(
        "--resample", "GPS on a grid: one event per instant by last, nearest or interpolate."
    ),
]
TimezoneOption = Annotated[
    str | None,
    _build_reading_option(
        "--timezone", "Local time, such as America/New_York; by the coordinates if omitted."
    ),
]
UtcHoursOption = Annotated[
    bool,
    _build_reading_option(
        "--utc-hours", "Ignore the file's offsets from UTC, as the PPMTF authors' program."
    ),
]
HoursOption = Annotated[
    str | None, _build_reading_option("--hours", "Keep these local hours of every day only, such as 8-18.")
]
FromDateOption = Annotated[
    str | None,
    _build_reading_option("--from-date", "Keep this local date and later ones only, such as 2008-11-01."),
]
ToDateOption = Annotated[
    str | None,
    _build_reading_option("--to-date", "Keep this local date and earlier ones only, such as 2008-12-31."),
]
SplitAtOption = Annotated[
    str | None,
    _build_reading_option(
        "--split-at", "Cut one file before this date, such as 2012-06-01: reference, then original."
    ),
]
ReferenceDaysOption = Annotated[
    int | None,
    _build_reading_option(
        "--reference-days", "Cut one file after its first N days: reference, then original."
    ),
]


LIMITS = ("max_bytes", "max_listed_ids")
"""Options that limit what a submission may be."""


def reads_traces(
    *,
    without: Iterable[str] = (),
    halves: bool = False,
    limits: Iterable[str] = (),
    beside: Mapping[str, type] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of reading; it gets them as the record `reading`.

    Parameters
    ----------
    without
        Options that the command has no use for, or has under the same name for something else.
    halves
        Whether it can cut one file into reference and original traces.
    limits
        Which limits of submissions it sets, of `LIMITS`.
    beside
        Further records of options, by the parameter that gets them.
    """
    records = {**beside, "reading": ReadingOptions}
    left_out = {*without} | (set() if halves else {"split_at", "reference_days"}) | {*LIMITS} - {*limits}

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def reading(**given: Any) -> Any:
            for parameter, record in records.items():
                known = [one.name for one in fields(record) if one.name in given]
                if parameter == "reading":
                    known = [name for name in known if name not in left_out]
                given[parameter] = record(**{name: given.pop(name) for name in known})
            return command(**given)

        def declare() -> None:
            own = inspect.signature(command, eval_str=True)
            kept = [
                one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for one in own.parameters.values()
                if one.name not in records
            ]
            for parameter, record in records.items():
                hidden = left_out if parameter == "reading" else ()
                kept += [one for name, one in build_parameters(record).items() if name not in hidden]
            reading.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
            hints = {one.name: one.annotation for one in kept}
            reading.__annotations__ = hints | {"return": own.return_annotation}

        _undeclared.append(declare)
        return reading

    return with_options


_undeclared: list[Callable[[], None]] = []


def declare_options() -> None:
    """Let Typer see the options of all commands that have been imported; a list of commands needs none."""
    while _undeclared:
        _undeclared.pop()()


@functools.cache
def build_parameters(record: type) -> dict[str, inspect.Parameter]:
    """Return the options as parameters of a command."""
    hints = get_type_hints(record, include_extras=True)
    return {
        one.name: inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )
        for one in fields(record)
    }


MaxBytesOption = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        help="Largest submission, unpacked. [default: 67108864, in proportion more beyond 800,000 rows]",
        rich_help_panel="Limits",
    ),
]
MaxListedIdsOption = Annotated[
    int | None,
    typer.Option(
        "--max-listed-ids",
        help="Most ids in all sets of a submission. [default: 16000000, more as above]",
        rich_help_panel="Limits",
    ),
]


def read_user_key(file: Path | None, to: str | None) -> UserKey:
    """Read the key of users if one is named and there; refuse it for formats that keep all ids."""
    from tracearena.io.id_mapping import LOWEST, UserKey

    if file is None:
        return UserKey()
    if to not in LOWEST:
        raise ParameterError(
            f"--user-key has no meaning for {to or 'this output'}, which keeps all ids; "
            f"only {', '.join(LOWEST)} number users"
        )
    return UserKey.read(file, lowest=LOWEST[to]) if file.exists() else UserKey()


def note_key_files(keys: Sequence[Path]) -> None:
    """Say where the way back lies."""
    if keys:
        note(
            f"users whose ids are no numbers from 1 got one; who is who is in {', '.join(map(str, keys))}: "
            "keep it secret. Ids that are numbers stay as they are: tracearena pseudonymise replaces them"
        )


def choose_regions_file(out: Path, to: str | None, places_out: Path | None, traces: Traces) -> Path | None:
    """Return where the regions of contest files on a new grid go: nobody could read these without."""
    from tracearena.files import is_stream

    if places_out is not None or to != "pwscup" or is_stream(out):
        return places_out
    import numpy as np

    from tracearena.io import read_places

    beside = out.with_name("info_region.csv")
    if not beside.is_file():
        return beside
    known, ours = read_places(beside), traces.places
    same = len(known) == len(ours) and all(
        np.allclose(getattr(known, name), getattr(ours, name), rtol=0, atol=1e-6)
        for name in ("latitude", "longitude")
    )
    if same:
        return None
    raise ParameterError(
        f"{beside}: has other regions than this grid; name a file for these with --places-out, or write to "
        "another folder"
    )


def note_grid(traces: Traces) -> None:
    """Say where a grid lies whose bounds nobody named, and how large a cell in its middle is."""
    from tracearena.traces.geodesy import metres_per_degree

    grid = traces.places.grid
    if grid is not None:
        corners = f"{grid.south:.4f},{grid.west:.4f},{grid.north:.4f},{grid.east:.4f}"
        north_m, east_m = metres_per_degree((grid.south + grid.north) / 2)
        height, width = (grid.north - grid.south) / grid.rows, (grid.east - grid.west) / grid.columns
        high, wide = float(north_m) * height / 1000, float(east_m) * width / 1000
        note(
            f"the grid covers {corners} (south,west,north,east), each cell {high:.2g} km x {wide:.2g} km; "
            "--bounds names another box"
        )


def note_lost_dates(to: str | None, traces: Traces) -> None:
    """Say which day the first is, where a format numbers days and has no dates."""
    if to == "pwscup" and traces.clock.first_day is not None:
        note(f"the files number days and hold no dates: day 1 is {traces.clock.first_day}")
