"""What the numbers on the command line may be: checked in one place, before anything is read.

Click lets ``nan``, ``inf`` and numbers of any length pass. Every whole number and every other number of
every command is checked here: with the limits that its option declares, else with those of `LIMITS`,
else as finite and countable.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

import typer

from tracearena.checks import LARGEST_COUNT, require_number, require_whole


class Limit(NamedTuple):
    """What a number may be; None is no limit."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None


_COUNT = Limit(at_least=1, at_most=LARGEST_COUNT)
_METRES = Limit(above=0, at_most=1e6)
LIMITS: Mapping[str, Limit] = {
    "--top": _COUNT,
    "--reference-days": Limit(at_least=1, at_most=100_000),
    "--teams": Limit(at_least=1, at_most=999),
    "--users": _COUNT,
    "--days": Limit(at_least=1, at_most=100_000),
    "--data-sets": Limit(at_least=1, at_most=2),
    "--anonymization-days": Limit(at_least=1 / 1440, at_most=3650),
    "--attack-days": Limit(at_least=1 / 1440, at_most=3650),
    "--virtual-users": _COUNT,
    "--min-events": Limit(at_least=0, at_most=LARGEST_COUNT),
    "--traces-per-user": Limit(at_least=1, at_most=1_000_000),
    "--folds": Limit(at_least=2, at_most=LARGEST_COUNT),
    "--most-reidentified": Limit(at_least=0, at_most=1),
    "--largest-advantage": Limit(at_least=0, at_most=1),
    "--factors": Limit(at_least=1, at_most=4_096),
    "--iterations": Limit(at_least=1, at_most=1_000_000),
    "--alpha": Limit(above=0, at_most=1e12),
    "--k": _COUNT,
    "--eta": Limit(above=0, at_most=1e6),
    "--verifiers": _COUNT,
    "--classes": _COUNT,
    "--merge-places": _COUNT,
    "--periods": Limit(at_least=1, at_most=86_400),
    "--fakes": Limit(at_least=1, at_most=100_000),
    "--exposure": Limit(above=0, at_most=1),
    "--sensitive-weight": Limit(above=0, at_most=1e9),
    "--final-weight": Limit(above=0, at_most=1e6),
    "--test-share": Limit(above=0, at_most=1),
    "--margin-km": Limit(at_least=0, at_most=100),
    "--targets": _COUNT,
    "--rounds": Limit(at_least=0, at_most=1_000_000),
    "--max-bytes": _COUNT,
    "--max-listed-ids": _COUNT,
    "--threshold": Limit(at_least=0, at_most=2),
    "--slot": Limit(above=0, at_most=86_400 * 366),
    "--window": Limit(above=0, at_most=86_400 * 366),
    "--range": _METRES,
    "--side": _METRES,
    "--within": _METRES,
    "--cell": Limit(at_least=10, at_most=1e6),
    "--every": Limit(at_least=1, at_most=1440),
    "--people": Limit(at_least=1, at_most=1_000_000),
    "--smallest-group": _COUNT,
    "--draws": Limit(at_least=1, at_most=1_000_000),
    "--seed": Limit(at_least=0),
}
"""Limits by option; `--slot` is in seconds where it is a number."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with a check of all its numbers in front."""

    @functools.wraps(command)
    def checked(*arguments: Any, **options: Any) -> Any:
        # The hints are read here, when the command runs: `--help` need not wait for it.
        for name, hint in get_type_hints(command, include_extras=True).items():
            value = options.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                option = _option(name, hint)
                _check(option, value, _declared(hint) or LIMITS.get(option))
        return command(*arguments, **options)

    return checked


def guard_all(app: typer.Typer) -> None:
    """Guard every command of an application and of its groups."""
    for info in app.registered_commands:
        if info.callback is not None:
            info.callback = guarded(info.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            guard_all(group.typer_instance)


def _check(option: str, value: float, limit: Limit | None) -> None:
    whole = isinstance(value, int)
    limit = limit or Limit(at_most=LARGEST_COUNT if whole else 1e15)
    limits = {name: bound for name, bound in limit._asdict().items() if bound is not None}
    check = require_whole if whole and limit.above is None else require_number
    check(option, value, **limits)


def _declared(hint: Any) -> Limit | None:
    """Return the limits that an option has of its own, where it has both."""
    for part in get_args(hint):
        least, most = getattr(part, "min", None), getattr(part, "max", None)
        if least is not None and most is not None:
            return Limit(at_least=least, at_most=most)
    return None


def _option(name: str, hint: Any) -> str:
    """Return what an option is called; inside `Annotated` Typer takes its first name for the default."""
    for part in get_args(hint):
        for declared in (getattr(part, "default", None), *(getattr(part, "param_decls", None) or ())):
            if isinstance(declared, str) and declared.startswith("--"):
                return declared
    return f"--{name.replace('_', '-')}"
