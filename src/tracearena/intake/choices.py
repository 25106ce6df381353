"""How raw events become traces: which places, which instants, which local time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracearena.checks import LARGEST_COUNT, require_whole
from tracearena.errors import ParameterError
from tracearena.traces.box import Box
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import require_zone

_MOST_CELLS = 2**24


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a reader of raw events is asked for.

    Parameters
    ----------
    grid
        Rows and columns of a grid over `bounds`; its cells become the places.
    bounds
        A box, borders included; events outside are left out.
        A grid without bounds covers nearly all of the data (`discretise.robust_box`).
    top
        Keep the so many most visited places only ([ppmtf]: 1,000).
    interval_s
        Seconds from one instant to the next; a day holds a whole number of them. By default an
        hour, or less if all times of the file lie on 5, 10, 15, 20 or 30 minutes.
    slot_s
        Seconds of a slot, a multiple of `interval_s`; by default one instant.
    timezone
        Name such as ``America/New_York``: the local time of all events. Without it the time is
        local where the file gives an offset or names no zone, and times of UTC are put into the
        zone where most of the points lie; the report says so.
    utc_hours
        Ignore the file's offsets and use hours of UTC, as the program of the PPMTF authors does.

    Examples
    --------
    >>> Choices.parse(grid="32x32", bounds="35.65,139.68,35.75,139.80", interval="30min").interval_s
    1800
    """

    grid: tuple[int, int] | None = None
    bounds: Box | None = None
    top: int | None = None
    interval_s: int | None = None
    slot_s: int | None = None
    timezone: str | None = None
    utc_hours: bool = False

    def __post_init__(self) -> None:
        if self.interval_s is not None and (self.interval_s < 1 or DAY_S % self.interval_s):
            raise ParameterError.of("interval", f"{self.interval_s} s", "a whole fraction of a day")
        if self.slot_s is not None and not 1 <= self.slot_s <= DAY_S:
            raise ParameterError.of("slot", f"{self.slot_s} s", "from a second to a day")
        if self.interval_s is not None:
            self.instants_per_slot(self.interval_s)
        if self.top is not None:
            require_whole("top", self.top, at_least=1, at_most=LARGEST_COUNT)
        if self.top is not None and self.grid is not None:
            raise ParameterError("grid and top exclude each other: the cells of a grid are all kept")
        if self.timezone is not None:
            require_zone(self.timezone)
        if self.timezone is not None and self.utc_hours:
            raise ParameterError("timezone and utc_hours exclude each other")

    @property
    def places_are_as_in_file(self) -> bool:
        """Whether nothing is asked of the places."""
        return self.grid is None and self.bounds is None and self.top is None

    @property
    def times_are_as_in_file(self) -> bool:
        """Whether nothing is asked of the times."""
        return (self.interval_s, self.slot_s, self.timezone, self.utc_hours) == (None, None, None, False)

    def instants_per_slot(self, interval_s: int) -> int:
        """Return how many instants of the given interval a slot holds."""
        slot_s = interval_s if self.slot_s is None else self.slot_s
        if slot_s < 1 or slot_s % interval_s:
            raise ParameterError.of("slot", f"{slot_s} s", f"a multiple of the interval of {interval_s} s")
        return slot_s // interval_s

    @classmethod
    def parse(
        cls,
        *,
        grid: str | None = None,
        bounds: str | None = None,
        top: int | None = None,
        interval: str | None = None,
        slot: str | None = None,
        timezone: str | None = None,
        utc_hours: bool = False,
    ) -> Choices:
        """Read the choices as the command line writes them."""
        return cls(
            grid=None if grid is None else grid_shape(grid),
            bounds=None if bounds is None else Box.parse(bounds),
            top=top,
            interval_s=None if interval is None else seconds(interval, "interval"),
            slot_s=None if slot is None else seconds(slot, "slot"),
            timezone=timezone,
            utc_hours=utc_hours,
        )


def seconds(text: str, name: str) -> int:
    """Read a duration such as ``30min``, ``2h`` or ``90s``.

    >>> seconds("2h", "slot")
    7200
    """
    from tracearena.algorithms.spec import Quantity

    match = re.fullmatch(r"(\d{1,6})\s*(s|min|m|h)", text.strip())
    if match is None:
        raise ParameterError.of(name, text, "a number with its unit, such as 20min, 1h or 90s")
    # Where only durations stand, m is no metre.
    return int(Quantity.of(match[1], "min" if match[2] == "m" else match[2]))


def grid_shape(text: str) -> tuple[int, int]:
    """Read rows × columns, such as ``32x32``."""
    match = re.fullmatch(r"(\d{1,5})\s*[x×]\s*(\d{1,5})", text.strip())
    rows, columns = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not 1 <= rows * columns <= _MOST_CELLS:
        raise ParameterError.of(
            "grid", text, f"rows x columns, such as 32x32, of at most {_MOST_CELLS:,} cells"
        )
    return rows, columns
