"""What every result can do: be plain values, a row of a data frame, and a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any


class Result:
    """A frozen record of what was measured."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame of one row; numbers within numbers have both names, joined by ``_``.

        `library` is ``polars``, ``pandas`` or ``arrow``.
        """
        return frame_of([self.to_dict()], library)

    def _repr_html_(self) -> str:
        from tracearena.showing import view

        html: str = view("result_html")(self)
        return html


def frame_of(rows: Iterable[Mapping[str, Any]], library: str = "polars") -> Any:
    """Return a data frame with a row for each set of plain values; what one lacks is null."""
    import polars as pl

    from tracearena.frames import handed_out

    return handed_out(pl.DataFrame([flat(row) for row in rows], infer_schema_length=None), library)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values within values under both names.

    >>> flat({"users": 3, "mean": {"tp_tv": 0.5}})
    {'users': 3, 'mean_tp_tv': 0.5}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": one for inner, one in flat(value).items()}
        else:
            found[name] = value
    return found
