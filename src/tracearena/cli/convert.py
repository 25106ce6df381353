"""``tracearena convert``: from any format of traces to any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._output import ClusterOption, JsonOption, ResumeOption, SeedOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.feedback import note
from tracearena.jobs.reading import ReadingOptions


@reads_traces(halves=True)
def convert(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="File of traces, in any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File for the traces.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format of OUT, such as points, table or partitions (a folder of Parquet files). By default "
            "a table if the name ends in .csv or .parquet.",
        ),
    ] = None,
    places_out: Annotated[
        Path | None, typer.Option("--places-out", help="Also write the places to this file.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", help="With --split-at: file for the reference half; OUT gets the other half."
        ),
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option("--test-share", help="Share of users to put into the test set, such as 0.2."),
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="File for the test set.")] = None,
    user_key: Annotated[
        Path | None,
        typer.Option(
            "--user-key",
            help="pwscup, peopleflow, ppmtf: table of user ids and numbers, to "
            "give users the same numbers in "
            "several files; new users are added to it.",
        ),
    ] = None,
    fill_gaps: Annotated[
        bool,
        typer.Option(
            "--fill-gaps",
            help="Fill every instant of a day that has events, by linear interpolation.",
        ),
    ] = False,
    merge_places: Annotated[
        int | None,
        typer.Option("--merge-places", min=1, help="Merge nearby, rarely visited places until N are left."),
    ] = None,
    seed: SeedOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert traces to another format, put them on a grid, select rows, or split them.

    Example:
      tracearena convert trips.csv events.csv --grid 32x32 --interval 30min
    """
    from tracearena import jobs

    result, report, remarks, are_points = jobs.convert(
        file,
        out,
        reading=reading,
        to=to,
        places_out=places_out,
        reference=reference,
        test=test,
        test_share=test_share,
        user_key=user_key,
        fill_gaps=fill_gaps,
        merge_places=merge_places,
        seed=seed,
        cluster=cluster,
        resume=resume,
    )
    print_result(result if as_json or are_points else _format_for_people(result), as_json)
    if report is not None and (are_points or not as_json):
        for line in report.lines():
            note(line)
    for remark in remarks:
        note(remark)


def _format_for_people(result: dict[str, Any]) -> dict[str, Any]:
    people = {
        "read": f"{result['rows']} rows of {result['file']} as {result['format']}",
        "dropped": f"{result['dropped_rows']} rows",
        "users": result["users"],
        "events": result["events"],
        "places": result["places"],
    }
    if "test_users" in result:
        people["test set"] = f"{result['test_users']} users with {result['test_events']} events"
    if "reference_users" in result:
        halves = f"{result['reference_users']} users with {result['reference_events']} events"
        people["reference half"] = halves
        people["users in one half only"] = result["users_in_one_half"]
    return people | {"written": ", ".join(result["written"])}
