"""``tracearena describe``: the content of a file of traces, and problems in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._output import ClusterOption, JsonOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.errors import FileError
from tracearena.jobs.feedback import note
from tracearena.jobs.reading import ReadingOptions


@reads_traces()
def describe(
    reading: ReadingOptions,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="File of traces in any format, or of obfuscated or anonymized traces."
        ),
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: the original traces, to compare."),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with a map and plots.")] = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a file of traces: users, events, places, time span, gaps, and rows it had to drop.

    For obfuscated or anonymized traces it counts the events that are kept, moved, generalised to sets and
    deleted, by time of day. For a table with unknown columns it proposes a value for --columns.

    Example:
      tracearena describe trips.csv --html trips.html
    """
    from tracearena import jobs
    from tracearena.pages.describe import Summary

    try:
        summary = jobs.describe(file, reading=reading, original=original, html=html, cluster=cluster)
    except FileError as error:
        if error.path == str(file):
            _print_proposal(reading, file, error, as_json)
        raise
    result = summary.to_dict()
    if not isinstance(summary, Summary):
        _print_release(result, as_json)
        return
    print_result(result if as_json else _format_for_people(result), as_json)
    if not as_json:
        for line in summary.report.lines():
            typer.echo(line)


def _print_proposal(reading: ReadingOptions, file: Path, error: FileError, as_json: bool) -> None:
    """Print how a table with unknown columns could be read, with its first rows; then exit."""
    unknown = any(fault.code in ("format", "columns") for fault in error.faults)
    if not unknown or reading.format is not None or reading.parse_layout().option_names:
        return
    from tracearena.io.formats.archives import propose_folder_layout

    proposal = propose_folder_layout(file)
    if proposal is None or not proposal.keywords:
        return
    if as_json:
        typer.echo(json.dumps({"readable": False, **error.to_dict(), "proposal": proposal.to_dict()}))
        return
    note(f"{error.path}: {error.faults[0]}")
    note("With these options its first rows are:")
    for row in proposal.rows:
        note("  " + ", ".join(f"{name} {value}" for name, value in row.items()))
    for doubt in proposal.doubts:
        note(f"Note: {doubt}")
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
    """Return the days from the first event to the last, with or without events."""
    return "1 day" if result["days"] == 1 else f"{result['days']:,} days"


def _print_release(result: dict[str, Any], as_json: bool) -> None:
    """Print the description of obfuscated or anonymized traces."""
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
