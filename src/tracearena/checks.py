"""Checks of arguments, with the same wording of errors in the whole project.

A check returns nothing, or raises an error that names the value and what is allowed: `ParameterError` for
parameters, `DataError` for an algorithm that is not trained or gets traces of the wrong kind.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from tracearena.errors import DataError, ParameterError

LARGEST_COUNT = 2**31 - 1
"""No count of users, places, days or rounds is larger; what is counts in 32 bits somewhere."""
HEAVIEST = 1e9
"""Largest weight of a sensitive place."""
LARGEST_KM = 40_030.0
"""Once around the earth."""
_CURES = {
    ("Traces", "GpsTraces"): "; GPS points become events on a grid: read(..., grid='32x32')",
    ("Traces", "ObfuscatedTraces"): "; give it the traces before they were obfuscated",
    (
        "ObfuscatedTraces",
        "Traces",
    ): "; use ObfuscatedTraces.from_traces(traces) for traces released unchanged",
    ("ObfuscatedTraces", "GpsTraces"): "; GPS points have attacks of their own (Interpolate, Smooth)",
    ("GpsTraces", "Traces"): "; events at places have defences and attacks of their own",
    ("GpsTraces", "ObfuscatedTraces"): "; events at places have defences and attacks of their own",
}


F = TypeVar("F", bound=Callable[..., Any])


def accepts(options: type[Any]) -> Callable[[F], F]:
    """Let a function whose last parameter is ``**options: Unpack[TypedDict]`` check and show its keywords.

    Python itself takes any keyword there. Others are refused, and `help` lists those of the TypedDict.

    >>> from typing import TypedDict
    >>> @accepts(TypedDict("Colours", {"red": int, "green": int}, total=False))
    ... def paint(wall: str, **colours: int) -> int:
    ...     return sum(colours.values())
    >>> paint("north", red=1, gren=2)
    Traceback (most recent call last):
    tracearena.errors.ParameterError: paint has no option 'gren'; did you mean green?
    """
    listed = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=...,
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in options.__annotations__.items()
    ]

    def check(function: F) -> F:
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()
        known = [one.name for one in (*own, *listed) if one.kind is not one.POSITIONAL_ONLY]

        @wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in known:
                    near = difflib.get_close_matches(name, known, 1)
                    advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
                    raise ParameterError(f"{function.__name__} has no option {name!r}{advice}")
            return function(*arguments, **keywords)

        vars(checked)["__signature__"] = signature.replace(parameters=[*own, *listed])
        return cast(F, checked)

    return check


def require_number(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> None:
    """Raise `ParameterError` unless the value is a finite number in the range.

    >>> require_number("share", 1.5, at_most=1)
    Traceback (most recent call last):
    tracearena.errors.ParameterError: share = 1.5 is not allowed; it must be a number at most 1
    """
    finite = isinstance(value, Integral) or (isinstance(value, Real) and math.isfinite(value))
    if (
        not finite
        or isinstance(value, bool)
        or (at_least is not None and value < at_least)
        or (at_most is not None and value > at_most)
        or (above is not None and value <= above)
        or (below is not None and value >= below)
    ):
        limits = {"of at least": at_least, "greater than": above, "at most": at_most, "less than": below}
        raise _build_range_error(name, value, "a number", limits)


def require_whole(
    name: str, value: Any, *, at_least: float | None = None, at_most: float | None = None
) -> None:
    """Raise `ParameterError` unless the value is a whole number in the range.

    >>> require_whole("days", 1.0, at_least=1)
    Traceback (most recent call last):
    tracearena.errors.ParameterError: days = 1.0 is not allowed; it must be a whole number of at least 1
    """
    if (
        not isinstance(value, Integral)
        or isinstance(value, bool)
        or (at_least is not None and int(value) < at_least)
        or (at_most is not None and int(value) > at_most)
    ):
        raise _build_range_error(name, value, "a whole number", {"of at least": at_least, "at most": at_most})


def _build_range_error(name: str, value: Any, kind: str, limits: dict[str, float | None]) -> ParameterError:
    # Limits are written as people do: 1,000,000 rather than 1e+06.
    said = [
        f"{words} {int(limit):,}" if limit == int(limit) and abs(limit) < 1e15 else f"{words} {limit:g}"
        for words, limit in limits.items()
        if limit is not None
    ]
    if isinstance(value, int) and abs(value) >= 10**60:
        value = float("inf") if value > 0 else -float("inf")
    return ParameterError.of(name, value, f"{kind} {' and '.join(said)}".strip())


def require_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise `ParameterError` unless the value is one of the choices.

    >>> require_choice("zeros", "none", ("sampled", "all"))
    Traceback (most recent call last):
    tracearena.errors.ParameterError: zeros = 'none' is not allowed; it must be sampled or all
    """
    allowed = list(choices)
    # Types first: what equals an array is an array, not yes or no.
    if any(isinstance(value, type(choice)) and value == choice for choice in allowed):
        return
    *first, last = map(str, allowed)
    raise ParameterError.of(name, value, f"{', '.join(first)} or {last}" if first else last)


def require_switch(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is true or false, and neither 1 nor 0 nor text."""
    if not isinstance(value, bool):
        raise ParameterError.of(name, value, "true or false")


def require_fitted(algorithm: Any, learned: str) -> None:
    """Raise `DataError` unless the algorithm has what it learns by `fit`, an attribute of this name.

    >>> require_fitted("SGD(2)", "rows_")
    Traceback (most recent call last):
    tracearena.errors.DataError: SGD(2) is not trained: call fit first
    """
    if not hasattr(algorithm, learned):
        raise DataError(f"{algorithm} is not trained: call fit first")


def require_kind(algorithm: Any, traces: Any, *kinds: type) -> None:
    """Raise `DataError` unless the traces are of (one of) the kinds that the algorithm works on.

    >>> require_kind("RR(2)", [1, 2], dict)
    Traceback (most recent call last):
    tracearena.errors.DataError: RR(2) works on dict; it got list
    """
    if isinstance(traces, kinds):
        return
    wanted, got = kinds[0].__name__, type(traces).__name__
    raise DataError(f"{algorithm} works on {wanted}; it got {got}{_CURES.get((wanted, got), '')}")
