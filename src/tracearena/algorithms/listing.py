"""Every algorithm of the catalogue as a table, for a terminal and for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any, overload

from tracearena.algorithms import catalogue
from tracearena.algorithms.description import Description, description_of
from tracearena.algorithms.wording import KIND_WORDS, WORDING, kinds_called
from tracearena.errors import ParameterError

_WIDTH = 100


class Listing(Sequence[Description]):
    """Descriptions of algorithms that print as a table."""

    def __init__(self, described: Sequence[Description]) -> None:
        self._described = tuple(described)

    @overload
    def __getitem__(self, index: int) -> Description: ...
    @overload
    def __getitem__(self, index: slice) -> Listing: ...
    def __getitem__(self, index: int | slice) -> Description | Listing:
        found = self._described[index]
        return Listing(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._described)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return plain values, for JSON or for a frame."""
        return [one.to_dict() for one in self]

    def __str__(self) -> str:
        return "\n\n".join(
            "\n".join([heading, *(line for one in described for line in _lines(one))])
            for heading, described in self._groups()
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for heading, described in self._groups():
            rows.append(f'<tr><th colspan="2" style="text-align:left">{escape(heading)}</th></tr>')
            rows += [
                f'<tr><td style="text-align:left"><code>{escape(one.signature)}</code></td>'
                f'<td style="text-align:left">{escape(one.summary)}</td></tr>'
                for one in described
            ]
        return f"<table>{''.join(rows)}</table>"

    def _groups(self) -> Iterator[tuple[str, list[Description]]]:
        for kind, described in groupby(self, key=lambda one: one.kind):
            words = WORDING[kind]
            yield f"{words.many[0].upper()}{words.many[1:]}: {words.command}", list(described)


def overview(kind: str | None = None) -> Listing:
    """List the algorithms of the catalogue, all or those of a kind.

    One that serves several kinds is listed under each.

    Parameters
    ----------
    kind
        A word such as ``defences``, ``gps-defences``, ``attacks``, ``gps-attacks`` or ``synthesizers``.

    >>> print(overview("gps-defences"))
    Defences of GPS traces: tracearena obfuscate NAME IN OUT
      GeoInd([expected_noise in m], [window in s], [epsilon])
          Move each point by planar Laplace noise: ε-geo-indistinguishability of every point
      Thin(interval in s)
          Keep only the first point of each piece of interval seconds of a trajectory
      Snap(side in m)
          Move each point to the centre of its cell in a world-wide grid
      Zones(radius in m, [shift in m], places=2)
          Leave out all points within radius of a spot near each place where a user stops often
      TrimEnds(distance in m)
          Cut off what lies within distance of the begin and of the end of every trip
      SwapTimes(cell in m, period)
          Permute dates and times of day among all events of a cell and a period
      SwapHours(cell in m)
          Permute times of day among all events of a cell, working days and weekends apart; dates stay
      RoundTime(unit in s)
          Round times down to a unit, such as 3h or the day, and shuffle the rows of each slot
      PerDay(n)
          Keep a number of events per person and local day, drawn at random; all where there are fewer
      ShuffleDays(period)
          Permute the days of each person within the month; weekdays and times of day stay
      Resample(interval in s)
          Keep one point per interval, at the beginning of the interval
    """
    kinds = tuple(WORDING) if kind is None else kinds_called(kind)
    if not kinds:
        raise ParameterError.of("kind", kind, f"one of {', '.join(KIND_WORDS)}")
    known = catalogue.entries().values()
    return Listing(
        [
            description_of(entry.load(), entry.name, one)
            for one in kinds
            for entry in known
            if one in entry.kinds
        ]
    )


def _lines(one: Description) -> list[str]:
    name = textwrap.wrap(
        one.signature, _WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
    )
    return [*name, *textwrap.wrap(one.summary, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
