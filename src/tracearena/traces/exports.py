"""Traces, places and tables of ids as Polars frames: one row per event, point, place or pseudonym.

The columns have the names that readers know, so that `read` takes events and points back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.traces.gps import GpsTraces
from tracearena.traces.obfuscated import DELETED, IdTable, ObfuscatedTraces
from tracearena.traces.places import Places
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import exact_local_seconds, offset_minutes, utc_seconds, utc_to_zone, zone_to_utc
from tracearena.traces.traces import Traces


def build_event_frame(traces: Traces) -> pl.DataFrame:
    """Return one row per event: user, time, place, coordinates, and the category if there is one.

    Times are UTC, with the minutes to local time in a column of their own, where the traces have
    timestamps; local times without a zone where they have a date; otherwise numbers from 1 (``time_id``).
    """
    places, at = traces.places, traces.place_index
    columns = {"user_id": _repeat_ids(traces.user_ids, traces.user_index)} | build_time_columns(traces)
    columns |= {
        "place": _repeat_ids(places.ids, at),
        "lat": pl.Series(places.latitude[at]),
        "lng": pl.Series(places.longitude[at]),
    }
    if places.categories is not None:
        columns["category"] = _repeat_ids(places.categories, at)
    return pl.DataFrame(columns)


def build_released_frame(traces: ObfuscatedTraces) -> pl.DataFrame:
    """Return one row per event: user, time, and lists of places, lat, lng, and category if there is one.

    The lists are empty where the event was deleted, and have several entries where it is a set.
    """
    columns = {"user_id": _repeat_ids(traces.user_ids, traces.user_index)}
    columns |= build_released_time_columns(traces)
    places = traces.places
    lists = {"places": places.ids, "lat": places.latitude, "lng": places.longitude}
    if places.categories is not None:
        lists["category"] = places.categories
    columns |= {name: _list_place_values(traces, values) for name, values in lists.items()}
    return pl.DataFrame(columns)


def build_released_rows(traces: ObfuscatedTraces) -> pl.DataFrame:
    """Return one row per released place: user, time, place, lat, lng, and category if there is one."""
    frame = build_released_frame(traces)
    lists = [name for name, kind in frame.schema.items() if kind == pl.List]
    return frame.explode(lists).drop_nulls("places").rename({"places": "place"})


def build_point_frame(traces: GpsTraces) -> pl.DataFrame:
    """Return one row per point: user_id, time (UTC), latitude, longitude, traj."""
    return pl.DataFrame(
        {
            "user_id": _repeat_ids(traces.user_ids, traces.user_index),
            "time": pl.Series(traces.time_ms).cast(pl.Datetime("ms", "UTC")),
            "latitude": traces.latitude,
            "longitude": traces.longitude,
            "traj": _repeat_ids(traces.trajectory_ids, traces.trajectory),
        }
    )


def build_place_frame(places: Places) -> pl.DataFrame:
    """Return one row per place: id, coordinates, category if there is one, and whether it is sensitive.

    Cells of a grid have their row and column too, counted from 1 in the south-west.
    """
    columns: dict[str, Any] = {"place": places.ids, "lat": places.latitude, "lng": places.longitude}
    if places.categories is not None:
        columns["category"] = places.categories
    columns["sensitive"] = places.sensitive
    if places.grid is not None:
        row, column = np.divmod(np.arange(len(places)), places.grid.columns)
        columns |= {"row": row + 1, "column": column + 1}
    return pl.DataFrame(columns)


def build_id_table_frame(table: IdTable) -> pl.DataFrame:
    """Return one row per pseudonym, with the user behind it."""
    return pl.DataFrame({"pse_id": table.pseudonyms, "user_id": table.user_ids})


def build_time_columns(traces: Traces) -> dict[str, pl.Series]:
    """Return the columns that say when each event was, with the offset from UTC where that is known."""
    if traces.timestamps is not None:
        moments = _to_microseconds(utc_seconds(traces)).dt.replace_time_zone("UTC")
        return {"time": moments, "utc_offset_min": pl.Series(offset_minutes(traces))}
    return build_local_time_columns(traces)


def build_released_time_columns(traces: ObfuscatedTraces) -> dict[str, pl.Series]:
    """Return the columns that say when each released event is: UTC with the offset, of a known zone.

    The offset is that of the released local time in the zone, whatever the event was before a defence of
    time: an offset that events kept would tell on which side of a change of clocks they were.
    """
    clock = traces.clock
    if clock.timezone is None or clock.first_day is None:
        return build_local_time_columns(traces)
    local = pl.Series(exact_local_seconds(traces))
    utc = zone_to_utc(local, clock.timezone)
    if traces.timestamps is not None:
        # Of an hour that clocks show twice the timestamp tells which is meant.
        known = pl.Series(traces.timestamps)
        utc = known.zip_with(utc_to_zone(known, clock.timezone) == local, utc)
    moments = _to_microseconds(utc.to_numpy()).dt.replace_time_zone("UTC")
    return {"time": moments, "utc_offset_min": (local - utc) // 60}


def build_local_time_columns(traces: EventTable) -> dict[str, pl.Series]:
    """Return the column that says when each event was in local time, or which instant it was."""
    if traces.clock.first_day is not None:
        return {"time": _to_microseconds(exact_local_seconds(traces))}
    return {"time_id": pl.Series(traces.instants + 1)}


def _to_microseconds(seconds: NDArray[np.int64]) -> pl.Series:
    return pl.Series(seconds * 1_000_000).cast(pl.Datetime("us"))


def _repeat_ids(ids: NDArray[Any], index: NDArray[np.int32]) -> pl.Series:
    """Return the id of each row; text is made once for each id, not once for each row."""
    if ids.dtype.kind in "if":
        return pl.Series(ids[index])
    return pl.Series(ids.tolist(), dtype=pl.String).gather(index)


def _list_place_values(traces: ObfuscatedTraces, values: NDArray[Any]) -> pl.Series:
    """Return what the places of each event have, from what each place has.

    There is one list for each place, each set and the deleted, whatever the number of events.
    """
    n, sets = len(traces.places), traces.sets
    members = np.concatenate([np.arange(n), sets.members]).astype(np.int32)
    owner = np.repeat(np.arange(n + len(sets)), np.concatenate([np.ones(n, np.int64), sets.sizes]))
    lists = (
        pl.DataFrame({"list": owner, "values": _repeat_ids(values, members)})
        .group_by("list", maintain_order=True)
        .agg("values")
        .get_column("values")
    )
    nothing = pl.Series("values", [[]], dtype=lists.dtype)
    number = np.where(traces.is_set, n + traces.set_index, traces.codes)
    number[traces.codes == DELETED] = n + len(sets)
    return pl.concat([lists, nothing]).gather(number)
