"""Data frames in place of traces, for the methods of every algorithm.

A data frame is read as `tracearena.read` reads it, and the answer is a frame of the same library.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from tracearena.checks import require_kind
from tracearena.dataframes import find_library, read_frame
from tracearena.errors import DataError, TracearenaWarning
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

TRACE_METHODS = ("fit", "transform", "identify", "infer", "recover")
"""Methods whose first argument is traces."""


def take_frames(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an algorithm that takes traces or a data frame of any library.

    `fit` takes and ignores a second argument, because scikit-learn's pipelines give it labels.
    """

    @functools.wraps(method)
    def call(algorithm: Any, *given: Any, **options: Any) -> Any:
        if method.__name__ == "fit":
            given = given[:1]
        library = find_library(given[0]) if given else None
        if library is None:
            if method.__name__ == "fit":
                vars(algorithm).pop("frame_reference_", None)
            if given and isinstance(given[0], ObfuscatedTraces):
                given = (algorithm.follow(given[0]), *given[1:])
            return method(algorithm, *given, **options)
        traces = read_warning_of_losses(given[0])
        if method.__name__ in ("identify", "infer"):
            traces = _align_with_reference(algorithm, traces)
        answer = method(algorithm, traces, *given[1:], **options)
        if answer is algorithm:
            vars(algorithm)["frame_reference_"] = traces
            return algorithm
        return answer_frame(answer, library)

    vars(call)["takes_frames"] = True
    return call


def take_point_frames(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of GPS traces that takes a data frame of any library too, as methods do."""

    @functools.wraps(function)
    def call(traces: Any, **options: Any) -> Any:
        library = find_library(traces)
        points = traces if library is None else read_warning_of_losses(traces)
        require_kind(function.__name__, points, GpsTraces)
        answer = function(points, **options)
        return answer if library is None else answer_frame(answer, library)

    return call


def answer_frame(answer: Any, library: str) -> Any:
    """Return traces or a table as a frame of a library, or of the one it builds on if it has traces only."""
    if isinstance(answer, ObfuscatedTraces):
        return answer.to_frame(library, one_place_per_row=True)
    if isinstance(answer, (Traces, GpsTraces)):
        return answer.to_frame(library)
    if library not in ("polars", "pandas", "arrow"):
        library = "geopandas" if hasattr(answer, "latitude") and library != "scikit-mobility" else "pandas"
    return answer.to_frame(library)


def read_warning_of_losses(frame: Any) -> Any:
    """Return the traces of a data frame; rows that cannot be used raise a warning."""
    traces, report = read_frame(frame)
    if report.dropped:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in report.dropped.items())
        message = f"rows of the data frame were dropped: {reasons}"
        warnings.warn(message, TracearenaWarning, stacklevel=4)
    return traces


def _align_with_reference(algorithm: Any, traces: Any) -> Any:
    """Return a release at the places and by the clock of the frame that an attack was fitted to."""
    reference = vars(algorithm).get("frame_reference_")
    if reference is None:
        raise DataError(f"{algorithm} can only attack a data frame if it was fitted to one: call fit first")
    if not isinstance(traces, Traces):
        return traces
    aligned, released = importlib.import_module("tracearena.io.alignment").align_tables(
        reference, ObfuscatedTraces.from_traces(traces)
    )
    if aligned is not reference:  # the release has further places, or earlier days
        algorithm.fit(aligned)
        vars(algorithm)["frame_reference_"] = aligned
    return released
