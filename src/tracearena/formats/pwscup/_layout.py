"""What the columns of each file are called and what may stand in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_ID = 999_999_999
MAX_TIME_ID = 1_000_000
_MOST_DECIMAL_CHARACTERS = 40
_ALWAYS_JUDGED_CHARACTERS = 1_000


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    kind
        ``id`` (one whole number), ``list`` (ids with single spaces between, or ``*``),
        ``decimal`` or ``word``.
    highest
        Largest id; of a decimal, the largest amount.
    known
        The ids that exist, if not all up to `highest` do.
    words
        What a ``word`` may be.
    """

    name: str
    kind: str = "id"
    highest: int = MAX_ID
    known: frozenset[int] | None = None
    words: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """What may stand here, in words."""
        if self.kind == "decimal":
            return f"a decimal number from -{self.highest} to {self.highest}, without exponent"
        if self.kind == "word":
            return " or ".join(self.words)
        one = f"one whole number from 1 to {self.highest}"
        if self.known is not None:
            one += f", one of the {len(self.known)} known ids"
        if self.kind == "id":
            return one
        return f"{one}, or several different ones with one space between, or * alone"

    @property
    def longest(self) -> int:
        """Characters of the longest good cell."""
        if self.kind == "decimal":
            return _MOST_DECIMAL_CHARACTERS
        if self.kind == "word":
            return max(map(len, self.words))
        digits = len(str(self.highest))
        if self.kind == "id":
            return digits
        return (self.highest if self.known is None else len(self.known)) * (digits + 1)


@dataclass(frozen=True)
class Layout:
    """A kind of file: what it is and its columns."""

    title: str
    columns: tuple[Column, ...]

    @property
    def header(self) -> str:
        """The first line."""
        return ",".join(column.name for column in self.columns)

    @property
    def longest_line(self) -> int:
        """Characters beyond which a bad line is not looked at more closely."""
        return max(sum(column.longest + 1 for column in self.columns), _ALWAYS_JUDGED_CHARACTERS)

    def with_last(self, column: Column) -> Layout:
        """Return the layout with another last column."""
        return replace(self, columns=(*self.columns[:-1], column))


_TIME = Column("time_id", highest=MAX_TIME_ID)

TRACES = Layout("reference or original traces", (Column("user_id"), _TIME, Column("reg_id")))
ANONYMIZED = Layout("public traces", (Column("pse_id"), _TIME, Column("reg_id", "list")))
OBFUSCATED = Layout("obfuscated traces", (Column("reg_id", "list"),))
INFERRED_TRACES = Layout("inferred traces", (Column("reg_id"),))
ID_TABLE = Layout("an ID table", (Column("pse_id"), Column("user_id")))
INFERRED_TABLE = Layout("an inferred ID table", (Column("user_id"),))
_CELL_OF_GRID = (
    Column("reg_id"),
    Column("y_id"),
    Column("x_id"),
    Column("y(center)", "decimal", 90),
    Column("x(center)", "decimal", 180),
)
REGIONS = Layout("regions", (*_CELL_OF_GRID, Column("hospital", "word", words=("0", "1"))))
REGIONS_WITHOUT_HOSPITALS = Layout("regions", _CELL_OF_GRID)
TIMES = Layout(
    "times",
    (
        Column("ref/org", "word", words=("ref", "org")),
        _TIME,
        Column("day", highest=MAX_TIME_ID),
        Column("hour", "word", words=tuple(map(str, range(24)))),
        Column("min", "word", words=tuple(map(str, range(60)))),
    ),
)
DISTANCES = Layout(
    "distances",
    (
        Column("reg_id1"),
        Column("reg_id2"),
        Column("dist", "decimal"),
        Column("reg_id1_is_hospital", "word", words=("0", "1")),
    ),
)

LAYOUTS = (
    TRACES,
    ANONYMIZED,
    OBFUSCATED,
    INFERRED_TRACES,
    ID_TABLE,
    INFERRED_TABLE,
    REGIONS,
    REGIONS_WITHOUT_HOSPITALS,
    TIMES,
    DISTANCES,
)


def looks_like(header: str) -> str | None:
    """Name the files that have this header.

    >>> looks_like("pse_id,time_id,reg_id")
    'public traces'
    """
    titles = dict.fromkeys(layout.title for layout in LAYOUTS if layout.header == header)
    return " or ".join(titles) or None
