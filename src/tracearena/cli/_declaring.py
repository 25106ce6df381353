"""How a command gets records of options: each is declared once, for all commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from tracearena.cli._option_records import parameters_of
from tracearena.cli._reading import ReadingOptions

LIMITS = ("max_bytes", "max_listed_ids")
"""Options that limit what a submission may be."""


def reads_traces(
    *,
    without: Iterable[str] = (),
    halves: bool = False,
    limits: Iterable[str] = (),
    beside: Mapping[str, type] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of reading; it gets them as the record `reading`.

    Parameters
    ----------
    without
        Options that the command has no use for, or has under the same name for something else.
    halves
        Whether it can cut one file into reference and original traces.
    limits
        Which limits of submissions it sets, of `LIMITS`.
    beside
        Further records of options, by the parameter that gets them.
    """
    records = {**beside, "reading": ReadingOptions}
    left_out = {*without} | (set() if halves else {"split_at", "reference_days"}) | {*LIMITS} - {*limits}

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def reading(**given: Any) -> Any:
            for parameter, record in records.items():
                known = [one.name for one in fields(record) if one.name in given]
                if parameter == "reading":
                    known = [name for name in known if name not in left_out]
                given[parameter] = record(**{name: given.pop(name) for name in known})
            return command(**given)

        _undeclared.append(functools.partial(_declare, reading, command, records, left_out))
        return reading

    return with_options


_undeclared: list[Callable[[], None]] = []


def declare_options() -> None:
    """Let Typer see the options of all commands that have been imported; a list of commands needs none."""
    while _undeclared:
        _undeclared.pop()()


def _declare(
    reading: Callable[..., Any], command: Callable[..., Any], records: Mapping[str, type], left_out: set[str]
) -> None:
    own = inspect.signature(command, eval_str=True)
    kept = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in own.parameters.values()
        if one.name not in records
    ]
    for parameter, record in records.items():
        hidden = left_out if parameter == "reading" else ()
        kept += [one for name, one in parameters_of(record).items() if name not in hidden]
    reading.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
    reading.__annotations__ = {one.name: one.annotation for one in kept} | {"return": own.return_annotation}
