"""Several tables of events of any size that are counted together: whether they are, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.cli import _event_streams
from tracearena.cli._console import working
from tracearena.cli._reading import ReadingOptions, say
from tracearena.cli._together import naming
from tracearena.files.atomic import scratch_folder

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.streams import CountedTable, EventSurvey, Table
    from tracearena.traces import Traces


def go_through(reading: ReadingOptions, paths: Sequence[Path], *, cluster: str | None = None) -> bool:
    """Whether tables are counted a few users at a time: all can be, and one is large or a cluster is named.

    With a cluster, a table that cannot be is refused.
    """
    each = [(reading, paths[0]), *((reading.for_another(path), path) for path in paths[1:])]
    if cluster is None and not all(_event_streams.are_events(*one) for one in each):
        return False
    through = [_event_streams.goes_through(*one, cluster=cluster) for one in each]
    return any(through)


@contextmanager
def opened(
    reading: ReadingOptions,
    train: Path,
    test: Path,
    synthetic: Sequence[Path],
    slots: str | None,
    cluster: Cluster | None,
) -> Iterator[tuple[CountedTable, CountedTable, list[CountedTable]]]:
    """Look at all rows of the tables, and hand out what can be counted as long as the block runs."""
    from tracearena.streams import counted_together

    paths, options = (train, test, *synthetic), reading
    known: list[tuple[Table[Traces], EventSurvey]] = []
    with scratch_folder() as scratch:
        for path in paths:
            if known:
                first = known[0][1]
                options = reading.for_another(path).like(first.places, first.clock, first.report)
            below = scratch / str(len(known))
            below.mkdir()
            with working(f"reading {path.name}", cluster):
                found_by = path if cluster is None else path.resolve()  # workers may be elsewhere
                known.append(_event_streams.opened(options, found_by, below, is_shared=False))
            say(known[-1][1])
        with naming(*paths):
            together = counted_together(known[0], known[1], known[2:], slots)
        yield together
