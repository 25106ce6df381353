"""How many sensitive places there are, where a score weighs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracearena.cli._console import note

if TYPE_CHECKING:
    from tracearena.traces import Places


def sensitive_places(places: Places, weight: float) -> dict[str, int]:
    """Return their number for the result; say where there are none, and a weight does nothing."""
    count = int(places.sensitive.sum())
    if not count and weight != 1:
        note(
            f"warning: none of the {len(places):,} places is sensitive, so their weight of {weight:g} does "
            "nothing and s_T counts all events alike. The file of places marks them, in its column hospital "
            "(regions) or sensitive (a table)"
        )
    return {"sensitive_places": count}
