"""Traces of users (reference, original), of pseudonyms (public), and what teams submit about them."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.formats.pwscup._ids import id_column, place_column
from tracearena.formats.pwscup._layout import ANONYMIZED, INFERRED_TRACES, MAX_TIME_ID, OBFUSCATED, TRACES
from tracearena.formats.pwscup._rows import write_rows
from tracearena.formats.pwscup._scan import Rows, scan
from tracearena.formats.pwscup._sheet import open_sheet
from tracearena.formats.pwscup.times import Times, keeping_times, settled_clock
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces
from tracearena.traces.row_table import EventTable

MAX_SUBMISSION_BYTES = 64 * 2**20
MAX_LISTED_IDS = 16_000_000
_CELLS_OF_FINAL_ROUND = 800_000


def read_traces(path: str | PathLike[str], places: Places, clock: Clock | Times | None = None) -> Traces:
    """Read reference or original traces (``user_id,time_id,reg_id``).

    Rows must ascend strictly by user and time. Users need not have an event at every time. Time
    ids count from 1, instants from 0; the span reaches from the first time in the file to the last.

    Parameters
    ----------
    places
        The regions.
    clock
        What the time ids mean; by default what ``info_time.csv`` beside the file says, and without
        one the contest's clock, which must fit.
    """
    sheet = open_sheet(path, TRACES.with_last(place_column(places, "id")))
    rows = scan(sheet, places, n_keys=2)
    sheet.refuse_faulty()
    return Traces(places, _clock(path, clock, rows), place_index=rows.codes, **_frame(rows))


def write_traces(traces: Traces, path: str | PathLike[str], *, with_times: bool = True) -> Path | None:
    """Write reference or original traces.

    With times, ``info_time.csv`` is written beside them where the contest's clock would not do;
    where it went is returned.
    """
    keys = _keys(traces)
    with keeping_times(path, traces) if with_times else nullcontext() as times:
        write_rows(path, TRACES, keys, traces.place_index, places=traces.places)
    return times


def read_obfuscated(
    path: str | PathLike[str],
    original: Traces,
    *,
    allow_repetition: bool = False,
    max_bytes: int | None = None,
    max_listed_ids: int | None = None,
) -> ObfuscatedTraces:
    """Read obfuscated traces (``reg_id``), whose line i belongs to event i of the original.

    Parameters
    ----------
    original
        The traces that were obfuscated.
    allow_repetition
        Accept a region twice in a cell, as the scorer of 2019 did.
    max_bytes, max_listed_ids
        Limits of a submission; by default `MAX_SUBMISSION_BYTES` and `MAX_LISTED_IDS`, in
        proportion more for originals of more than 800,000 events (the final round's).
    """
    sheet = open_sheet(
        path,
        OBFUSCATED.with_last(place_column(original.places, "list")),
        max_bytes=_limit(max_bytes, MAX_SUBMISSION_BYTES, len(original)),
        rows=len(original),
    )
    rows = scan(
        sheet,
        original.places,
        expected_rows=len(original),
        allow_repetition=allow_repetition,
        max_listed_ids=_limit(max_listed_ids, MAX_LISTED_IDS, len(original)),
    )
    sheet.refuse_faulty()
    return ObfuscatedTraces.like(original, rows.codes, rows.sets)


def write_obfuscated(obfuscated: ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write obfuscated traces, without ids, in the order of the original's events."""
    write_rows(path, OBFUSCATED, [], obfuscated.codes, obfuscated.sets, obfuscated.places)


def read_anonymized(
    path: str | PathLike[str],
    places: Places,
    clock: Clock | Times | None = None,
    *,
    allow_repetition: bool = False,
) -> ObfuscatedTraces:
    """Read public traces (``pse_id,time_id,reg_id``); the user ids of the result are pseudonyms.

    The clock is found as in `read_traces`.
    """
    sheet = open_sheet(path, ANONYMIZED.with_last(place_column(places, "list")))
    rows = scan(sheet, places, n_keys=2, allow_repetition=allow_repetition)
    sheet.refuse_faulty()
    clock = _clock(path, clock, rows)
    return ObfuscatedTraces(places, clock, codes=rows.codes, sets=rows.sets, **_frame(rows))


def write_anonymized(anonymized: ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write public traces, with times as in `write_traces`; the user ids must be pseudonyms."""
    keys = _keys(anonymized)
    with keeping_times(path, anonymized):
        write_rows(path, ANONYMIZED, keys, anonymized.codes, anonymized.sets, anonymized.places)


def read_inferred_traces(
    path: str | PathLike[str], original_frame: Traces, *, max_bytes: int | None = None
) -> Traces:
    """Read inferred traces (``reg_id``): exactly one region for each event of the original.

    Parameters
    ----------
    original_frame
        Traces with the users and instants of the original; their places are not looked at. Where
        they have gaps, an answer is expected for the gaps too: an attacker does not know them.
    max_bytes
        Limit of a submission, as in `read_obfuscated`.
    """
    frame = original_frame if original_frame.is_complete else _without_gaps(original_frame)
    sheet = open_sheet(
        path,
        INFERRED_TRACES.with_last(place_column(frame.places, "id")),
        max_bytes=_limit(max_bytes, MAX_SUBMISSION_BYTES, len(frame)),
        rows=len(frame),
    )
    rows = scan(sheet, frame.places, expected_rows=len(frame))
    sheet.refuse_faulty()
    return frame.with_places(rows.codes)


def _without_gaps(traces: Traces) -> Traces:
    anywhere = np.zeros((traces.n_users, traces.n_instants), np.int32)
    return Traces.from_dense(
        anywhere, traces.places, traces.clock, user_ids=traces.user_ids, first_instant=traces.span[0]
    )


def write_inferred_traces(inferred: Traces, path: str | PathLike[str]) -> None:
    """Write inferred traces, without ids, in the order of the original's events."""
    write_rows(path, INFERRED_TRACES, [], inferred.place_index, places=inferred.places)


def _limit(given: int | None, default: int, cells: int) -> int:
    if given is not None:
        return given
    return max(default, default * cells // _CELLS_OF_FINAL_ROUND)


def _clock(path: str | PathLike[str], clock: Clock | Times | None, rows: Rows) -> Clock:
    times = rows.ids[1]
    return settled_clock(path, clock, int(times.min()) - 1, int(times.max()))


def _frame(rows: Rows) -> dict[str, Any]:
    """Return users, offsets and instants of rows sorted by user and time."""
    users, times = rows.ids
    starts = np.flatnonzero(np.diff(users, prepend=0))
    return {
        "user_ids": users[starts].astype(np.int64),
        "offsets": np.append(starts, len(users)),
        "instants": times - 1,
    }


def _keys(table: EventTable) -> list[NDArray[np.int32]]:
    """Return the id and time columns, which must ascend."""
    ids = id_column(table.user_ids, "user ids")
    if not (ids[:-1] < ids[1:]).all():
        raise DataError("users must be in ascending order of their ids: use take_users(np.argsort(ids))")
    if not table.is_regular:
        raise DataError("some users have several events at one instant; PWS Cup files hold one")
    if len(table) and int(table.instants.max()) >= MAX_TIME_ID:
        raise DataError(f"PWS Cup files hold times up to {MAX_TIME_ID}")
    return [ids[table.user_index], table.instants + np.int32(1)]
