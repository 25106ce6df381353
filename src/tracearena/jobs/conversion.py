"""Convert a file of traces: to another format, onto a grid, with testing users or days set aside."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from tracearena.checks import accepts
from tracearena.engine import generator
from tracearena.errors import ParameterError
from tracearena.files import is_stream
from tracearena.files.atomic import replacing_all
from tracearena.io import GPS_FORMATS, Input, Reading, Report, fit_to_format, read_places, write
from tracearena.io.id_mapping import LOWEST, UserKey, write_keys_beside
from tracearena.io.large import EventFirstPass, is_point_table
from tracearena.io.options import select_options
from tracearena.io.places import write_places
from tracearena.io.writers import choose_points_format, guess_format_by_name
from tracearena.jobs import chunking
from tracearena.jobs.chunking import (
    EVENTS,
    PARTS,
    POINTS,
    USERS_PER_PART,
    TableOutput,
    Transformation,
    can_be_processed_in_chunks,
    is_processed_in_chunks,
    keep_unchanged,
    transform_table,
)
from tracearena.jobs.feedback import note, show_unsaved_progress
from tracearena.jobs.outputs import (
    File,
    OutputOptions,
    as_path,
    check_outputs,
    choose_seed,
    refuse_options,
)
from tracearena.jobs.pairs import prepare_for_sglt
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.geodesy import metres_per_degree


class Conversion(NamedTuple):
    """The result of a conversion: the written traces, the report of the file, and notes for the user.

    `are_points` is true if GPS points were written.
    """

    result: dict[str, Any]
    report: Report | None = None
    remarks: tuple[str, ...] = ()
    are_points: bool = False


class ConversionOutputs(OutputOptions, total=False):
    """Further outputs of a conversion; all may be omitted.

    Attributes
    ----------
    places_out
        File for the places.
    reference
        File for the first half, if the file is split by time.
    test, test_share
        File for the testing users, and their share of all users.
    user_key
        Table of users and their numbers, for formats that number them.
    """

    places_out: File | None
    reference: File | None
    test: File | None
    test_share: float | None
    user_key: File | None


@accepts(ConversionOutputs)
def convert(
    file: File | Input,
    out: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    fill_gaps: bool = False,
    merge_places: int | None = None,
    seed: int | None = None,
    **options: Unpack[ConversionOutputs],
) -> Conversion:
    """Convert a file of traces, and optionally split off testing users or the first days.

    Parameters
    ----------
    file, out
        Input and output.
    reading
        Options for reading: grid, instants, days, and the time at which the file is split.
    fill_gaps, merge_places
        Add events at all instants of a day with an event; merge nearby places until this many are left.
    seed
        Seed for drawing the testing users.
    **options
        Keywords of `ConversionOutputs`: ``to``, ``places_out``, ``reference``, ``test``, ``test_share``,
        ``user_key``, ``cluster``, ``resume``.
    """
    source, out = reading.open(file), Path(out)
    output = TableOutput(out, **select_options(options, OutputOptions))
    asked = _ConversionOutput(
        out,
        output.to,
        places_out=as_path(options.get("places_out")),
        reference=as_path(options.get("reference")),
        test=as_path(options.get("test")),
        test_share=options.get("test_share"),
        user_key=as_path(options.get("user_key")),
        seed=seed,
    )
    to, places_out, test, user_key = asked.to, asked.places_out, asked.test, asked.user_key
    is_folder = to in ("partitions", "geolife", "gpx")
    inputs = (source.path, *reading.files)
    check_outputs(out, test, asked.reference, places_out, user_key, inputs=inputs, folders=is_folder)
    asked.check(reading)
    others = (places_out, asked.reference, test, user_key, fill_gaps, merge_places)
    if (
        not any(others)
        and can_convert_in_chunks(reading, source, output)
        and is_processed_in_chunks(POINTS, reading, source, output)
    ):
        return Conversion(_convert_point_chunks(reading, source, output), are_points=True)
    in_chunks = (
        not any(others[1:])
        and to in (None, "table", PARTS)
        and can_be_processed_in_chunks(EVENTS, reading, source)
    )
    if in_chunks and output.in_parts and not (output.cluster or output.resume):
        # A small table, which the whole reader knows, is read whole on its way into parts too.
        in_chunks = chunking.is_large(source)
    elif in_chunks:
        in_chunks = is_processed_in_chunks(EVENTS, reading, source, output)
    if in_chunks:
        return Conversion(_convert_event_chunks(reading, source, output, places_out))
    are_points = reading.grid is None and source.holds_points
    if are_points and not any(others) and (output.in_parts or output.cluster or output.resume):
        is_processed_in_chunks(POINTS, reading, source, output)  # says what is wrong
    refuse_options("files that are converted at once", cluster=output.cluster, resume=output.resume)
    if are_points:
        choose_points_format(out, to)
    key = read_user_key(user_key, to)
    with show_unsaved_progress(f"reading {source.path.name}"):
        whole = reading.read(source)
    if isinstance(whole.traces, GpsTraces):
        refuse_options(
            "GPS points without --grid", places_out=places_out, fill_gaps=fill_gaps, merge_places=merge_places
        )
        refuse_options("GPS points", test=test)
        written = _convert_points(reading, whole.as_points(), asked)
        return Conversion(written, whole.report, are_points=True)
    prepared = prepare_for_sglt(whole.as_events(), fill_gaps=fill_gaps, merge_places=merge_places)
    return _convert_events(reading, source.path, prepared, asked, key)


@dataclass(frozen=True)
class _ConversionOutput:
    """What is to be written, and where."""

    out: Path
    to: str | None
    places_out: Path | None
    reference: Path | None
    test: Path | None
    test_share: float | None
    user_key: Path | None
    seed: int | None

    def check(self, reading: ReadingOptions) -> None:
        """Refuse options that need each other, or contradict each other."""
        if (self.test is None) != (self.test_share is None):
            raise ParameterError("--test-share and --test must be used together")
        if (self.reference is not None) != reading.is_split:
            raise ParameterError(
                "--reference needs --split-at or --reference-days, and these need --reference"
            )
        if self.test is not None and self.reference is not None:
            raise ParameterError("use either --test or --reference, not both; for both, convert in two steps")
        if self.test is None:
            refuse_options("a conversion without --test", seed=self.seed)


def _convert_event_chunks(
    reading: ReadingOptions, file: Input, output: TableOutput, places_out: Path | None
) -> dict[str, Any]:
    """Write a table of events as another, and its places if that is asked for; return what was written."""
    known: list[EventFirstPass] = []

    def sealed() -> None:
        if places_out is not None:
            write_places(known[0].places, places_out)

    job = Transformation(
        build_change=lambda table, root: keep_unchanged,
        depends_on=("convert",),
        check=known.append,
        sealed=sealed,
        users=USERS_PER_PART if output.in_parts else 1,
    )
    with ExitStack() if output.in_parts else replacing_all():
        found, counts = transform_table(EVENTS, reading, file, output, job)
    report: dict[str, Any] = found.report.to_dict()
    return report | {
        "to": output.to or "table",
        "users": len(found.users),
        "events": counts["events"],
        "places": len(found.places),
        "written": [str(path) for path in (output.path, places_out) if path is not None],
    }


def can_convert_in_chunks(reading: ReadingOptions, file: Input, output: TableOutput) -> bool:
    """Whether a table of points can be converted to another a few users at a time."""
    return (
        not any(getattr(reading, name) for name in EVENTS_ONLY)
        and output.to in (None, "points", PARTS)
        and output.is_table
        and can_be_processed_in_chunks(POINTS, reading, file)
        and (file.asked_format is not None or is_point_table(file))
    )


def _convert_point_chunks(reading: ReadingOptions, file: Input, output: TableOutput) -> dict[str, Any]:
    """Write a table of points as another."""
    job = Transformation(
        build_change=lambda table, root: keep_unchanged,
        depends_on=("convert",),
        check=lambda found: chunking.refuse_useless_zone(reading, found.report),
    )
    found, counts = transform_table(POINTS, reading, file, output, job)
    result = {"format": "gps", "users": found.n_users - counts["silent"], "points": counts["points"]}
    return result | {"to": output.to or "points", "written": [str(output.path)]}


def _convert_events(
    reading: ReadingOptions,
    file: Path,
    whole: Reading[Traces],
    asked: _ConversionOutput,
    key: UserKey,
) -> Conversion:
    """Write events at places, and what goes with them."""
    out, places_out = asked.out, asked.places_out
    to = asked.to or guess_format_by_name(out)
    traces, report = whole
    result: dict[str, Any] = {}
    if report.format in GPS_FORMATS:
        refuse_options("GPS points", test=asked.test)
        result = {"format": "gps", "points": report.rows}
    traces = fit_to_format(key.restore_ids(traces, file, to), to, report, key)
    result = report.to_dict() | result
    outputs = {out: traces}
    if asked.test is not None and asked.test_share is not None:
        used = choose_seed(asked.seed)
        outputs[out], users = split_test_users(traces, asked.test_share, used)
        outputs[asked.test] = users
        result |= {"test_users": users.n_users, "test_events": users.n_events, "seed": used}
    elif asked.reference is not None:
        first, second = (half.as_events().traces for half in reading.halves(Reading(traces, report)))
        outputs = {out: second, asked.reference: first}
        result |= _count_halves(first, second)
    if to == "ppmtf":
        # Training users first, testing users after them, as the PPMTF tools number them.
        outputs = {path: key.number_users(side, to) for path, side in outputs.items()}
    numbers = {path: side.user_ids.tolist() for path, side in outputs.items()} if to in LOWEST else {}
    if reading.grid is not None:
        places_out = choose_regions_file(out, to, places_out, traces)
        if reading.bounds is None:
            note_grid(traces)
    aside = [path for path in outputs if path != out]
    with replacing_all(), write_keys_beside(key, numbers, asked.user_key) as keys:
        for path in aside:
            write(outputs[path], path, to=asked.to)
        written = write(outputs[out], out, to=to, places_out=places_out)
    # A grid has all of its cells, and so has a file of places; a table names those of its events.
    in_full = traces.places.grid is not None or len(written) > 1
    result |= {
        "to": to,
        "users": _count_present_users(outputs[out]),
        "events": outputs[out].n_events,
        "places": len(traces.places) if in_full else len(np.unique(outputs[out].place_index)),
        "written": [str(path) for path in (*written, *aside, *keys)],
    }
    remarks = []
    if keys:
        remarks.append(
            "users whose ids are not numbers got a number; the true ids are in "
            f"{', '.join(map(str, keys))}: keep it secret. Ids that are numbers are unchanged; "
            "replace them with `tracearena pseudonymise`"
        )
    if to == "pwscup" and traces.clock.first_day is not None:
        remarks.append(f"the files have numbered days instead of dates: day 1 is {traces.clock.first_day}")
    return Conversion(result, report, tuple(remarks))


def _convert_points(
    reading: ReadingOptions, whole: Reading[GpsTraces], asked: _ConversionOutput
) -> dict[str, Any]:
    """Write GPS points as other GPS points."""
    out, to, reference = asked.out, asked.to, asked.reference
    traces, report = whole
    if not reading.cuts_rows:
        chunking.refuse_useless_zone(reading, report)
    outputs = {out: traces}
    result: dict[str, Any] = {"format": "gps"}
    if reference is not None:
        first, traces = (half.as_points().traces for half in reading.halves(whole))
        outputs = {out: traces, reference: first}
        result |= _count_halves(first, traces)
    with replacing_all():
        for path, points in outputs.items():
            chunking.write_gps_traces(points, path, to)
    result |= {"users": _count_present_users(traces), "points": traces.n_points}
    written = [str(path) for path in outputs]
    return result | {"to": to or guess_format_by_name(out, "points"), "written": written}


def _count_halves(first: Traces | GpsTraces, second: Traces | GpsTraces) -> dict[str, int]:
    """Count the reference half, and the users whom a table of one of the halves does not name."""
    here, there = (np.diff(half.offsets) > 0 for half in (first, second))
    rows = "reference_points" if isinstance(first, GpsTraces) else "reference_events"
    return {
        "reference_users": int(here.sum()),
        rows: len(first),
        "users_in_one_half": int((here != there).sum()),
    }


def _count_present_users(traces: Traces | GpsTraces) -> int:
    """Count the users of whom a file has a row."""
    return int((np.diff(traces.offsets) > 0).sum())


def split_test_users(traces: Traces, share: float, seed: int) -> tuple[Traces, Traces]:
    """Draw floor(share × users) testing users; both sides keep the users' order ([ppmtf])."""
    count = int(share * traces.n_users) if 0 < share < 1 else 0
    if count == 0:
        raise ParameterError.of(
            "test-share", share, f"between 0 and 1, enough for one of {traces.n_users:,} users"
        )
    chosen = np.zeros(traces.n_users, bool)
    chosen[generator(seed).choice(traces.n_users, count, replace=False)] = True
    return traces.take_users(~chosen), traces.take_users(chosen)


def read_user_key(file: Path | None, to: str | None) -> UserKey:
    """Read the key of users if one is named and there; refuse it for formats that keep all ids."""
    if file is None:
        return UserKey()
    if to not in LOWEST:
        raise ParameterError(
            f"--user-key does not apply to {to or 'this output'}, which keeps all ids; only "
            f"{', '.join(LOWEST)} number users"
        )
    return UserKey.read(file, lowest=LOWEST[to]) if file.exists() else UserKey()


def choose_regions_file(out: Path, to: str | None, places_out: Path | None, traces: Traces) -> Path | None:
    """Return where the regions of contest files on a new grid go: nobody could read these without."""
    if places_out is not None or to != "pwscup" or is_stream(out):
        return places_out
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
        f"{beside}: has other regions than this grid; give a file for the new regions with "
        "--places-out, or write to another folder"
    )


def note_grid(traces: Traces) -> None:
    """Print where a grid lies whose bounds nobody named, and how large a cell in its middle is."""
    grid = traces.places.grid
    if grid is not None:
        corners = f"{grid.south:.4f},{grid.west:.4f},{grid.north:.4f},{grid.east:.4f}"
        north_m, east_m = metres_per_degree((grid.south + grid.north) / 2)
        height, width = (grid.north - grid.south) / grid.rows, (grid.east - grid.west) / grid.columns
        high, wide = float(north_m) * height / 1000, float(east_m) * width / 1000
        note(
            f"the grid covers {corners} (south,west,north,east) in cells of {high:.2g} km x "
            f"{wide:.2g} km; choose another box with --bounds"
        )
