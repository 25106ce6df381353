"""Shares as people write them: ``5%`` or ``0.05``."""

from __future__ import annotations

from tracearena.errors import ParameterError


def share_of(name: str, text: str) -> float:
    """Return a share from 0 to 1.

    >>> share_of("--limit", "5%"), share_of("--limit", "0.05")
    (0.05, 0.05)
    """
    bare = text.strip()
    try:
        value = float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ParameterError.of(name, text, "a share such as 5% or 0.05")
    return value
