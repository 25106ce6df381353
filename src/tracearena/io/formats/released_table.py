"""Obfuscated and anonymized traces in a CSV or Parquet file: one row per event, with all of its places.

The columns are ``user_id`` (a user, or a pseudonym); ``time``, the local time to the second, or that at
which the instant begins where no more is known; ``time_id`` instead, the number of the instant from 1, where
days have no dates; ``places``; ``lat`` and ``lng`` of these; and their ``category``, where places have one.
In Parquet these are lists, empty where the event was deleted. In CSV they are joined by blanks, as in the
contest's files, with ``*`` for a deleted event; categories, which may have blanks, by ``|``::

    user_id,time,places,lat,lng
    ann,2012-04-03T18:04:27,7,40.7,-74.0
    ann,2012-04-03T19:00:00,7 8,40.7 40.7,-74.0 -73.9
    bob,2012-04-03T18:00:00,*,,

Blanks, ``*`` and ``%`` within the id of a place are written as in web addresses: ``%20``, ``%2A``, ``%25``;
``|`` and ``%`` within a category as ``%7C``, ``%25``.

Where all times of the original are of one zone and known in UTC, ``time`` is UTC, ending in ``Z``, and
``utc_offset_min`` has the minutes from UTC to local time, as in a table of events. In a file of several zones
the offset would tell where a moved event was, so that local times are written.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, FileError
from tracearena.files.io import MAX_TABLE_EXPANSION, require_expansion
from tracearena.io.discretisation import build_venue_places
from tracearena.io.fields.columns import LONGEST_ID, NUL, convert_ids, has_released_columns
from tracearena.io.report import Reading, Report
from tracearena.io.tables import (
    EXTRA,
    is_parquet,
    list_parquet_files,
    read_parquet,
    read_parquet_schema,
    read_rows,
    read_utf8_bytes,
    split_header,
    split_header_fields,
    write_frame,
)
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, PlaceSets
from tracearena.traces.clock import DAY_S
from tracearena.traces.row_table import arrange_rows
from tracearena.traces.time import EPOCH, are_local, guess_zone

FORMAT = "released"
"""What a report calls this format."""

_TIMES = ("time", "time_id")
_LISTS = ("places", "lat", "lng")
_TIME_STYLE = "%Y-%m-%dT%H:%M:%S"
_DELETED = "*"
_CATEGORY = "category"
_OFFSET = "utc_offset_min"
_FARTHEST_OFFSET_MIN = 18 * 60
_BETWEEN_CATEGORIES = "|"
_ESCAPED = {" ": "%20", "*": "%2A", "%": "%25"}
_ESCAPED_CATEGORY = {"|": "%7C", "%": "%25"}
_HOUR_S = 3600
_MINUTE_S = 60
_LARGEST_TIME_ID = 2**31 - 1
_BYTES_A_VALUE = 8


def write_released_table(released: ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write Parquet where the name ends so, and CSV (packed with ``.gz``) otherwise."""
    write_frame(released.to_frame(), path, lambda: format_released(released))


def read_released_table(
    path: str | PathLike[str], *, places: Places | None = None, clock: Clock | None = None
) -> Reading[ObfuscatedTraces]:
    """Read a file of this format, or a folder of parts; a row that breaks it is a `FileError`.

    Parameters
    ----------
    places
        Where events can be; by default the places that the file names.
    clock
        What instants there are in a day; by default an hour apart, or less where all times lie on
        5, 10, 15, 20 or 30 minutes. Its first day is not looked at: it becomes the file's.

    Notes
    -----
    A time belongs to the instant that it lies in. Where some time lies on no instant, the traces have
    timestamps: seconds of UTC, or local ones where the file does not say how far they are from UTC.
    """
    if Path(path).is_dir():
        parts = [_read_released_parquet(part) for part in list_parquet_files(path)]
        frame = pl.concat(parts).with_columns(row=pl.int_range(1, pl.len() + 1))
    else:
        frame = _read_released_parquet(path) if is_parquet(path) else _read_released_csv(path)
    if not frame.height:
        raise FileError.whole(path, "has a header and no rows", "empty")
    order = convert_ids(frame["user_id"]).unique(maintain_order=True)
    report = Report(str(path), FORMAT, frame.height, user_order=order)
    return Reading(build_released_traces(path, frame, places, clock), report)


def build_released_traces(
    path: str | PathLike[str], frame: pl.DataFrame, places: Places | None, clock: Clock | None
) -> ObfuscatedTraces:
    """Make traces of rows; one that breaks the format is refused by its number, ``row``."""
    users = convert_ids(frame["user_id"])
    _refuse_bad_rows(
        path, frame, "user_id", users.is_null(), f"must name a user in at most {LONGEST_ID} letters"
    )
    if users.dtype == pl.String:
        long = users.str.len_chars() > LONGEST_ID
        _refuse_bad_rows(path, frame, "user_id", long, f"must name a user in at most {LONGEST_ID} letters")
        nul = users.str.contains(NUL, literal=True)
        _refuse_bad_rows(path, frame, "user_id", nul, "must name a user without U+0000")
    known, members, sizes = _parse_places(path, frame, places)
    instants, timestamps, clock = _compute_instants(path, frame, clock, known)
    codes, sets = _build_codes(frame, members, sizes)
    rows = arrange_rows(
        users.to_numpy() if users.dtype == pl.Int64 else np.array(users.to_list()), [instants]
    )
    return ObfuscatedTraces(
        known,
        clock,
        user_ids=rows.user_ids,
        offsets=rows.offsets,
        instants=instants[rows.order],
        codes=codes[rows.order],
        sets=sets,
        timestamps=None if timestamps is None else timestamps[rows.order],
    )


def format_released(released: ObfuscatedTraces) -> pl.DataFrame:
    """Return the rows of CSV, in which lists are text."""
    from tracearena.traces.exports import build_released_time_columns

    # The different lists of places, and which of them each event has.
    _, first, which = np.unique(released.codes, return_index=True, return_inverse=True)
    cells = [np.asarray(released.cell(int(event)), np.int32) for event in first]
    places = released.places
    ids = [_escape_id(name) for name in places.ids.tolist()]
    if "" in ids:
        raise DataError("a place without an id cannot be written to a table of released traces")
    latitude, longitude = (
        list(map(repr, degrees.tolist())) for degrees in (places.latitude, places.longitude)
    )
    joined = {
        "places": [" ".join(ids[place] for place in cell) or _DELETED for cell in cells],
        "lat": [" ".join(latitude[place] for place in cell) for cell in cells],
        "lng": [" ".join(longitude[place] for place in cell) for cell in cells],
    }
    if places.categories is not None:
        categories = [_escape_id(name, _ESCAPED_CATEGORY) for name in places.categories.tolist()]
        joined[_CATEGORY] = [_BETWEEN_CATEGORIES.join(categories[place] for place in cell) for cell in cells]
    lists = {name: pl.Series(texts, dtype=pl.String).gather(which) for name, texts in joined.items()}
    # An empty text would be written as "", where nothing at all says more.
    lists = {name: column.set(column == "", None) for name, column in lists.items()}
    times = build_released_time_columns(released)
    frame = pl.DataFrame({"user_id": released.user_ids[released.user_index], **times, **lists})
    style = f"{_TIME_STYLE}Z" if _OFFSET in frame.columns else _TIME_STYLE
    return frame.with_columns(pl.col(pl.Datetime).dt.to_string(style))


def _escape_id(name: Any, signs: Mapping[str, str] = _ESCAPED) -> str:
    return "".join(signs.get(letter, letter) for letter in str(name))


def _read_released_csv(path: str | PathLike[str]) -> pl.DataFrame:
    header, rest = split_header(read_utf8_bytes(path))
    names, separator = split_header_fields(header)
    _check_released_columns(path, names)
    frame = read_rows(path, rest, names, separator, quoted=True)
    _refuse_bad_rows(path, frame, names[-1], frame[EXTRA].is_not_null(), f"a row has {len(names)} fields")
    _refuse_bad_rows(path, frame, "places", frame["places"].is_null(), f"must name places, or be {_DELETED}")
    gone = pl.col("places") == _DELETED
    empty = pl.lit([], dtype=pl.List(pl.String))
    ids = pl.col("places").str.split(" ")
    if frame["places"].str.contains("%", literal=True).any():
        cells = frame["places"].to_list()
        escaped = [list(map(unquote, cell.split(" "))) if "%" in cell else None for cell in cells]
        ids = pl.coalesce(pl.Series("places", escaped, dtype=pl.List(pl.String)), ids)
    if _CATEGORY in names:
        # A place without a category has an empty one, and a row of such places an empty cell.
        texts = pl.col(_CATEGORY).fill_null("").str.split(_BETWEEN_CATEGORIES)
        plain = pl.element()
        for sign, escape in _ESCAPED_CATEGORY.items():
            plain = plain.str.replace_all(escape, sign, literal=True)
        categories = pl.when(gone).then(empty).otherwise(texts.list.eval(plain))
        frame = frame.with_columns(categories.alias(_CATEGORY))
    split = frame.with_columns(
        pl.when(gone).then(empty).otherwise(ids).alias("places"),
        *(
            pl.when(pl.col(name).is_null()).then(empty).otherwise(pl.col(name).str.split(" ")).alias(name)
            for name in ("lat", "lng")
        ),
    )
    numbers = pl.col("lat", "lng").list.eval(pl.element().cast(pl.Float64, strict=False))
    return split.with_columns(numbers).drop(EXTRA)


def check_released_parquet(path: str | PathLike[str]) -> None:
    """Refuse a Parquet file whose columns are not of this format, or unpack to more than they may."""
    schema = read_parquet_schema(path)
    _check_released_columns(path, list(schema))
    wanted_lists = {"places": "lists of ids", "lat": "lists of numbers", "lng": "lists of numbers"}
    if _CATEGORY in schema:
        wanted_lists[_CATEGORY] = "lists of text"
    for name, wanted in wanted_lists.items():
        kind = schema[name]
        inner = kind.inner if isinstance(kind, pl.List) else None
        is_text = inner == pl.String
        good = {"places": is_text or (inner is not None and inner.is_integer()), _CATEGORY: is_text}
        if not good.get(name, inner is not None and inner.is_float()):
            problem = f"the column has the type {str(kind).partition('(')[0]}; it must hold {wanted}"
            raise FileError(path, [Fault(None, name, None, problem, "column-type")])
    listed = pl.scan_parquet(Path(path), glob=False).select(pl.col(*wanted_lists).list.len().sum())
    values = sum(listed.collect().row(0))
    require_expansion(path, Path(path).stat().st_size, values * _BYTES_A_VALUE, MAX_TABLE_EXPANSION)


def _read_released_parquet(path: str | PathLike[str]) -> pl.DataFrame:
    check_released_parquet(path)
    return convert_ids_to_text(read_parquet(path, lambda names: names).with_row_index("row", 1))


def convert_ids_to_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of Parquet with the ids of places as text, as rows of CSV have them."""
    if frame.schema["places"] == pl.List(pl.String):
        return frame
    return frame.with_columns(pl.col("places").cast(pl.List(pl.String)))


def _check_released_columns(path: str | PathLike[str], names: Sequence[str]) -> None:
    if not has_released_columns(names):
        shown = ", ".join(names[:12])
        wanted = f"user_id, {' or '.join(_TIMES)}, {', '.join(_LISTS)}, and perhaps {_OFFSET}, {_CATEGORY}"
        raise FileError(path, [Fault(0, None, shown, f"the columns must be {wanted}", "columns")])


def _refuse_bad_rows(
    path: str | PathLike[str], frame: pl.DataFrame, column: str, bad: pl.Series, problem: str
) -> None:
    at = bad.fill_null(True).arg_true().to_list()
    if not at:
        return
    cells = frame[column].gather(at[:10])
    # Python has no years before 1, which is what may be wrong.
    values = (cells.cast(pl.String) if cells.dtype.is_temporal() else cells).to_list()
    header_lines = 1 if Path(path).is_file() and not is_parquet(path) else None
    faults = []
    for row, value in zip(at, values, strict=False):
        shown = "" if value is None else str(value)
        if isinstance(value, list):
            shown = " ".join(map(str, value)) or _DELETED
        faults.append(Fault(frame["row"][row], column, shown, problem, "bad-cell", header_lines))
    raise FileError(path, faults, len(at))


def _compute_instants(
    path: str | PathLike[str], frame: pl.DataFrame, clock: Clock | None, places: Places
) -> tuple[NDArray[np.int32], NDArray[np.int64] | None, Clock]:
    """Return the instant of each row, its second unless instants say all, and the clock."""
    if "time_id" in frame.columns:
        numbers = frame["time_id"].cast(pl.Int64, strict=False)
        good = numbers.is_between(1, _LARGEST_TIME_ID)
        _refuse_bad_rows(path, frame, "time_id", ~good, "must be a whole number of at least 1")
        hours = Clock(instants_per_day=DAY_S // _HOUR_S)
        undated = hours if clock is None else replace(clock, first_day=None)
        return (numbers - 1).to_numpy().astype(np.int32), None, undated
    utc = _parse_row_seconds(path, frame)
    second = utc
    if _OFFSET in frame.columns:
        minutes = frame[_OFFSET].cast(pl.Int64, strict=False)
        good = minutes.abs() <= _FARTHEST_OFFSET_MIN
        _refuse_bad_rows(path, frame, _OFFSET, ~good, "must be the minutes from UTC to local time")
        second = utc + minutes.to_numpy() * _MINUTE_S
    day = second // DAY_S
    first = int(day.min())
    if clock is None:
        clock = _build_step_clock(_find_common_step(second))
    number, rest = np.divmod(second % DAY_S - clock.start_s, clock.interval_s)
    off = (number < 0) | (number >= clock.instants_per_day)
    every = f"{clock.label(0)} to {clock.label(clock.instants_per_day - 1)} {clock.interval_words}"
    _refuse_bad_rows(
        path, frame, "time", pl.Series(off), f"is not an instant of the day; the instants are {every}"
    )
    instants = (day - first) * clock.instants_per_day + number
    if int(instants.max()) >= _LARGEST_TIME_ID:
        raise FileError.whole(path, f"covers more than {_LARGEST_TIME_ID:,} instants", "too-long")
    zone = None
    if _OFFSET in frame.columns:
        guess = guess_zone(places.latitude, places.longitude)
        if guess is not None and are_local(pl.Series(second), pl.Series(utc), guess.name):
            zone = guess.name
    dated = replace(clock, first_day=EPOCH + datetime.timedelta(days=first), timezone=zone)
    return instants.astype(np.int32), utc if rest.any() or _OFFSET in frame.columns else None, dated


def _parse_row_seconds(path: str | PathLike[str], frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return the second of each row: of UTC where the offset is known, and otherwise local."""
    moments, in_utc = frame["time"], _OFFSET in frame.columns
    style = f"{_TIME_STYLE}Z" if in_utc else _TIME_STYLE
    if moments.dtype == pl.String:
        moments = moments.str.to_datetime(style, strict=False, time_unit="us")
    elif not isinstance(moments.dtype, pl.Datetime) or (moments.dtype.time_zone is not None) != in_utc:
        problem = "the column must hold " + ("times in UTC" if in_utc else "local times without a zone")
        raise FileError(path, [Fault(None, "time", None, problem, "column-type")])
    inside = moments.dt.year().is_between(1, 9999)
    example = "in UTC such as 2012-04-03T22:00:00Z" if in_utc else "such as 2012-04-03T18:00:00"
    _refuse_bad_rows(
        path, frame, "time", ~inside, f"must be a {'time' if in_utc else 'local time'} {example}"
    )
    return moments.dt.epoch("s").to_numpy().astype(np.int64)


def find_time_step(frame: pl.DataFrame) -> int:
    """Return the largest step, in seconds of an hour, on which all times of rows of Parquet lie."""
    if "time" not in frame.columns:
        return _HOUR_S
    local = frame["time"].dt.epoch("s")
    if _OFFSET in frame.columns:
        local = local + frame[_OFFSET].cast(pl.Int64) * _MINUTE_S
    return _find_common_step(local.to_numpy())


def _find_common_step(second: NDArray[np.int64]) -> int:
    return int(np.gcd.reduce(second % _HOUR_S, initial=_HOUR_S))


def _build_step_clock(step: int) -> Clock:
    """Return a clock of instants that long; of hours where times are known to the minute or finer."""
    interval = step if step > _MINUTE_S else _HOUR_S
    return Clock(instants_per_day=DAY_S // interval, interval_s=interval)


def join_clocks(clocks: Sequence[Clock], steps: Sequence[int]) -> Clock:
    """Return the clock of all rows of a table, from what some rows each have by themselves."""
    days = [clock.first_day for clock in clocks if clock.first_day is not None]
    zones = {clock.timezone for clock in clocks}
    return replace(
        _build_step_clock(math.gcd(*steps)),
        first_day=min(days) if days else None,
        timezone=zones.pop() if len(zones) == 1 else None,
    )


def _parse_places(
    path: str | PathLike[str], frame: pl.DataFrame, places: Places | None
) -> tuple[Places, NDArray[np.int32], NDArray[np.int64]]:
    """Return the places, and of all events in turn which they have and how many."""
    sizes = frame["places"].list.len()
    for name in ("lat", "lng"):
        _refuse_bad_rows(
            path, frame, name, frame[name].list.len() != sizes, "must have a number for every place"
        )
    lists = list(_LISTS)
    if _CATEGORY in frame.columns:
        lists.append(_CATEGORY)
        other = frame[_CATEGORY].list.len() != sizes
        _refuse_bad_rows(path, frame, _CATEGORY, other, "must have a category for every place")
    again = frame["places"].list.n_unique() != sizes
    _refuse_bad_rows(path, frame, "places", again & (sizes > 0), "must not name a place twice")
    flat = frame.filter(sizes > 0).select("row", *lists).explode(*lists)
    good = flat["places"].is_not_null() & (flat["places"].str.len_chars().is_between(1, LONGEST_ID))
    good &= ~flat["places"].str.contains(NUL, literal=True)
    good &= flat["lat"].is_between(-90, 90) & flat["lng"].is_between(-180, 180)
    bad = flat.filter(~good.fill_null(False))["row"].unique()
    problem = "must be places with their latitudes and longitudes"
    _refuse_bad_rows(path, frame, "places", frame["row"].is_in(bad.implode()), problem)
    if places is None:
        # Where a place lies is taken from its first row.
        kept = [name for name in ("lat", "lng", _CATEGORY) if name in flat.columns]
        first = flat.group_by("places", maintain_order=True).agg(pl.col(kept).first())
        first = first.with_columns(places=convert_ids(first["places"])).sort("places")
        places = build_venue_places(np.asarray(first["places"].to_list()), first.rename({"lng": "lon"}))
    texts = pl.Series(list(map(str, places.ids.tolist())), dtype=pl.String)
    index = flat.select("places").join(
        pl.DataFrame({"places": texts, "at": np.arange(len(texts), dtype=np.int32)}),
        on="places",
        how="left",
        maintain_order="left",
    )["at"]
    unknown = flat["row"].filter(index.is_null()).unique()
    problem = f"is not one of the {len(texts):,} known places; name the file of all places with --places"
    _refuse_bad_rows(path, frame, "places", frame["row"].is_in(unknown.implode()), problem)
    return places, index.to_numpy().astype(np.int32), sizes.to_numpy().astype(np.int64)


def _build_codes(
    frame: pl.DataFrame, members: NDArray[np.int32], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int32], PlaceSets]:
    """Return the code of each event, and the different sets in the order of their first use."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes = np.full(len(sizes), DELETED, np.int32)
    single, several = sizes == 1, np.flatnonzero(sizes > 1)
    codes[single] = members[starts[:-1][single]]
    if not len(several):
        return codes, PlaceSets([0], [])
    keys = frame["places"].gather(several).list.join("\0")
    first = keys.arg_unique().sort().to_numpy()
    number = keys.replace_strict(keys.gather(first), np.arange(len(first)), return_dtype=pl.Int32)
    codes[several] = -2 - number.to_numpy()
    chosen = several[first]
    return codes, PlaceSets.of([members[starts[event] : starts[event + 1]] for event in chosen])
