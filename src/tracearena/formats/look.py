"""What a file looks like, before it is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """What a file looks like.

    Attributes
    ----------
    formats
        The formats that can read it, the most specific first; none if it holds no traces.
    words
        The same as half a sentence.
    of_points
        Of a format that may hold either, whether it holds GPS points.
    """

    formats: tuple[str, ...]
    words: str
    of_points: bool = False
