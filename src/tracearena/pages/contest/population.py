"""What a defence does to the map of a city."""

from __future__ import annotations

import numpy as np

from tracearena.contest.report_data import Account, Sight
from tracearena.pages import Page, place_map
from tracearena.pages.changes import crowds_at_noon, losses_by_place


def show_population(page: Page, held: Account, entrant: Sight) -> None:
    """Show what a planner would see in a team's data, and where it fails her."""
    page.heading("What the published data is still good for")
    page.text(
        f"A planner asks how many people are where at noon. On the left what is true, on the right what she "
        f"sees in the data of {entrant.team}."
    )
    crowds = crowds_at_noon(entrant.original, entrant.obfuscated)
    time, before, after = crowds
    largest = float(max(before.max(), after.max(), 10))
    places = entrant.original.places
    ill = crowds.share_at(places.sensitive)
    ids = [str(place) for place in places.ids]
    rows = [list(row) for row in zip(ids, before.tolist(), after.round(3).tolist(), strict=True)]
    page.html_part('<div class="pair">')
    page.figure(
        place_map(places, before, what=f"people at {time}, all days", height=480, largest=largest),
        f"Before: the true crowds at noon; {ill[0]:.1%} of them are in a region with a hospital.",
    )
    page.figure(
        place_map(places, after, what=f"people at {time}, all days", height=480, largest=largest),
        f"After: {crowds.off:.0%} of the crowd would have to move to make both maps equal; {ill[1]:.1%} "
        "seem to be in a region with a hospital.",
        table=(["region", "true", "published"], rows),
        name="noon",
    )
    page.html_part("</div>")
    _show_losses(page, held, entrant)


def _show_losses(page: Page, held: Account, entrant: Sight) -> None:
    original = entrant.original
    losses = losses_by_place(original, entrant.obfuscated, held.rules.utility_limit_km)
    events, share = losses.events, losses.share
    rows = [[str(original.places.ids[i]), int(events[i]), float(share[i])] for i in np.flatnonzero(events)]
    page.figure(
        place_map(original.places, share, what="of the usefulness lost", height=520, share=True),
        f"Where usefulness was lost by {entrant.team}: {losses.total:.0%} in the whole city, "
        f"{losses.at_busiest:.0%} at the busiest twentieth of the regions.",
        table=(["region", "events", "share lost"], rows),
        name="losses",
    )
