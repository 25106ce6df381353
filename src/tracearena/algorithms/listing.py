"""Descriptions of the algorithms of the catalogue: one in full, or all as a table.

Descriptions come from the docstrings and fields of the classes, for a terminal, a notebook or JSON.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any, get_args, get_type_hints, overload

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import (
    KIND_WORDS,
    WORDING,
    Algorithm,
    Kind,
    constructor_fields,
    kinds_by_word,
    kinds_of,
    parameter_fields,
)
from tracearena.algorithms.spec import format_parameter, parse
from tracearena.errors import ParameterError

_CITATION = re.compile(r"\s*\(\[[^()]*\)(?=\.?$)")
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n[^\n]+\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
_WIDTH = 100
_PARAMETER = re.compile(r"^(\w[\w, ]*?)(?: : .*)?\n((?:[ \t]+\S.*\n?|\n(?=[ \t]))+)", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm, or a setting.

    Attributes
    ----------
    name
        Its name, as in ``MRLH(mu_x=1, …)``.
    required
        Whether it has no default.
    default
        Its value if it is left out.
    unit
        What it is measured in: m, km, s, min or h; None for plain numbers and words.
    choices
        The words it may be, if it is one of a few.
    is_setting
        Whether it can only be given by its name, and is not part of the name in the papers.
    meaning
        Its meaning, in one sentence.
    """

    name: str
    required: bool
    default: Any
    unit: str | None
    choices: tuple[str, ...]
    is_setting: bool
    meaning: str

    def __str__(self) -> str:
        measured = f"{self.name} in {self.unit}" if self.unit else self.name
        if self.required:
            return measured
        if self.default is None:
            return f"[{measured}]"
        return f"{self.name}={self.default_text}"

    @property
    def default_text(self) -> str:
        """The default as it is written in a name, with its unit."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        text = format_parameter(self.default)
        return text + self.unit if self.unit and isinstance(self.default, (int, float)) else text


@dataclass(frozen=True)
class Description:
    """The description of an algorithm: its purpose, parameters and command.

    Attributes
    ----------
    name, kind, kinds
        Those of the catalogue. If there are several kinds, `kind` is the described one.
    summary
        What it does, in one line.
    parameters
        All parameters and settings, in the order of the papers.
    example
        A name with parameters, as an example.
    path
        Where its class is: module and name.
    """

    name: str
    kind: Kind
    summary: str
    parameters: tuple[Parameter, ...]
    example: str
    path: str
    kinds: tuple[Kind, ...]

    @property
    def signature(self) -> str:
        """The name with its parameters; those in brackets may be left out.

        >>> describe("PL").signature
        'PL(l, r in km)'
        """
        shown = [str(one) for one in self.parameters if not one.is_setting]
        return f"{self.name}({', '.join(shown)})" if shown else self.name

    @property
    def command(self) -> str:
        """A command that uses it."""
        return WORDING[self.kind].command.replace("NAME", f"'{self.example}'")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return dataclasses.asdict(self) | {"signature": self.signature, "command": self.command}

    def __str__(self) -> str:
        about = [*_wrap_text(self.signature, 0, 4), *_wrap_text(self.summary, 4)]
        sorts = ", ".join(WORDING[kind].one for kind in self.kinds)
        about += ["", *_wrap_text(f"{sorts}: {self.command}", 4)]
        if self.parameters:
            column = 6 + max(len(str(one)) for one in self.parameters)
            about.append("")
        for one in self.parameters:
            allowed = f"one of {', '.join(one.choices)}" if one.choices else ""
            setting = "given by its name" if one.is_setting else ""
            words = "; ".join(part for part in (one.meaning.rstrip("."), allowed, setting) if part)
            meaning = _wrap_text(words, column) or [""]
            about += [f"    {one}".ljust(column) + meaning[0].lstrip(), *meaning[1:]]
        return "\n".join(line.rstrip() for line in about)

    __repr__ = __str__


def describe(name: str) -> Description:
    """Return what an algorithm of the catalogue does and takes; an import path is accepted too.

    >>> describe("Thin").parameters[0].unit
    's'
    """
    stages = catalogue.find_pipeline_stages(name)
    if stages:
        raise ParameterError(f"{name} is a pipeline; describe its stages one by one: {', '.join(stages)}")
    bare = parse(name)[0]
    return description_of(catalogue.find(bare), bare)


def description_of(algorithm: type[Algorithm], name: str, kind: Kind | None = None) -> Description:
    """Read a class that is called `name`; one of several kinds is described as one of `kind`."""
    meanings = _parse_meanings(algorithm)
    try:
        hints = {name: get_args(hint) for name, hint in get_type_hints(algorithm).items()}
    except NameError:  # a name that only type checkers import
        hints = {}
    choices = {name: few for name, few in hints.items() if few and all(isinstance(one, str) for one in few)}
    doc = inspect.cleandoc(algorithm.__doc__ or "")
    # A dataclass without a docstring has its signature as one.
    first_line = "" if doc.startswith(f"{algorithm.__name__}(") else doc.partition("\n")[0]
    parameters = []
    for one in constructor_fields(algorithm):
        computed = one.default_factory is not dataclasses.MISSING
        required = one.default is dataclasses.MISSING and not computed
        parameters.append(
            Parameter(
                name=one.name,
                required=required,
                default=None if required or computed else one.default,
                unit=algorithm.units.get(one.name),
                choices=choices.get(one.name, ()),
                is_setting=bool(one.metadata.get("setting")),
                meaning=meanings.get(one.name, ""),
            )
        )
    return Description(
        name,
        kind or algorithm.kind,
        _CITATION.sub("", first_line).rstrip(".").replace("`", ""),
        tuple(parameters),
        _build_example(algorithm, name),
        path=f"{algorithm.__module__}:{algorithm.__qualname__}",
        kinds=kinds_of(algorithm),
    )


def _build_example(algorithm: type[Algorithm], name: str) -> str:
    """Return the bare name if it is enough, else one with values, or with the parameters to fill in."""
    try:
        algorithm()
    except Exception:  # a user's class may raise anything
        entry = catalogue.entries().get(name)
        if entry is not None and entry.example != name:
            return entry.example
        return f"{name}({','.join(one.name for one in parameter_fields(algorithm))})"
    return name


def _wrap_text(text: str, first: int, others: int | None = None) -> list[str]:
    """Return the lines of a text, indented by `first` and then by `others` spaces."""
    margin, rest = " " * first, " " * (first if others is None else others)
    return textwrap.wrap(text, _WIDTH, initial_indent=margin, subsequent_indent=rest, break_on_hyphens=False)


def _parse_meanings(algorithm: type[Algorithm]) -> dict[str, str]:
    """What the docstrings of a class and of those that it derives from say of each parameter."""
    found: dict[str, str] = {}
    for base in reversed(algorithm.__mro__):
        section = _SECTION.search(inspect.cleandoc(base.__doc__ or ""))
        for names, text in _PARAMETER.findall(section[1] + "\n" if section else ""):
            meaning = " ".join(text.replace("`", "").split())
            found |= {name.strip(): meaning for name in names.split(",")}
    return found


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
        parts = []
        for heading, described in self._group_by_kind():
            lines = [heading]
            for one in described:
                lines += _wrap_text(one.signature, 2, 6)
                lines += textwrap.wrap(one.summary, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
            parts.append("\n".join(lines))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for heading, described in self._group_by_kind():
            rows.append(f'<tr><th colspan="2" style="text-align:left">{escape(heading)}</th></tr>')
            rows += [
                f'<tr><td style="text-align:left"><code>{escape(one.signature)}</code></td>'
                f'<td style="text-align:left">{escape(one.summary)}</td></tr>'
                for one in described
            ]
        return f"<table>{''.join(rows)}</table>"

    def _group_by_kind(self) -> Iterator[tuple[str, list[Description]]]:
        for kind, described in groupby(self, key=lambda one: one.kind):
            words = WORDING[kind]
            yield f"{words.many[0].upper()}{words.many[1:]}: {words.command}", list(described)


def overview(kind: str | None = None) -> Listing:
    """List the algorithms of the catalogue, or those of one kind.

    An algorithm of several kinds is listed under each of them.

    Parameters
    ----------
    kind
        A word such as ``defences``, ``gps-defences``, ``attacks``, ``gps-attacks`` or ``synthesizers``.

    >>> print(overview("gps-defences"))
    Defences for GPS traces: tracearena obfuscate NAME IN OUT
      GeoInd([expected_noise in m], [window in s], [epsilon])
          Move each point by planar Laplace noise: ε-geo-indistinguishability of every point
      Thin(interval in s)
          Keep only the first point of each piece of interval seconds of a trajectory
      Snap(side in m)
          Move each point to the centre of its cell in a world-wide grid
      Zones(radius in m, [shift in m], places=2)
          Delete all points within radius of a random spot near each frequent stop of the user
      TrimEnds(distance in m)
          Delete the points within distance of the start and of the end of every trip
      SwapTimes(cell in m, period)
          Permute the dates and times of day of all events in the same cell and period
      SwapHours(cell in m)
          Permute times of day among all events of a cell, working days and weekends apart; dates stay
      RoundTime(unit in s)
          Round times down to a unit, such as 3h or the day, and shuffle the rows of each slot
      PerDay(n)
          Keep a random sample of this many events per person and local day
      ShuffleDays(period)
          Permute the days of each person within the month; weekdays and times of day stay
      Resample(interval in s)
          Keep one point per interval, at the beginning of the interval
    """
    kinds = tuple(WORDING) if kind is None else kinds_by_word(kind)
    if not kinds:
        raise ParameterError.of("kind", kind, f"one of {', '.join(KIND_WORDS)}")
    known = [(one, entry) for one in kinds for entry in catalogue.entries().values() if one in entry.kinds]
    return Listing([description_of(entry.load(), entry.name, one) for one, entry in known])
