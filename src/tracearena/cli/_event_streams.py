"""What commands do with tables of events of any size: a few users at a time, as if all were read at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.cli import _streams
from tracearena.cli._console import note, release_seed, working
from tracearena.cli._reading import ReadingOptions
from tracearena.files.atomic import scratch_folder

if TYPE_CHECKING:
    from tracearena.algorithms import Obfuscator
    from tracearena.cli._shuffling import Pseudonyms
    from tracearena.engine import Cluster
    from tracearena.metrics import UtilityScore
    from tracearena.pages.describe import Summary
    from tracearena.streams import EventSurvey, Table, Unfinished
    from tracearena.streams.survey import Survey
    from tracearena.streams.transforming import Change
    from tracearena.traces import ObfuscatedTraces, Traces

USERS_PER_PART = 1024
"""Parts of events have a multiple of so many users, and at least as many: training reads whole blocks."""


def are_events(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table is one of events that can be worked on a few users at a time, however large it is."""
    return path.exists() and _streams.problem_of_events(reading, path) is None


def goes_through(
    reading: ReadingOptions,
    path: Path,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: str | None = None,
    resume: bool = False,
) -> bool:
    """Whether a table of events is worked on a few users at a time: see `_streams.goes_through`."""
    return _streams.goes_through(
        reading,
        path,
        out,
        to,
        cluster=cluster,
        resume=resume,
        problem_of=_streams.problem_of_events,
        wanted="a CSV or Parquet file of events",
    )


def opened(
    reading: ReadingOptions, path: Path, scratch: Path, **how: Any
) -> tuple[Table[Traces], EventSurvey]:
    """Look at all rows of a table of events."""
    from tracearena.formats.place_files import read_places
    from tracearena.intake.layout import Layout
    from tracearena.streams import event_table_of

    return event_table_of(
        path,
        scratch,
        layout=Layout.parse(**reading.layout()),
        choices=reading.choices(),
        places=None if reading.places is None else read_places(reading.places),
        **how,
    )


def describe(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of events."""
    from tracearena import streams

    with scratch_folder() as scratch:
        with working(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = opened(reading, found_by, scratch, is_shared=False)
        with working("counting", None if table.is_in_scratch else cluster):
            return streams.describe_events(table, found)


def obfuscate(
    reading: ReadingOptions,
    obfuscator: Obfuscator,
    original: Path,
    out: Path,
    *,
    to: str | None,
    seed: int | None,
    cluster: Cluster | None,
    resume: bool,
) -> dict[str, int]:
    """Obfuscate a table of events; return what became of them."""
    from tracearena import streams
    from tracearena.engine import seed_sequence

    reading.say_unread_columns(original, "table")
    found, counts = _written(
        reading,
        original,
        out,
        lambda table, root: streams.obfuscating(table, obfuscator, root),
        partial(streams.write_released, keeps_times=obfuscator.keeps_times),
        to=to,
        cluster=cluster,
        resume=resume,
        depends_on=(*streams.identity_of(obfuscator), seed),
        root=seed_sequence(release_seed(seed)),
    )
    names = ("kept", "moved", "withheld", "generalised", "deleted")
    return {
        "users": len(found.users),
        "cells": counts["events"],
        **{name: counts[name] for name in names if name in counts},
    }


def convert(
    reading: ReadingOptions,
    file: Path,
    out: Path,
    *,
    to: str | None,
    places_out: Path | None,
    cluster: Cluster | None,
    resume: bool,
) -> dict[str, Any]:
    """Write a table of events as another, and its places if that is asked for; return what was written."""
    from tracearena import streams
    from tracearena.files.atomic import replacing_all
    from tracearena.formats.place_files import write_places

    known: list[EventSurvey] = []

    def sealed() -> None:
        if places_out is not None:
            write_places(known[0].places, places_out)

    in_parts = to == _streams.PARTS
    with ExitStack() if in_parts else replacing_all():
        found, counts = _written(
            reading,
            file,
            out,
            lambda table, root: streams.unchanged,
            streams.write_events,
            to=to,
            cluster=cluster,
            resume=resume,
            depends_on=("convert",),
            check=known.append,
            sealed=sealed,
            users=USERS_PER_PART if in_parts else 1,
        )
    return found.report.to_dict() | {
        "to": to or "table",
        "users": len(found.users),
        "events": counts["events"],
        "places": len(found.places),
        "written": [str(path) for path in (out, places_out) if path is not None],
    }


def write_renamed(reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any) -> None:
    """Write a table of events under pseudonyms."""
    from tracearena import streams

    reading.say_unread_columns(file, "table")
    _written(reading, file, out, lambda table, root: streams.under(pseudonyms()), streams.write_events, **how)


def release_goes_through(reading: ReadingOptions, path: Path, out: Path, to: str | None, **how: Any) -> bool:
    """Whether a table of released traces is worked on a few users at a time: see `_streams.goes_through`."""
    return _streams.goes_through(
        reading,
        path,
        out,
        to,
        problem_of=_problem_of_release,
        wanted="a Parquet file of released traces",
        **how,
    )


def _problem_of_release(reading: ReadingOptions, path: Path) -> str | None:
    from tracearena.streams import is_streamable

    if reading.times is not None:
        return "is read with a table of times (--times)"
    return None if is_streamable(path) else "is no table of released traces in Parquet"


def write_release_renamed(
    reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any
) -> None:
    """Write a table of released traces under pseudonyms."""
    from tracearena import streams
    from tracearena.formats.place_files import read_places

    places = None if reading.places is None else read_places(reading.places)

    def writing(
        table: Table[ObfuscatedTraces],
        found: Survey,
        change: Change[ObfuscatedTraces],
        parts: Unfinished | None,
    ) -> None:
        streams.write_anonymized(table, out, change, unfinished=parts)

    _streams.through(
        file,
        out,
        lambda path, scratch: streams.release_table_of(path, places=places),
        lambda table, root: streams.under(pseudonyms()),
        writing,
        rows="events",
        **how,
    )


def utility(
    reading: ReadingOptions, original: Path, obfuscated: Path, cluster: Cluster | None
) -> UtilityScore:
    """Score the utility of a released table beside the table it was made from."""
    from tracearena import streams
    from tracearena.metrics.contest_scores import UtilitySum

    if cluster is not None:  # workers may have been started elsewhere
        original, obfuscated = original.resolve(), obfuscated.resolve()
    with scratch_folder() as scratch:
        with working(f"reading {original.name}", cluster):
            table, found = opened(reading, original, scratch, is_shared=False)
        for line in found.report.lines():
            note(line)
        below = scratch / "released"
        below.mkdir()
        with working(f"reading {obfuscated.name}", cluster):
            both = streams.beside(table, found, obfuscated, below)
        with working("scoring", cluster):
            return both.fold(UtilitySum.of).score


def _written(
    reading: ReadingOptions,
    path: Path,
    out: Path,
    making: Callable[[Table[Traces], Any], Change[Traces]],
    write: Callable[..., dict[str, int]],
    *,
    users: int = 1,
    **how: Any,
) -> tuple[EventSurvey, dict[str, int]]:
    """Change every portion of a table and write the result; return what was found and counted."""

    def writing(
        table: Table[Traces], found: EventSurvey, change: Change[Traces], parts: Unfinished | None
    ) -> tuple[EventSurvey, dict[str, int]]:
        return found, write(table, out, change, unfinished=parts)

    def opening(path: Path, scratch: Path) -> tuple[Table[Traces], EventSurvey]:
        return opened(reading, path, scratch, sort=how.get("arrange") is None, users=users)

    found, counts = _streams.through(path, out, opening, making, writing, rows="events", **how)
    _notice(found, counts)
    return found, counts


def _notice(found: EventSurvey, counts: dict[str, int]) -> None:
    """Report and say what is odd about events that were written."""
    from tracearena.intake.discretise import ODDITIES

    for reason in ODDITIES:
        if counts.get(reason):
            found.report.notice(reason, counts[reason])
            note(f"noticed, {reason}: {counts[reason]:,}")
