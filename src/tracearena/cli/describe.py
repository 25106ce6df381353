"""``tracearena describe``: what is in a file of traces, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli import _large
from tracearena.cli._output import (
    ClusterOption,
    JsonOption,
    check_outputs,
    join_cluster,
    note,
    print_result,
    refuse_options,
    show_unsaved_progress,
)
from tracearena.cli._reading import ReadingOptions, note_problems, reads_traces
from tracearena.errors import FileError

if TYPE_CHECKING:
    from tracearena.io import Input


@reads_traces()
def describe(
    context: typer.Context,
    reading: ReadingOptions,
    file: Annotated[
        Path,
        typer.Argument(metavar="IN", help="File of traces, of any format, or of what is released of them."),
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: what they were made from, to compare."),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with a map and plots.")] = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe traces: users, events, places, span, gaps, duplicates, what was dropped and why.

    Of obfuscated or anonymized traces it says how many events are kept, moved, generalised to sets
    and deleted, at every time of day. For a table of unknown columns it proposes which may be which.
    """
    from tracearena.pages.describe import build_description_page, summarise

    check_outputs(html, inputs=(file, original, *reading.files))
    source = reading.open(file)
    if html is None and original is None and _describe_in_chunks(context, reading, source, cluster, as_json):
        return
    refuse_options("what is read whole", cluster=cluster)
    if original is not None or (reading.format is None and source.is_release):
        _describe_release(reading, source, original, html, as_json)
        return
    try:
        with show_unsaved_progress(f"reading {file.name}"):
            traces, report = reading.read(source)
    except FileError as error:
        _print_proposal(reading, file, error, as_json)
        raise
    with show_unsaved_progress("counting"):
        result = summarise(traces, report).to_dict()
        if html is not None:
            build_description_page(traces, report).write(html)
            note(f"wrote {html}")
    print_result(result if as_json else _format_for_people(result), as_json)
    if not as_json:
        for line in report.lines():
            typer.echo(line)


def _describe_in_chunks(
    context: typer.Context, reading: ReadingOptions, file: Input, cluster: str | None, as_json: bool
) -> bool:
    """Describe a large table a few users at a time; say whether it was one."""
    from tracearena.io.large import is_point_table

    if _large.is_event_table(reading, file):
        if not _large.are_events_processed_in_chunks(reading, file, cluster=cluster):
            return False
        summary = _large.describe_event_table(reading, file, join_cluster(context, cluster))
    else:
        if any(getattr(reading, name) for name in _large.EVENTS_ONLY):
            return False
        if not _large.is_processed_in_chunks(reading, file, cluster=cluster):
            return False
        if reading.format is None and not is_point_table(file):
            return False
        summary = _large.describe_point_table(reading, file, join_cluster(context, cluster))
    result = summary.to_dict()
    print_result(result if as_json else _format_for_people(result), as_json)
    if not as_json:
        for line in summary.report.lines():
            typer.echo(line)
    return True


def _print_proposal(reading: ReadingOptions, file: Path, error: FileError, as_json: bool) -> None:
    """Say how a table of unknown columns may be read, with its first rows as they would be; then end."""
    unknown = any(fault.code in ("format", "columns") for fault in error.faults)
    if not unknown or reading.format is not None or reading.layout():
        return
    from tracearena.io.formats.archives import propose_folder_layout

    proposal = propose_folder_layout(file)
    if proposal is None:
        return
    if as_json:
        typer.echo(json.dumps({"readable": False, **error.to_dict(), "proposal": proposal.to_dict()}))
        return
    note(f"{error.path}: {error.faults[0]}")
    note("Its first rows would then be:")
    for row in proposal.rows:
        note("  " + ", ".join(f"{name} {value}" for name, value in row.items()))
    for doubt in proposal.doubts:
        note(f"But {doubt}")
    raise typer.Exit(2)


def _format_for_people(result: dict[str, Any]) -> dict[str, Any]:
    names = ["format", "users", "events", "trajectories", "places", "visited_places", "first", "last"]
    people = {name: result[name] for name in names if result[name] is not None}
    people["span"] = _format_span(result)
    names = ["bounds", "interval_s", "gaps_over_4h"]
    people |= {name: result[name] for name in names if result[name] is not None}
    spread, gaps = result["events_per_user"], result["gap_h"]
    few, many = f"{spread['least']:,}", f"{spread['most']:,}"
    mean, deviation = f"{spread['mean']:,.1f}", f"{spread['standard_deviation']:,.1f}"
    people["events_per_user"] = (
        f"{few} to {many}, median {spread['median']:,}, mean {mean}, standard deviation {deviation}"
    )
    people["hours_between_events"] = f"median {gaps['median']:g}, longest {gaps['longest']:g}"
    people["rows"] = f"{result['rows']:,}, {result['dropped_rows']:,} dropped"
    if result["trajectories"] is not None:
        people["times"] = result["times"]
    return people


def _format_span(result: dict[str, Any]) -> str:
    """Return how long it is from the first event to the last, whether or not all days have some."""
    return "1 day" if result["days"] == 1 else f"{result['days']:,} days"


def _describe_release(
    reading: ReadingOptions, file: Input, original: Path | None, html: Path | None, as_json: bool
) -> None:
    """Describe obfuscated or anonymized traces."""
    from tracearena.io import read_released
    from tracearena.pages.describe import build_release_page, summarise_release

    truth = None
    with show_unsaved_progress(f"reading {file.path.name}"):
        if original is None:
            refuse_options("released traces", hours=reading.hours, resample=reading.resample)
            refuse_options("released traces", from_date=reading.from_date, to_date=reading.to_date)
            alone = read_released(
                file,
                places=reading.places,
                times=reading.times,
                choices=reading.choices(),
            )
            note_problems(alone)
            released, report = alone
        else:
            whole = reading.read(original).as_events()
            note_problems(whole)
            truth = whole.traces
            released, report = reading.read_obfuscated(file, whole)
    with show_unsaved_progress("counting"):
        summary = summarise_release(released, report, truth)
        if html is not None:
            build_release_page(released, report, truth).write(html)
            note(f"wrote {html}")
    result = summary.to_dict()
    if as_json:
        print_result(result, True)
        return
    names = ["format", "users", "events", "places", "first", "last"]
    people = {name: result[name] for name in names} | {"span": _format_span(result)}
    for name in ("released", "kept", "moved", "sets", "deleted"):
        if result[name] is not None:
            people[name] = f"{result[name]:,} ({result[name] / max(result['events'], 1):.1%})"
    if result["places_of_a_set"] is not None:
        sizes = result["places_of_a_set"]
        people["places_of_a_set"] = f"median {sizes['median']:g}, most {sizes['most']}"
    if result["true_in_set"] is not None and result["sets"]:
        people["sets_with_the_original_place"] = f"{result['true_in_set']:,} of {result['sets']:,}"
    print_result(people, False)
    for label, row in result["by_time"].items():
        if any(row.values()):
            counts = ", ".join(f"{count:,} {name}" for name, count in row.items() if count)
            typer.echo(f"{label}  {counts}")
