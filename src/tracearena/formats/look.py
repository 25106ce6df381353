"""What a file looks like, before it is read."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.errors import Fault


@dataclass(frozen=True)
class Look:
    """What a file looks like.

    Attributes
    ----------
    formats
        The formats that can read it, the most specific first; none if it holds no traces.
    words
        The same as half a sentence.
    faults
        What a table lacks to be one of events or points.
    of_points
        Of a format that may hold either, whether it holds GPS points.
    """

    formats: tuple[str, ...]
    words: str
    faults: tuple[Fault, ...] = ()
    of_points: bool = False
