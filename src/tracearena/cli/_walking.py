"""How applications go through an original and a release of it: at once, or a few users at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli import _streams
from tracearena.cli._cluster import joined
from tracearena.cli._console import note
from tracearena.cli._gps import read_traces
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions
from tracearena.files.atomic import scratch_folder

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.metrics.applications.paired import Walk
    from tracearena.streams import Table, Together
    from tracearena.streams.survey import Survey
    from tracearena.traces import GpsTraces

OriginalOption = Annotated[
    Path,
    typer.Option("--original", help="Original GPS traces: GeoLife folder or archive, GPX, CSV, Parquet."),
]
ReleasedOption = Annotated[Path, typer.Option("--released", help="What is released of them.")]
IdTableOption = Annotated[
    Path | None,
    typer.Option(
        "--id-table",
        help="Who is who (CSV pse_id,user_id), where the release has pseudonyms; kept secret by its owner.",
    ),
]


@dataclass(frozen=True)
class Files:
    """What is compared: an original, a release, and who is who."""

    original: Path
    released: Path
    id_table: Path | None

    def who_is_who(self) -> dict[str, str] | None:
        """Read the table of who is who, if there is one."""
        if self.id_table is None:
            return None
        from tracearena.formats.pseudonyms import read_pseudonyms

        return read_pseudonyms(self.id_table)

    def read(self, reading: ReadingOptions) -> tuple[GpsTraces, GpsTraces]:
        """Read both files whole."""
        another = reading.for_another(self.released)
        return read_traces(reading, self.original), read_traces(another, self.released)


@contextmanager
def walked(
    context: typer.Context,
    reading: ReadingOptions,
    files: Files,
    what: str,
    *,
    cluster: str | None,
    by_id: bool = True,
) -> Iterator[Walk]:
    """Give the way through both files; what is done with it is shown as `what`.

    Parameters
    ----------
    by_id
        Refuse released ids that are not those of the original.
    """
    who = files.who_is_who()
    if _are_streamed(reading, files, cluster):
        workers = joined(context, cluster)
        with scratch_folder() as folder:
            walk = _together(reading, files, who, folder, workers, by_id)
            with shown(what, workers):
                yield walk
        return
    from tracearena.metrics.applications.paired import AtOnce, with_true_ids

    before, after = files.read(reading)
    with shown(what):
        yield AtOnce(before, with_true_ids(before, after, who) if by_id else after)


def _are_streamed(reading: ReadingOptions, files: Files, cluster: str | None) -> bool:
    """Whether both files are gone through a few users at a time: if one is large and both can be."""
    pairs = ((reading, files.original), (reading.for_another(files.released), files.released))
    asked = [_streams.goes_through(how, path, cluster=cluster) for how, path in pairs]
    return any(asked) and all(_streams.can_go_through(how, path, None, None) for how, path in pairs)


def _together(
    reading: ReadingOptions,
    files: Files,
    who: dict[str, str] | None,
    scratch: Path,
    cluster: Cluster | None,
    by_id: bool,
) -> Together:
    """Look at all rows of both tables, and bring their users together."""
    from tracearena.streams import walk_together

    is_shared = cluster is None or cluster.reaches(scratch)
    before = _opened(reading, files.original, scratch / "original", cluster)
    another = reading.for_another(files.released)
    after = _opened(another, files.released, scratch / "released", cluster)
    with shown("users", cluster):
        walk = walk_together(before, after, scratch, id_table=who, by_id=by_id, is_shared=is_shared)
    if not walk.can_travel:
        note(
            f"points are sorted in {scratch.parent}, which the workers do not reach: the work is done here; "
            "a TMPDIR that all reach lets them do it"
        )
    return walk


def _opened(
    reading: ReadingOptions, path: Path, scratch: Path, cluster: Cluster | None
) -> tuple[Table[GpsTraces], Survey]:
    """Look at all rows of a table, and say what was wrong with them."""
    scratch.mkdir()
    with shown(f"reading {path.name}", cluster):
        found_by = path if cluster is None else path.resolve()
        table, found = _streams.opened(reading, found_by, scratch, sort=False)
    for line in found.report.lines():
        note(line)
    return table, found
