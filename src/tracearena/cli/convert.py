"""``tracearena convert``: traces from any format into any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli import _large
from tracearena.cli._compare import prepare_for_sglt
from tracearena.cli._large import ResumeOption
from tracearena.cli._output import (
    ClusterOption,
    JsonOption,
    SeedOption,
    check_outputs,
    choose_seed,
    join_cluster,
    note,
    print_result,
    refuse_options,
    show_unsaved_progress,
)
from tracearena.cli._reading import (
    ReadingOptions,
    choose_regions_file,
    note_grid,
    note_key_files,
    note_lost_dates,
    read_user_key,
    reads_traces,
)

if TYPE_CHECKING:
    from tracearena.io import Reading
    from tracearena.io.id_mapping import UserKey
    from tracearena.traces import GpsTraces, Traces


@reads_traces(halves=True)
def convert(
    context: typer.Context,
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="File of traces, of any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the traces go.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format of OUT, such as points, table or partitions (a folder of parts); a table if omitted "
            "and the name ends .csv or .parquet.",
        ),
    ] = None,
    places_out: Annotated[
        Path | None, typer.Option("--places-out", help="Write the places too, as OUT's format has them.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Where the reference half goes, with --split-at; OUT is the other."),
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option("--test-share", help="Share of the users to set aside for testing, such as 0.2."),
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Where the testing users go.")] = None,
    user_key: Annotated[
        Path | None,
        typer.Option(
            "--user-key",
            help="pwscup, peopleflow, ppmtf: table of users and their numbers, to number several files "
            "alike; made if it does not exist, and new users are added.",
        ),
    ] = None,
    fill_gaps: Annotated[
        bool,
        typer.Option(
            "--fill-gaps",
            help="An event at every instant of a day that has one: on the straight line in between.",
        ),
    ] = False,
    merge_places: Annotated[
        int | None,
        typer.Option("--merge-places", min=1, help="Join nearby, rarely visited places until N are left."),
    ] = None,
    seed: SeedOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert traces, put them on a grid, choose places and instants, set testing users or days aside."""
    from tracearena.io.writers import choose_points_format
    from tracearena.traces import GpsTraces

    asked = _ConversionOutput(out, to, places_out, reference, test, test_share, user_key, seed)
    is_folder = to in ("partitions", "geolife", "gpx")
    check_outputs(
        out, test, reference, places_out, user_key, inputs=(file, *reading.files), folders=is_folder
    )
    asked.check(reading)
    others = (places_out, reference, test, user_key, fill_gaps, merge_places)
    source = reading.open(file)
    if (
        not any(others)
        and _large.can_convert_in_chunks(reading, source, out, to)
        and _large.is_processed_in_chunks(reading, source, out, to, cluster=cluster, resume=resume)
    ):
        _large.convert_points_in_chunks(
            reading, source, out, to, join_cluster(context, cluster), resume, as_json
        )
        return
    in_chunks = (
        not any(others[1:]) and to in (None, "table", _large.PARTS) and _large.is_event_table(reading, source)
    )
    if in_chunks and to == _large.PARTS and not (cluster or resume):
        # A small table, which the whole reader knows, is read whole on its way into parts too.
        in_chunks = _large.is_large(source)
    elif in_chunks:
        in_chunks = _large.are_events_processed_in_chunks(
            reading, source, out, to, cluster=cluster, resume=resume
        )
    if in_chunks:
        workers = join_cluster(context, cluster)
        result = _large.convert_event_table(
            reading, source, out, to=to, places_out=places_out, cluster=workers, resume=resume
        )
        print_result(result if as_json else _format_for_people(result), as_json)
        return
    are_points = reading.grid is None and source.holds_points
    if are_points and not any(others) and (to == _large.PARTS or cluster or resume):
        # Says what is wrong.
        _large.is_processed_in_chunks(reading, source, out, to, cluster=cluster, resume=resume)
    refuse_options("what is converted as a whole", cluster=cluster, resume=resume)
    if are_points:
        choose_points_format(out, to)
    key = read_user_key(user_key, to)
    with show_unsaved_progress(f"reading {file.name}"):
        whole = reading.read(source)
    if isinstance(whole.traces, GpsTraces):
        refuse_options(
            "GPS points without --grid", places_out=places_out, fill_gaps=fill_gaps, merge_places=merge_places
        )
        refuse_options("GPS points", test=test)
        _convert_points(reading, whole.as_points(), asked, as_json)
    else:
        prepared = prepare_for_sglt(whole.as_events(), fill_gaps=fill_gaps, merge_places=merge_places)
        _convert_events(reading, file, prepared, asked, key, as_json)


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
        """Refuse options that belong together and do not stand together."""
        from tracearena.errors import ParameterError

        if (self.test is None) != (self.test_share is None):
            raise ParameterError("--test-share and --test belong together: how many users, and where they go")
        if (self.reference is not None) != reading.is_split:
            raise ParameterError(
                "--reference and --split-at (or --reference-days) belong together: where the first half "
                "goes, and where it ends"
            )
        if self.test is not None and self.reference is not None:
            raise ParameterError("--test sets users aside and --reference days: convert in two steps")
        if self.test is None:
            refuse_options("a conversion that sets no users aside (--test)", seed=self.seed)


def _convert_events(
    reading: ReadingOptions,
    file: Path,
    whole: Reading[Traces],
    asked: _ConversionOutput,
    key: UserKey,
    as_json: bool,
) -> None:
    """Write events at places, and what goes with them."""
    import numpy as np

    from tracearena.files.atomic import replacing_all
    from tracearena.io import GPS_FORMATS, Reading, fit_to_format, write
    from tracearena.io.id_mapping import LOWEST, write_keys_beside
    from tracearena.io.writers import guess_format_by_name

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
    print_result(result if as_json else _format_for_people(result), as_json)
    for line in [] if as_json else report.lines():
        note(line)
    note_key_files(keys)
    note_lost_dates(to, traces)


def _count_halves(first: Traces | GpsTraces, second: Traces | GpsTraces) -> dict[str, int]:
    """Count the reference half, and the users whom a table of one of the halves does not name."""
    import numpy as np

    from tracearena.traces import GpsTraces

    here, there = (np.diff(half.offsets) > 0 for half in (first, second))
    rows = "reference_points" if isinstance(first, GpsTraces) else "reference_events"
    return {
        "reference_users": int(here.sum()),
        rows: len(first),
        "users_in_one_half": int((here != there).sum()),
    }


def _count_present_users(traces: Traces | GpsTraces) -> int:
    """Count the users of whom a file has a row."""
    import numpy as np

    return int((np.diff(traces.offsets) > 0).sum())


def _convert_points(
    reading: ReadingOptions, whole: Reading[GpsTraces], asked: _ConversionOutput, as_json: bool
) -> None:
    """Write GPS points as other GPS points."""
    from tracearena.files.atomic import replacing_all
    from tracearena.io.writers import guess_format_by_name

    out, to, reference = asked.out, asked.to, asked.reference
    traces, report = whole
    if not (reading.cuts_local_times or reading.is_split):
        _large.refuse_useless_zone(reading, report)
    outputs = {out: traces}
    result: dict[str, Any] = {"format": "gps"}
    if reference is not None:
        first, traces = (half.as_points().traces for half in reading.halves(whole))
        outputs = {out: traces, reference: first}
        result |= _count_halves(first, traces)
    with replacing_all():
        for path, points in outputs.items():
            _large.write_gps_traces(points, path, to)
    result |= {"users": _count_present_users(traces), "points": traces.n_points}
    print_result(
        result
        | {"to": to or guess_format_by_name(out, "points"), "written": [str(path) for path in outputs]},
        as_json,
    )
    for line in report.lines():
        note(line)


def split_test_users(traces: Traces, share: float, seed: int) -> tuple[Traces, Traces]:
    """Draw floor(share × users) testing users; both sides keep the users' order ([ppmtf])."""
    from tracearena.engine import generator
    from tracearena.errors import ParameterError

    count = int(share * traces.n_users) if 0 < share < 1 else 0
    if count == 0:
        raise ParameterError.of(
            "test-share", share, f"between 0 and 1, enough for one of {traces.n_users:,} users"
        )
    import numpy as np

    chosen = np.zeros(traces.n_users, bool)
    chosen[generator(seed).choice(traces.n_users, count, replace=False)] = True
    return traces.take_users(~chosen), traces.take_users(chosen)


def _format_for_people(result: dict[str, Any]) -> dict[str, Any]:
    people = {
        "read": f"{result['rows']} rows of {result['file']} as {result['format']}",
        "dropped": f"{result['dropped_rows']} rows",
        "users": result["users"],
        "events": result["events"],
        "places": result["places"],
    }
    if "test_users" in result:
        people["set aside"] = f"{result['test_users']} users with {result['test_events']} events"
    if "reference_users" in result:
        halves = f"{result['reference_users']} users with {result['reference_events']} events"
        people["reference half"] = halves
        people["users in one half only"] = result["users_in_one_half"]
    return people | {"written": ", ".join(result["written"])}
