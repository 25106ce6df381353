"""What a defence does to the map of a city."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.account import Account, Sight
from tracearena.metrics.utility import event_losses
from tracearena.pages import Page, place_map

_NOON_S = 12 * 3600


def show_population(page: Page, held: Account, entrant: Sight) -> None:
    """Show what a planner would see in a team's data, and where it fails her."""
    page.heading("What the published data is still good for")
    page.text(
        f"A planner asks how many people are where at noon. On the left what is true, on the right what she "
        f"sees in the data of {entrant.team}."
    )
    time, before, after = _at_noon(entrant)
    largest = float(max(before.max(), after.max(), 10))
    off = 0.5 * float(np.abs(before / before.sum() - after / max(after.sum(), 1)).sum())
    places = entrant.original.places
    ill = [float(people[places.sensitive].sum() / max(people.sum(), 1)) for people in (before, after)]
    ids = [str(place) for place in places.ids]
    rows = [list(row) for row in zip(ids, before.tolist(), after.round(3).tolist(), strict=True)]
    page.html_part('<div class="pair">')
    page.figure(
        place_map(places, before, what=f"people at {time}, all days", height=480, largest=largest),
        f"Before: the true crowds at noon; {ill[0]:.1%} of them are in a region with a hospital.",
    )
    page.figure(
        place_map(places, after, what=f"people at {time}, all days", height=480, largest=largest),
        f"After: {off:.0%} of the crowd would have to move to make both maps equal; {ill[1]:.1%} seem to "
        "be in a region with a hospital.",
        table=(["region", "true", "published"], rows),
        name="noon",
    )
    page.html_part("</div>")
    _show_losses(page, held, entrant)


def _at_noon(entrant: Sight) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Count people by region at the time next to noon; one of k regions counts 1/k in each."""
    clock, instants = entrant.original.clock, entrant.original.instants
    nearest = instants[np.argmin(np.abs(clock.second_of_day(instants) - _NOON_S))]
    noon = clock.second_of_day(instants) == clock.second_of_day(nearest)
    before = entrant.original.keep(noon)
    after = entrant.obfuscated.keep(noon)
    m = len(before.places)
    _, place, weight = after.pairs()
    counts = np.bincount(place, weights=weight, minlength=m).astype(float)
    return clock.label(int(nearest)), np.bincount(before.place_index, minlength=m).astype(float), counts


def _show_losses(page: Page, held: Account, entrant: Sight) -> None:
    original = entrant.original
    losses = event_losses(original, entrant.obfuscated, limit_km=held.rules.utility_limit_km)
    m = len(original.places)
    events = np.bincount(original.place_index, minlength=m)
    lost = np.bincount(original.place_index, weights=losses, minlength=m)
    with np.errstate(invalid="ignore"):
        share = np.where(events > 0, lost / events, np.nan)
    busiest = np.argsort(-events, kind="stable")[: max(m // 20, 1)]
    at_busiest = float(lost[busiest].sum() / events[busiest].sum())
    rows = [[str(original.places.ids[i]), int(events[i]), float(share[i])] for i in np.flatnonzero(events)]
    page.figure(
        place_map(original.places, share, what="of the usefulness lost", height=520, share=True),
        f"Where usefulness was lost by {entrant.team}: {float(losses.mean()):.0%} in the whole city, "
        f"{at_busiest:.0%} at the busiest twentieth of the regions.",
        table=(["region", "events", "share lost"], rows),
        name="losses",
    )
