"""The grammar of names: ``GeoInd(100m, window=5min)`` is a name, a value with its unit, a named value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tracearena.errors import ParameterError

SMALLEST_BARE = 1.0
"""Metres and seconds below which a number in a name needs its unit: a bare 0.02 is more likely an
epsilon, or kilometres, than two centimetres."""

_SPEC = re.compile(r"\s*([A-Za-z_][\w.:+-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(km|min|m|s|h)?", re.ASCII)
_OTHER_UNIT = re.compile(r"[+-]?[\d.]+\s*[^\W\d_]+")
_UNITS = {"m": ("m", 1.0), "km": ("m", 1000.0), "s": ("s", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0)}


class Quantity(float):
    """A number that was written with a unit, in metres or seconds.

    >>> Quantity.of("1.5", "km"), Quantity.of("1.5", "km").base
    (1500.0, 'm')
    """

    base: str

    @classmethod
    def of(cls, number: str, unit: str) -> Quantity:
        """Turn a number with a unit into metres or seconds."""
        base, factor = _UNITS[unit]
        quantity = cls(float(number) * factor)
        quantity.base = base
        return quantity


def parse(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Split a name into the bare name, positional and named parameters.

    >>> parse("GeoInd(expected_noise=100m, window=5min)")
    ('GeoInd', [], {'expected_noise': 100.0, 'window': 300.0})
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise ParameterError(
            f"{spec!r} is not the name of an algorithm with its parameters, such as MRLH(1,1,0.5)"
        )
    name, inner = match.groups()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in _split_parts(inner) if inner and inner.strip() else []:
        key, equals, text = part.partition("=")
        if equals and "(" not in key:
            named[key.strip()] = _parse_value(text, spec)
        elif named:
            raise ParameterError(f"{spec}: write parameters without a name before those with a name")
        else:
            positional.append(_parse_value(part, spec))
    return name, positional, named


def _split_parts(inner: str, separator: str = ",") -> list[str]:
    """Split at the separators that stand in no inner parentheses: a parameter may itself be a name.

    >>> _split_parts("PL(4,1), 2")
    ['PL(4,1)', ' 2']
    """
    parts, depth = [""], 0
    for character in inner:
        depth += (character == "(") - (character == ")")
        if character == separator and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def split_stages(spec: str) -> list[str]:
    """Split the name of a pipeline into its stages, at every ``+`` outside parentheses.

    >>> split_stages("PL(1,1) + SwapTimes(1km,month)"), split_stages("GeoInd(1e+2m)")
    (['PL(1,1)', 'SwapTimes(1km,month)'], ['GeoInd(1e+2m)'])
    """
    return [part.strip() for part in _split_parts(spec, "+")]


def _parse_value(text: str, spec: str) -> Any:
    text = text.strip()
    if not text:
        raise ParameterError(f"{spec}: a parameter is empty")
    match = _NUMBER.fullmatch(text)
    if match is None:
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
    number, unit = match.groups()
    if unit:
        return Quantity.of(number, unit)
    return int(number) if re.fullmatch(r"[+-]?\d{1,300}", number) else float(number)


def is_bare_name(name: object) -> bool:
    """Whether this can be the name of an algorithm, without parameters.

    >>> is_bare_name("VisitProb-R"), is_bare_name("RR(1)"), is_bare_name("")
    (True, False, False)
    """
    return isinstance(name, str) and "(" not in name and _SPEC.fullmatch(name) is not None


def format_parameter(value: Any, unit: str | None = None) -> str:
    """Write a value so that `parse` reads it back: with its unit where a bare number is refused.

    >>> format_parameter(0.1), format_parameter(0.5, "m")
    ('0.1', '0.5m')
    >>> format_parameter(100.0, "m"), format_parameter(None)
    ('100', 'None')
    """
    if unit is not None and _is_small(value, unit):
        return format_parameter(value) + unit
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def format_quantity(value: float, base: str) -> str:
    """Write metres or seconds in the largest unit that divides them, so that `parse` reads them back.

    >>> format_quantity(7200, "s"), format_quantity(90, "s"), format_quantity(1500, "m")
    ('2h', '90s', '1500m')
    """
    units = [(factor, unit) for unit, (of, factor) in _UNITS.items() if of == base]
    factor, unit = max(one for one in units if one[0] == 1 or value % one[0] == 0)
    return format_parameter(value if factor == 1 else value / factor) + unit


def convert_to_unit(parameter: str, value: Any, unit: str | None, instead: Iterable[str] = ()) -> Any:
    """Turn a quantity into the unit its parameter is measured in; other values pass as they are.

    A bare number that would mean less than a metre or a second is refused; `instead` names the
    parameters that it may have been meant for.

    >>> convert_to_unit("r", Quantity.of("500", "m"), "km")
    0.5
    """
    if not isinstance(value, Quantity):
        if unit is not None and isinstance(value, str) and _OTHER_UNIT.fullmatch(value):
            raise ParameterError(
                f"{parameter} = {value}: unknown unit; use one of {', '.join(_list_related_units(unit))}"
            )
        if unit is not None and _is_small(value, unit):
            said = format_parameter(value)
            spellings = [f"{said}{unit}", *(f"{other}={said}" for other in instead if other != parameter)]
            raise ParameterError(
                f"{parameter} = {said} needs a unit, because it would mean {said} {unit}: write "
                f"{', or '.join(spellings)}"
            )
        return value
    if unit is None:
        raise ParameterError(f"{parameter} has no unit; write only the number")
    base, factor = _UNITS[unit]
    if base != value.base:
        units = ", ".join(_list_related_units(unit))
        raise ParameterError(f"{parameter} is measured in {unit}, not in {value.base}: use one of {units}")
    return float(value) / factor


def _list_related_units(unit: str) -> list[str]:
    return [other for other, (base, _) in _UNITS.items() if base == _UNITS[unit][0]]


def _is_small(value: Any, unit: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 < value * _UNITS[unit][1] < SMALLEST_BARE
