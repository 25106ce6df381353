"""Tables of events of any size: portions of users as traces that share places and a clock."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import use
from tracearena.intake.choices import Choices
from tracearena.intake.columns import EVENTS
from tracearena.intake.discretise import refuse_other_places, require_coordinates
from tracearena.intake.ids import array_of
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Report
from tracearena.streams.event_files import FORMAT, EventFiles
from tracearena.streams.event_survey import NO_EVENT, EventSurvey, hours_of, survey_events
from tracearena.streams.portions import Portion, Table, cut, spilled
from tracearena.streams.spilling import folder_in
from tracearena.streams.table_files import ROWS_PER_CHUNK, TableFiles, open_table
from tracearena.streams.text_files import is_text
from tracearena.streams.text_tables import rewritten
from tracearena.traces import Clock, Grid, Places, Traces
from tracearena.traces.time import require_zone


def event_table_of(
    path: str | PathLike[str],
    scratch: Path,
    *,
    layout: Layout = AS_NAMED,
    choices: Choices | None = None,
    places: Places | None = None,
    sort: bool = True,
    chunk: int | None = None,
    is_shared: bool = True,
    users: int = 1,
) -> tuple[Table[Traces], EventSurvey]:
    """Look at all rows of a table of events once, and sort them where they are not sorted.

    Parameters
    ----------
    choices
        Which places and instants to make; neither the most visited places nor a grid without bounds,
        which all rows together decide.
    places
        Where events can be, if that is given; otherwise the places that the table names.
    scratch
        Folder for the rows of text, which take about as much room as in the file, and for events that are
        not sorted.
    users
        Every portion but the last has a multiple of so many users.

    See Also
    --------
    table_of : the same for GPS points, with the other parameters.
    """
    chosen = choices or Choices()
    if chosen.timezone is not None:
        require_zone(chosen.timezone)
    report = Report(str(path), "partitions" if Path(path).is_dir() else FORMAT)
    as_text = is_text(Path(path))
    if as_text:
        table: TableFiles = rewritten(
            Path(path), folder_in(scratch), report, EVENTS, layout, chunk or ROWS_PER_CHUNK
        )
    else:
        table = open_table(path, report, EVENTS, layout, nothing=NO_EVENT)
    known = _known_places(chosen, places)
    if known is None:
        require_coordinates(list(table.roles), str(path))
    chunks = table.chunks(chunk)
    # Rows that were rewritten are looked at where they are.
    with use(cluster=None) if as_text and not is_shared else nullcontext():
        files = EventFiles(table, hours_of(table, chosen, places, chunks), chosen, known)
        found = survey_events(files, report, chunks)
    kinds = {"user": found.users.dtype} | ({} if known is not None else {"venue": found.other_ids})
    is_numbered = files.hours.way == "numbers"
    instant = () if is_numbered else (pl.col("local") // found.clock.interval_s,)
    opened: Table[Traces] = Table.of(
        files,
        chunks,
        found,
        cut(found.counts, users=users),
        kinds=kinds,
        made=Assembly.of(found, named=known is None),
        order=("user", *instant, "at"),
        is_text=as_text,
    )
    if found.is_sorted or not sort:
        return opened, found
    return spilled(opened, scratch, is_shared=is_shared), found


def _known_places(choices: Choices, places: Places | None) -> Places | None:
    """Return the places that are known before a row is read."""
    if places is not None:
        refuse_other_places(choices)
        return places
    if choices.grid is None or choices.bounds is None:
        return None
    return Places.of_grid(Grid.over(choices.bounds, *choices.grid))


@dataclass(frozen=True)
class Assembly:
    """Makes traces of sorted rows: what all portions share.

    Attributes
    ----------
    origin
        What is instant 0 (`Extent.origin`).
    names
        The ids of the places, ascending; None where rows have the places' numbers.
    """

    places: Places
    clock: Clock
    origin: int
    span: tuple[int, int]
    is_stamped: bool
    names: pl.Series | None

    @classmethod
    def of(cls, found: EventSurvey, *, named: bool) -> Assembly:
        """Take what is shared from what was found."""
        extent, clock = found.extent, found.clock
        names = pl.Series(found.places.ids.tolist(), dtype=found.other_ids) if named else None
        return cls(found.places, clock, extent.origin(clock), extent.span(clock), found.is_stamped, names)

    def __call__(self, frame: pl.DataFrame, portion: Portion) -> Traces:
        users = frame.select(pl.col("user").rle()).unnest("user")
        lengths = users["len"].to_numpy().astype(np.int64)
        at = frame["at"].to_numpy()
        if self.clock.first_day is None:
            instants = at - self.origin
        else:
            instants = (frame["local"].to_numpy() - self.origin) // self.clock.interval_s
        return Traces(
            self.places,
            self.clock,
            user_ids=array_of(users["value"]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            instants=instants,
            place_index=self._indices(frame),
            timestamps=at if self.is_stamped else None,
            span=self.span,
        )

    def _indices(self, frame: pl.DataFrame) -> NDArray[np.int32]:
        if self.names is None:
            return frame["place"].to_numpy()
        if self.names.dtype == pl.String:
            return frame["venue"].cast(pl.Enum(self.names)).to_physical().to_numpy().astype(np.int32)
        return np.searchsorted(self.names.to_numpy(), frame["venue"].to_numpy()).astype(np.int32)
