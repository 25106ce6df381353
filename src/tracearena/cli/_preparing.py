"""What SGLT wants of its traces, for any command that writes traces: no gaps, not too many places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracearena.cli._console import note

if TYPE_CHECKING:
    from tracearena.intake import Reading
    from tracearena.traces import Traces


def prepare(reading: Reading[Traces], *, fill_gaps: bool, merge_places: int | None) -> Reading[Traces]:
    """Fill gaps first, then merge places, as [sglt] section 5.1 does; say what was done."""
    if not fill_gaps and merge_places is None:
        return reading
    from tracearena.intake import Reading
    from tracearena.synthesis import sglt

    traces, report = reading
    if fill_gaps:
        filled = sglt.fill_gaps(traces)
        note(f"{filled.n_events - traces.n_events:,} events were put into gaps")
        traces = filled
    if merge_places is not None:
        merged = sglt.merge_places(traces, merge_places).traces
        note(f"{len(traces.places):,} places were merged to {len(merged.places):,}")
        traces = merged
    return Reading(traces, report)
