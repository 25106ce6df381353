"""Numbers for people: rounded, with their units; what machines want is under ``--json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_UNITS = {"_m": "m", "_km": "km", "_s": "s", "_h": "h"}


def in_words(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with its numbers rounded to four digits, and units beside them instead of in names.

    >>> in_words({"mean_m": 330.0387, "linked": {"1": 0.25, "2": 1.0}, "points": 4320, "chance": None})
    {'mean': '330 m', 'linked': {'1': '0.25', '2': '1'}, 'points': '4,320', 'chance': None}
    """
    said = {}
    for name, value in result.items():
        ending = name[name.rfind("_") :] if "_" in name else ""
        unit = _UNITS.get(ending) if isinstance(value, (int, float)) else None
        said[name.removesuffix(ending) if unit else name] = _rounded(value, unit)
    return said


def _rounded(value: Any, unit: str | None = None) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if not math.isfinite(value):
        return None
    whole = isinstance(value, int) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole else f"{value:.4g}"
    return f"{text} {unit}" if unit else text
