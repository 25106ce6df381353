"""How a table is laid out, where its header does not say it by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.intake.columns import EVENTS, OPTIONS, option_of, plain_name, roles

DELIMITERS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_LONGEST_NAME = 256
ONE_USER = ""
"""What stands for the column of users where all rows are of one."""

_SHOWN_COLUMNS = 12


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a reader of tables is told about them.

    Parameters
    ----------
    columns
        The column of each role: ``user``, ``time``, ``date``, ``lat``, ``lng``, ``place``,
        ``category``, ``offset`` (minutes from UTC to local time) or ``trajectory``. Where there is
        no header, their numbers from 1. Roles that are not named are known by the names of
        `intake.columns`. A date and a time of day in two columns are joined.
    header
        Whether the first line has the names of the columns.
    delimiter
        What stands between fields; the one of comma, semicolon, tab and ``|`` of which the first line
        has most, if omitted.
    decimal
        What stands before the decimals of a number: ``.`` or ``,``.
    time_format
        How times are written, as for ``strptime``: ``%d/%m/%Y %H:%M:%S``. Of a date and a time in two
        columns, with a blank between.
    one_user
        The id of the one person all rows belong to.

    Examples
    --------
    >>> layout = Layout.parse(columns="user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    >>> layout.roles(["MMSI", "BaseDateTime", "LAT", "LON", "SOG"])
    {'user': 'MMSI', 'time': 'BaseDateTime', 'lat': 'LAT', 'lon': 'LON'}
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    delimiter: str | None = None
    decimal: str = "."
    time_format: str | None = None
    one_user: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError.of("decimal", self.decimal, "a point or a comma")
        if self.delimiter is not None and not re.fullmatch(r"[^\w\"\r\n\x00]", self.delimiter, re.ASCII):
            raise ParameterError.of("delimiter", self.delimiter, "one sign such as ; or |, or tab or space")
        if self.time_format is not None and "%" not in self.time_format:
            raise ParameterError.of("time_format", self.time_format, "such as %d/%m/%Y %H:%M:%S")
        if self.one_user is not None and not 1 <= len(self.one_user) <= _LONGEST_NAME:
            raise ParameterError.of("one_user", self.one_user, f"a name of 1 to {_LONGEST_NAME} letters")
        if self.one_user is not None and "user" in self.columns:
            raise ParameterError("one_user and a column of users exclude each other")
        self._check_numbers()

    def _check_numbers(self) -> None:
        if self.header:
            return
        if not self.columns:
            raise ParameterError(
                "without a header every column needs its number: --columns user=1,time=2,lat=3,lng=4 "
                "(columns={'user': 1, 'time': 2, 'lat': 3, 'lng': 4})"
            )
        for role, column in self.columns.items():
            if not (column.isascii() and column.isdigit() and int(column) >= 1):
                allowed = "the number of a column, from 1, because there is no header"
                raise ParameterError.of(f"columns: {option_of(role)}", column, allowed)

    @classmethod
    def parse(
        cls,
        *,
        columns: str | Mapping[str, Any] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        decimal: str = ".",
        time_format: str | None = None,
        one_user: str | None = None,
    ) -> Layout:
        """Read what the command line or a caller says."""
        return cls(
            columns=_parsed(columns),
            header=header,
            delimiter=None if delimiter is None else DELIMITERS.get(delimiter, delimiter),
            decimal=decimal,
            time_format=time_format,
            one_user=None if one_user is None else str(one_user),
        )

    @property
    def given(self) -> tuple[str, ...]:
        """What was said, by the names of the options."""
        said = {
            "columns": bool(self.columns),
            "header": not self.header,
            "delimiter": self.delimiter is not None,
            "decimal": self.decimal != ".",
            "time_format": self.time_format is not None,
            "one_user": self.one_user is not None,
        }
        return tuple(name for name, is_given in said.items() if is_given)

    def refuse_all_but(self, useful: Sequence[str], path: str | PathLike[str], what: str) -> None:
        """Refuse what a format has no use for, instead of ignoring it."""
        if useless := [name for name in self.given if name not in useful]:
            verb = "does" if len(useless) == 1 else "do"
            raise ParameterError(f"{path}: {', '.join(useless)} {verb} not apply to {what}")

    def roles(self, names: Sequence[str], wanted: Sequence[str] = EVENTS) -> dict[str, str]:
        """Return which of the columns has which role: as said, and else by its name."""
        chosen = {role: column for role in wanted if (column := self._chosen(names, role)) is not None}
        found = roles(names, wanted, chosen)
        if "time" in chosen and "date" not in chosen:
            found.pop("date", None)
        return found

    def _chosen(self, names: Sequence[str], role: str) -> str | None:
        if role == "user" and self.one_user is not None:
            return ONE_USER
        return None if role not in self.columns else column_named(names, self.columns[role])

    def require_roles(self, wanted: Sequence[str], path: str | PathLike[str]) -> None:
        """Refuse columns that are named for a role that events, or GPS points, have no use for."""
        if useless := [option_of(role) for role in self.columns if role not in wanted]:
            known = ", ".join(map(option_of, wanted))
            what = "GPS points" if "trajectory" in wanted else "events"
            said = f"columns: {', '.join(useless)} cannot be said of {what}"
            raise ParameterError(f"{path}: {said}, whose columns are {known}")

    def require_columns(self, names: Sequence[str], path: str | PathLike[str]) -> None:
        """Refuse columns that are named and absent."""
        shown = ", ".join(names[:_SHOWN_COLUMNS]) if self.header else f"{len(names)} columns"
        faults = [
            Fault(0, None, shown, f"{option_of(role)}={column}: there is no such column", "columns")
            for role, column in self.columns.items()
            if column_named(names, column) is None
        ]
        if faults:
            raise FileError(path, faults)


AS_NAMED = Layout()
"""A table whose header says it all."""


def _parsed(columns: str | Mapping[str, Any] | None) -> dict[str, str]:
    pairs = _pairs(columns) if isinstance(columns, str) else list((columns or {}).items())
    found: dict[str, str] = {}
    for name, column in pairs:
        role = OPTIONS.get(str(name).strip().lower())
        if role is None:
            raise ParameterError.of("columns", name, f"a role: {', '.join(OPTIONS)}")
        if role in found:
            raise ParameterError(f"columns: the {option_of(role)} is named twice")
        if str(column) in found.values():
            raise ParameterError(f"columns: {column!r} cannot have two roles")
        found[role] = str(column)
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    """Split ``user=MMSI,time=BaseDateTime``; a part without ``=`` goes on with the name before it."""
    pairs: list[tuple[str, str]] = []
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if equals and name.strip():
            pairs.append((name, column))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{part}")
        else:
            raise ParameterError.of("columns", text, "such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    empty = next((name for name, column in pairs if not column.strip()), None)
    if empty is not None or not pairs:
        raise ParameterError.of("columns", text, "such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    return pairs


def column_named(names: Sequence[str], wanted: str) -> str | None:
    """Return the column of a name: as it is written, or else without regard to case and blanks."""
    if wanted in names:
        return wanted
    alike = [name for name in names if plain_name(name) == plain_name(wanted)]
    return alike[0] if len(alike) == 1 else None
