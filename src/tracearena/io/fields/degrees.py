"""Recognise coordinates that are not degrees (metres, cells of a grid) or that are swapped.

A single row is not enough evidence, but most rows are. The evidence against degrees is counted, so that a
file that is read in chunks is judged as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tracearena.errors import Fault, FileError
from tracearena.io.fields.columns import WORDS

if TYPE_CHECKING:
    import polars as pl

SWAPPED = "latitude and longitude seem to be swapped; exchange the columns"
_CELLS = "x and y are whole numbers: cells of a grid or metres, not degrees"
_METRES = (
    "these are projected coordinates (metres), not degrees: convert them to "
    "latitude and longitude (WGS 84) first"
)
_PROJECTED = 1000


@dataclass(frozen=True)
class CoordinateProblem:
    """How many rows speak against degrees in one way, and the first of them."""

    rows: int
    path: str
    first: Fault

    def __add__(self, later: CoordinateProblem) -> CoordinateProblem:
        return replace(self, rows=self.rows + later.rows)


@dataclass(frozen=True)
class CoordinateDoubts:
    """What some rows say against their coordinates being degrees.

    Attributes
    ----------
    read
        Rows with both coordinates.
    broken
        Rows of a map's columns that are no whole numbers, and so no cells.
    against
        What speaks against degrees.
    """

    read: int = 0
    broken: int = 0
    against: Mapping[str, CoordinateProblem] = field(default_factory=dict)

    def __add__(self, other: CoordinateDoubts) -> CoordinateDoubts:
        both = dict(self.against)
        for code, found in other.against.items():
            both[code] = both[code] + found if code in both else found
        return CoordinateDoubts(self.read + other.read, self.broken + other.broken, both)

    def refuse(self) -> None:
        """Refuse rows of which most are no degrees, or all look like cells."""
        for code, found in self.against.items():
            if not self.broken if code == "no-degrees" else 2 * found.rows > self.read:
                raise FileError(found.path, [found.first], found.rows)


def find_coordinate_doubts(
    frame: pl.DataFrame, names: Mapping[str, str], path: str, header_lines: int | None, *, of_maps: bool
) -> CoordinateDoubts:
    """Count what speaks against the columns ``_lat`` and ``_lon`` being degrees.

    Parameters
    ----------
    names
        What the file calls the columns.
    of_maps
        Whether they have the names that maps give to metres, and nobody says that they are degrees.
    """
    latitude, longitude = frame["_lat"].abs(), frame["_lon"].abs()
    whole = (latitude == latitude.floor()) & (longitude == longitude.floor()) if of_maps else None

    def found() -> Iterator[tuple[str, CoordinateProblem]]:
        if whole is not None and whole.any():
            cure = f"if they are degrees, use --columns lng={names['lon']},lat={names['lat']}"
            yield "no-degrees", first_of(whole, f"{_CELLS}; {cure}", "no-degrees")
        if _find_largest(latitude) <= 90 and _find_largest(longitude) <= _PROJECTED:
            return
        far = (latitude > _PROJECTED) | (longitude > _PROJECTED)
        swapped = (latitude > 90) & (latitude <= 180) & (longitude <= 90)
        for bad, problem, code in ((far, _METRES, "projected"), (swapped, SWAPPED, "swapped")):
            if bad.any():
                yield code, first_of(bad, problem, code)

    def first_of(bad: pl.Series, problem: str, code: str) -> CoordinateProblem:
        return CoordinateProblem(
            int(bad.sum()), path, build_degrees_fault(frame.filter(bad), names, problem, code, header_lines)
        )

    read = int((latitude.is_not_null() & longitude.is_not_null()).sum())
    return CoordinateDoubts(read, 0 if whole is None else int((~whole).sum()), dict(found()))


def build_degrees_fault(
    bad: pl.DataFrame, names: Mapping[str, str], problem: str, code: str, header_lines: int | None
) -> Fault:
    """Return what is wrong with the first of some rows."""
    first = bad.row(0, named=True)
    column = ", ".join(names.get(role, WORDS[role]) for role in ("lat", "lon"))
    return Fault(first["row"], column, f"{first['lat']}, {first['lon']}", problem, code, header_lines)


def _find_largest(degrees: pl.Series) -> float:
    most = degrees.max()
    return float(most) if isinstance(most, (int, float)) else 0.0
