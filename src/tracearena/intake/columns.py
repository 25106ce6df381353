"""Which column of a table is which: one table of the names people use, one matcher.

Names are matched without regard to case, blanks, ``_`` and ``-``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracearena.errors import Fault

NAMES: Mapping[str, tuple[str, ...]] = {
    "user": ("userid", "uid", "user"),
    "time": ("trackedat", "datetime", "time", "timestamp", "ts", "utctimestamp", "unixtime"),
    "lat": ("lat", "latitude"),
    "lon": ("lng", "lon", "long", "longitude"),
    "venue": ("place", "placeid", "regid", "poiid", "venue", "venueid", "locationid"),
    "category": ("category", "venuecategory"),
    "offset_min": ("utcoffsetmin", "timezoneoffset"),
    "trajectory": ("traj", "tid"),
}
"""The roles of columns, and the names of each in order of preference."""

INSTANTS = "timeid"
"""The name of a column of times that numbers instants: the last choice of events, no time of points."""

EVENTS = ("user", "time", "lat", "lon", "venue", "category", "offset_min")
POINTS = ("user", "time", "lat", "lon", "trajectory")
"""The roles that a reader of events, or of GPS points, looks for."""

_WORDS = {"lat": "latitude", "lon": "longitude"}
_SHOWN_COLUMNS = 12


def roles(columns: Sequence[str], wanted: Sequence[str] = EVENTS) -> dict[str, str]:
    """Return which column has which role.

    >>> roles(["userId", "Latitude", "lng", "ts", "speed"])
    {'user': 'userId', 'time': 'ts', 'lat': 'Latitude', 'lon': 'lng'}
    """
    plain = {plain_name(column): column for column in reversed(columns)}
    found = {role: next((plain[name] for name in NAMES[role] if name in plain), None) for role in wanted}
    if found.get("time") is None and "venue" in wanted:
        found["time"] = plain.get(INSTANTS)
    return {role: column for role, column in found.items() if column is not None}


def are_enough(found: Mapping[str, str]) -> bool:
    """Whether the columns tell who, when and where."""
    return {"user", "time"} <= set(found) and ("venue" in found or {"lat", "lon"} <= set(found))


def are_points(found: Mapping[str, str]) -> bool:
    """Whether the columns tell where by coordinates alone: GPS points, not events at places.

    Instants (``time_id``) are no times, so that what has them is no GPS.
    """
    return are_enough(found) and "venue" not in found and plain_name(found["time"]) != INSTANTS


def plain_name(column: str) -> str:
    """Return a column's name without case, blanks, ``_`` and ``-``."""
    return "".join(letter for letter in column.lower() if letter not in " _-\"'\ufeff")


def missing(columns: Sequence[str], wanted: Sequence[str] = EVENTS) -> list[Fault]:
    """Return a fault for every role without a column, with the names that it may have."""
    found = roles(columns, wanted)
    needed = ["user", "time"]
    if "venue" not in found:
        needed += ["lat", "lon"]
    shown = ", ".join(columns[:_SHOWN_COLUMNS]) or "none"
    return [
        Fault(
            0, None, shown, f"no column for the {_WORDS.get(role, role)}; {_may_be(role, wanted)}", "columns"
        )
        for role in needed
        if role not in found
    ]


def _may_be(role: str, wanted: Sequence[str]) -> str:
    names = f"it may be called {', '.join(NAMES[role])}"
    if role not in _WORDS or "venue" not in wanted:
        return names
    return f"{names}, or a place stands in its stead ({', '.join(NAMES['venue'])})"
