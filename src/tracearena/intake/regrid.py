"""Traces that already have places, onto a grid or onto the most visited of their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import robust_box
from tracearena.intake.report import Report
from tracearena.traces import Grid, Places, Traces


def regridded(traces: Traces, choices: Choices, report: Report) -> Traces:
    """Move every event with its place: into the cell that holds its point, or out.

    Events of places outside the bounds, or not among the most visited, are dropped and counted.
    """
    old = traces.places
    if choices.grid is not None:
        box = choices.bounds or robust_box(pl.Series(old.latitude), pl.Series(old.longitude))
        grid = Grid.over(box, *choices.grid)
        cell = grid.cell_of(old.latitude, old.longitude)
        return _moved(traces, cell, Places.of_grid(grid), "outside the bounds", report)
    if choices.bounds is not None:
        inside = np.flatnonzero(choices.bounds.contains(old.latitude, old.longitude))
        traces = _only(traces, inside, "outside the bounds", report)
    if choices.top is not None:
        reason = f"not among the {choices.top:,} most visited places"
        traces = _only(traces, _most_visited(traces, choices.top), reason, report)
    return traces


def _most_visited(traces: Traces, top: int) -> NDArray[np.int64]:
    """Places in descending order of their events, ties in order of appearance."""
    visited, first, counts = np.unique(traces.place_index, return_index=True, return_counts=True)
    return np.asarray(visited[np.lexsort([first, -counts])[:top]], np.int64)


def _only(traces: Traces, chosen: NDArray[np.int64], reason: str, report: Report) -> Traces:
    new = np.full(len(traces.places), -1, np.int32)
    new[chosen] = np.arange(len(chosen))
    return _moved(traces, new, traces.places.take(chosen), reason, report)


def _moved(traces: Traces, new: NDArray[Any], places: Places, reason: str, report: Report) -> Traces:
    found = new[traces.place_index] >= 0
    if not found.any():
        raise DataError(f"{report.path}: no event is left: all are {reason}")
    if not found.all():
        report.drop(reason, int((~found).sum()))
        traces = traces.keep(found)
    return traces.onto(places, new)
