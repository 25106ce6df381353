"""Traces of users (reference, original), of pseudonyms (public), and what teams submit about them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_whole
from tracearena.errors import DataError, Fault, ParameterError
from tracearena.io.pwscup.checker import (
    ANONYMIZED,
    DISTANCES,
    ID_TABLE,
    INFERRED_TABLE,
    INFERRED_TRACES,
    MAX_TIME_ID,
    OBFUSCATED,
    REGIONS,
    REGIONS_WITHOUT_HOSPITALS,
    TRACES,
    Sheet,
    SheetRows,
    build_place_column,
    convert_id_column,
    convert_region_ids,
    open_sheet,
    scan_sheet,
    write_lines,
    write_rows,
)
from tracearena.io.pwscup.official_times import ContestTimes, choose_clock, write_times_beside
from tracearena.traces import Clock, Grid, IdTable, ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE
from tracearena.traces.row_table import EventTable

MAX_SUBMISSION_BYTES = 64 * 2**20
MAX_LISTED_IDS = 16_000_000
_CELLS_OF_FINAL_ROUND = 800_000


def read_traces(
    path: str | PathLike[str], places: Places, clock: Clock | ContestTimes | None = None
) -> Traces:
    """Read reference or original traces (``user_id,time_id,reg_id``).

    Rows must be in strictly ascending order of user and time. Users may lack events at some times. Time ids
    count from 1, instants from 0; the span goes from the first time in the file to the last.

    Parameters
    ----------
    places
        The regions.
    clock
        Meaning of the time ids; by default from ``info_time.csv`` in the same folder, and without that file
        the contest's clock, which must fit.
    """
    sheet = open_sheet(path, TRACES.with_last(build_place_column(places, "id")))
    rows = scan_sheet(sheet, places, n_keys=2)
    sheet.refuse_faulty()
    return Traces(places, _choose_rows_clock(path, clock, rows), place_index=rows.codes, **_build_frame(rows))


def write_traces(traces: Traces, path: str | PathLike[str], *, with_times: bool = True) -> Path | None:
    """Write reference or original traces.

    With times, ``info_time.csv`` is written to the same folder if the contest's clock does not fit; its path
    is returned.
    """
    keys = _build_key_columns(traces)
    with write_times_beside(path, traces) if with_times else nullcontext() as times:
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
        Limits of a submission; by default `MAX_SUBMISSION_BYTES` and `MAX_LISTED_IDS`, and proportionally
        more if the original has more than 800,000 events (as in the final round).
    """
    sheet = open_sheet(
        path,
        OBFUSCATED.with_last(build_place_column(original.places, "list")),
        max_bytes=_choose_limit(max_bytes, MAX_SUBMISSION_BYTES, len(original)),
        rows=len(original),
    )
    rows = scan_sheet(
        sheet,
        original.places,
        expected_rows=len(original),
        allow_repetition=allow_repetition,
        max_listed_ids=_choose_limit(max_listed_ids, MAX_LISTED_IDS, len(original)),
    )
    sheet.refuse_faulty()
    return ObfuscatedTraces.like(original, rows.codes, rows.sets)


def write_obfuscated(obfuscated: ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write obfuscated traces, without ids, in the order of the original's events."""
    write_rows(path, OBFUSCATED, [], obfuscated.codes, obfuscated.sets, obfuscated.places)


def read_anonymized(
    path: str | PathLike[str],
    places: Places,
    clock: Clock | ContestTimes | None = None,
    *,
    allow_repetition: bool = False,
) -> ObfuscatedTraces:
    """Read public traces (``pse_id,time_id,reg_id``); the user ids of the result are pseudonyms.

    The clock is found as in `read_traces`.
    """
    sheet = open_sheet(path, ANONYMIZED.with_last(build_place_column(places, "list")))
    rows = scan_sheet(sheet, places, n_keys=2, allow_repetition=allow_repetition)
    sheet.refuse_faulty()
    clock = _choose_rows_clock(path, clock, rows)
    return ObfuscatedTraces(places, clock, codes=rows.codes, sets=rows.sets, **_build_frame(rows))


def write_anonymized(anonymized: ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write public traces, with times as in `write_traces`; the user ids must be pseudonyms."""
    keys = _build_key_columns(anonymized)
    with write_times_beside(path, anonymized):
        write_rows(path, ANONYMIZED, keys, anonymized.codes, anonymized.sets, anonymized.places)


def read_inferred_traces(
    path: str | PathLike[str], original_frame: Traces, *, max_bytes: int | None = None
) -> Traces:
    """Read inferred traces (``reg_id``): exactly one region for each event of the original.

    Parameters
    ----------
    original_frame
        Traces with the users and instants of the original; their places are not used. An answer is expected
        for gaps too, because an attacker does not know them.
    max_bytes
        Limit of a submission, as in `read_obfuscated`.
    """
    frame = original_frame
    if not frame.is_complete:
        anywhere = np.zeros((frame.n_users, frame.n_instants), np.int32)
        frame = Traces.from_dense(
            anywhere, frame.places, frame.clock, user_ids=frame.user_ids, first_instant=frame.span[0]
        )
    sheet = open_sheet(
        path,
        INFERRED_TRACES.with_last(build_place_column(frame.places, "id")),
        max_bytes=_choose_limit(max_bytes, MAX_SUBMISSION_BYTES, len(frame)),
        rows=len(frame),
    )
    rows = scan_sheet(sheet, frame.places, expected_rows=len(frame))
    sheet.refuse_faulty()
    return frame.with_places(rows.codes)


def write_inferred_traces(inferred: Traces, path: str | PathLike[str]) -> None:
    """Write inferred traces, without ids, in the order of the original's events."""
    write_rows(path, INFERRED_TRACES, [], inferred.place_index, places=inferred.places)


def _choose_limit(given: int | None, default: int, cells: int) -> int:
    if given is not None:
        return given
    return max(default, default * cells // _CELLS_OF_FINAL_ROUND)


def _choose_rows_clock(
    path: str | PathLike[str], clock: Clock | ContestTimes | None, rows: SheetRows
) -> Clock:
    times = rows.ids[1]
    return choose_clock(path, clock, int(times.min()) - 1, int(times.max()))


def _build_frame(rows: SheetRows) -> dict[str, Any]:
    """Return users, offsets and instants of rows sorted by user and time."""
    users, times = rows.ids
    starts = np.flatnonzero(np.diff(users, prepend=0))
    return {
        "user_ids": users[starts].astype(np.int64),
        "offsets": np.append(starts, len(users)),
        "instants": times - 1,
    }


def _build_key_columns(table: EventTable) -> list[NDArray[np.int32]]:
    """Return the id and time columns, which must ascend."""
    ids = convert_id_column(table.user_ids, "user ids")
    if not (ids[:-1] < ids[1:]).all():
        raise DataError("users must be in ascending order of their ids: use take_users(np.argsort(ids))")
    if not table.is_regular:
        raise DataError("some users have several events at one instant; PWS Cup files allow one")
    if len(table) and int(table.instants.max()) >= MAX_TIME_ID:
        raise DataError(f"PWS Cup files allow times up to {MAX_TIME_ID}")
    return [ids[table.user_index], table.instants + np.int32(1)]


# The regions (info_region.csv) and the distances between them.

_TOLERANCE_DEGREES = 1e-6
_BOUND_DECIMALS = 9


def contest_regions() -> Places:
    """Return the 1,024 regions of the contest by number, for work that needs no map."""
    tokyo = Grid(rows=32, columns=32, south=35.65, west=139.68, north=35.75, east=139.80)
    return Places.of_grid(tokyo, km_per_degree=CONTEST_KM_PER_DEGREE)


def read_places(path: str | PathLike[str]) -> Places:
    """Read the regions of a grid; hospitals are sensitive.

    Regions must be numbered 1, 2, … row by row from the south-west, and their centres must be those of equal
    cells. The column ``hospital`` may be missing; no region is then sensitive. Distances are planar, with
    `CONTEST_KM_PER_DEGREE`.
    """
    sheet = open_sheet(path, REGIONS, REGIONS_WITHOUT_HOSPITALS)
    rows = [cells for _, cells in sheet.lines()]
    sheet.refuse_faulty()
    latitude = np.array([float(cells[3]) for cells in rows])
    longitude = np.array([float(cells[4]) for cells in rows])
    grid = _check_region_grid(rows, latitude, longitude, sheet)
    return Places(
        latitude,
        longitude,
        ids=np.arange(1, len(rows) + 1),
        sensitive=[cells[5:] == ["1"] for cells in rows],
        grid=grid,
        km_per_degree=CONTEST_KM_PER_DEGREE,
    )


def _check_region_grid(
    rows: list[list[str]], latitude: NDArray[np.float64], longitude: NDArray[np.float64], sheet: Sheet
) -> Grid:
    columns = max(sum(cells[1] == "1" for cells in rows), 1)
    n_rows = len(rows) // columns
    for index, cells in enumerate(rows):
        wanted = [str(index + 1), str(index // columns + 1), str(index % columns + 1)]
        if cells[:3] != wanted:
            problem = f"reg_id,y_id,x_id must be {','.join(wanted)}: regions run eastward, then northward"
            sheet.add(Fault(index + 1, None, ",".join(cells[:3]), problem, "not-a-grid"))
    if n_rows < 2 or columns < 2 or n_rows * columns != len(rows):
        problem = f"{len(rows)} regions with {columns} in the first row are not a grid of at least 2 × 2"
        sheet.add(Fault(None, None, None, problem, "not-a-grid"))
    sheet.refuse_faulty()
    # Rounded, because centres are printed with the noise of their own arithmetic.
    height = (latitude[-1] - latitude[0]) / (n_rows - 1)
    width = (longitude[-1] - longitude[0]) / (columns - 1)
    try:
        grid = Grid(
            rows=n_rows,
            columns=columns,
            south=round(float(latitude[0] - height / 2), _BOUND_DECIMALS),
            west=round(float(longitude[0] - width / 2), _BOUND_DECIMALS),
            north=round(float(latitude[-1] + height / 2), _BOUND_DECIMALS),
            east=round(float(longitude[-1] + width / 2), _BOUND_DECIMALS),
        )
    except ParameterError as error:
        sheet.add(Fault(None, None, None, f"the centres do not span a box: {error}", "not-a-grid"))
        sheet.refuse_faulty()
        raise
    expected = grid.centres()
    for got, want, name in zip((latitude, longitude), expected, ("y(center)", "x(center)"), strict=True):
        for index in np.flatnonzero(np.abs(got - want) > _TOLERANCE_DEGREES).tolist():
            problem = f"cells must be equal: the centre must be near {want[index]:.7f}"
            sheet.add(Fault(index + 1, name, str(got[index]), problem, "not-a-grid"))
    sheet.refuse_faulty()
    return grid


def write_places(places: Places, path: str | PathLike[str]) -> None:
    """Write the regions of a grid of at least 2 × 2 cells with ids 1, 2, …"""
    grid = places.grid
    if grid is None or min(grid.rows, grid.columns) < 2:
        raise DataError("info_region.csv needs the cells of a grid of at least 2 × 2")
    if not np.array_equal(convert_region_ids(places), np.arange(1, len(places) + 1)):
        raise DataError("info_region.csv must number the regions 1, 2, … in the order of the grid")
    lines = []
    for index, (y, x, hospital) in enumerate(
        zip(places.latitude, places.longitude, places.sensitive, strict=True)
    ):
        row, column = divmod(index, grid.columns)
        lines.append(
            f"{index + 1},{row + 1},{column + 1},{_format_decimal(y)},{_format_decimal(x)},{int(hospital)}"
        )
    write_lines(path, REGIONS, lines)


def _format_decimal(value: float) -> str:
    """Return the shortest decimal that reads as this number, never with an exponent."""
    return np.format_float_positional(value, trim="0")


def write_distances(places: Places, path: str | PathLike[str]) -> None:
    """Write the distance in km of every ordered pair of regions, unrounded."""
    ids = convert_region_ids(places).tolist()
    lines = []
    for index, (first, hospital) in enumerate(zip(ids, places.sensitive.tolist(), strict=True)):
        distances = places.distance_km(index, np.arange(len(places))).tolist()
        tail = int(hospital)
        lines += [f"{first},{second},{km!r},{tail}" for second, km in zip(ids, distances, strict=True)]
    write_lines(path, DISTANCES, lines)


# Who is behind which pseudonym: the judge's table and what teams submit as a guess.


def read_id_table(path: str | PathLike[str]) -> IdTable:
    """Read an ID table (``pse_id,user_id``): ascending by pseudonym, no user twice."""
    sheet = open_sheet(path, ID_TABLE)
    pseudonyms, users = scan_sheet(sheet, n_keys=1).ids
    _, first = np.unique(users, return_index=True)
    again = users > 0
    again[first] = False
    problem = "the user already has another pseudonym; an ID table is one to one"
    _note_users(sheet, users, again, problem, "repeated-user")
    sheet.refuse_faulty()
    return IdTable(pseudonyms, users)


def write_id_table(table: IdTable, path: str | PathLike[str]) -> None:
    """Write an ID table, readable by its owner only."""
    columns = [
        convert_id_column(table.pseudonyms, "pseudonyms"),
        convert_id_column(table.user_ids, "user ids"),
    ]
    write_rows(path, ID_TABLE, columns, private=True)


def read_inferred_table(
    path: str | PathLike[str], pseudonyms: Any, *, users: Any = None, max_bytes: int | None = None
) -> IdTable:
    """Read an inferred ID table (``user_id``): line i answers the i-th pseudonym.

    Parameters
    ----------
    pseudonyms
        The pseudonyms, ascending.
    users
        Ids of the existing users; others are refused. Without them, all ids are accepted.
    max_bytes
        Limit of a submission; by default `MAX_SUBMISSION_BYTES`.
    """
    limit = MAX_SUBMISSION_BYTES if max_bytes is None else max_bytes
    sheet = open_sheet(path, INFERRED_TABLE, max_bytes=limit, rows=len(pseudonyms))
    (guesses,) = scan_sheet(sheet, expected_rows=len(pseudonyms)).ids
    if users is not None:
        known = np.asarray(users)
        reach = f"from {known.min()} to {known.max()}" if len(known) else ""
        problem = f"there is no such user; it must be one of the {len(known):,} users {reach}"
        _note_users(sheet, guesses, (guesses > 0) & ~np.isin(guesses, known), problem, "unknown-user")
    sheet.refuse_faulty()
    return IdTable(pseudonyms, guesses)


def write_inferred_table(table: IdTable, path: str | PathLike[str]) -> None:
    """Write the user ids of an inferred table, in the order of the pseudonyms."""
    write_rows(path, INFERRED_TABLE, [convert_id_column(table.user_ids, "user ids")])


def _note_users(
    sheet: Sheet, users: NDArray[np.int32], bad: NDArray[np.bool_], problem: str, code: str
) -> None:
    for row in np.flatnonzero(bad).tolist():
        sheet.add(Fault(row + 1, "user_id", str(users[row]), problem, code))


# How the contest names its files.

KINDS = ("reftraces", "orgtraces", "anotraces", "pubtraces", "ptable", "etable", "etraces")
_ATTACKS = ("etable", "etraces")
_DATA = {"IDP": "01", "TRP": "02"}
_BEGINNING = re.compile(rf"({'|'.join(KINDS)})_team(?:([0-9]{{3}})-)?([0-9]{{3}})_data([0-9]{{2}})_(IDP|TRP)")
_NAME = re.compile(rf"{_BEGINNING.pattern}\.csv(?:\.gz)?")


@dataclass(frozen=True, kw_only=True)
class PwsName:
    """The name of a file: its kind, whose data it is, and what the data is defended against.

    Attributes
    ----------
    kind
        One of `KINDS`.
    team
        The team whose traces these are, 0 to 999; 0 is the organiser.
    purpose
        ``IDP`` (against re-identification, data 01) or ``TRP`` (against trace inference, data 02).
    attacker
        The attacking team, for etable and etraces only.

    Examples
    --------
    >>> name = PwsName.parse("etable_team020-001_data01_IDP.csv")
    >>> name.attacker, name.team, name.purpose
    (20, 1, 'IDP')
    >>> str(PwsName(kind="orgtraces", team=1, purpose="TRP"))
    'orgtraces_team001_data02_TRP.csv'
    """

    kind: str
    team: int
    purpose: str
    attacker: int | None = None

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, KINDS)
        require_choice("purpose", self.purpose, _DATA)
        if (self.attacker is not None) != (self.kind in _ATTACKS):
            raise ParameterError("etable and etraces name an attacking team; the other files do not")
        for name in ("team", "attacker"):
            value = getattr(self, name)
            if value is not None:
                require_whole(name, value, at_least=0, at_most=999)

    @classmethod
    def parse(cls, path: str | PathLike[str]) -> PwsName:
        """Parse the name of a file; folders and a final ``.gz`` are ignored."""
        name = PurePath(path).name
        match = _NAME.fullmatch(name)
        if match is None or _DATA[match[5]] != match[4]:
            allowed = "like orgtraces_team001_data01_IDP.csv or etable_team020-001_data02_TRP.csv"
            raise ParameterError.of("file name", name, allowed)
        attacker = None if match[2] is None else int(match[2])
        return cls(kind=match[1], team=int(match[3]), purpose=match[5], attacker=attacker)

    @classmethod
    def recognise(cls, path: str | PathLike[str]) -> PwsName | None:
        """Parse a name that begins like an official one, whatever follows; None for other names.

        >>> PwsName.recognise("ptable_team001_data01_IDP (1).parquet").kind, PwsName.recognise("mine.csv")
        ('ptable', None)
        """
        match = _BEGINNING.match(PurePath(path).name)
        return None if match is None else cls.parse(f"{match[0]}.csv")

    def __str__(self) -> str:
        teams = f"{self.team:03d}" if self.attacker is None else f"{self.attacker:03d}-{self.team:03d}"
        return f"{self.kind}_team{teams}_data{_DATA[self.purpose]}_{self.purpose}.csv"
