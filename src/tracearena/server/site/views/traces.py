"""The traces that a team defends, to look at: as they are, and beside a file of its own.

What was handed in cannot be shown from here: uploads are sealed to the judge, and the web process has no
key to them. So the original comes from the server, opened by the team's own key, and the obfuscated file
is read by the browser from the member's disk; it is sent nowhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from tracearena.i18n import marked
from tracearena.pages.contest_data import liveliest_day
from tracearena.pages.svg.maps import true_day_picture
from tracearena.server.models import Contest
from tracearena.server.people import accounts
from tracearena.server.refused import Refused
from tracearena.server.site import own_release, own_traces
from tracearena.server.site.views.roles import for_team
from tracearena.server.uploads import submitting
from tracearena.traces import Traces

_MISSING = {
    "person": marked("There is no person %(wanted)s in this data set."),
    "day": marked("There is no day %(wanted)s in this data set."),
}


@require_safe
@for_team
def viewer(request: Any, number: int) -> Any:
    """One person's day as it is, and a viewer for a file that the browser opens."""
    data_set = submitting.own_data_set(request.user.team, number)
    original = own_traces.original(request.user.team, data_set, accounts.team_key(request))
    people, days = original.user_ids.tolist(), _days(original)
    liveliest, on = liveliest_day(original)
    person = _chosen(request, "person", people, people[liveliest])
    day = _chosen(request, "day", list(range(1, len(days) + 1)), days.index(on) + 1)
    about = {
        "data_set": data_set,
        "rules": Contest.now_held().rules,
        "people": people,
        "days": range(1, len(days) + 1),
        "person": person,
        "day": day,
        "day_picture": true_day_picture(original, people.index(person), days[day - 1]),
    }
    return render(request, "team/traces.html", about)


@require_safe
@for_team
def released(request: Any, number: int) -> Any:
    """What was published of a data set: crowds at noon before and after, and where usefulness was lost."""
    data_set = submitting.own_data_set(request.user.team, number)
    original = own_traces.original(request.user.team, data_set, accounts.team_key(request))
    about = {"data_set": data_set, "release": own_release.release(data_set, original)}
    return render(request, "team/released.html", about)


@require_safe
@for_team
def events(request: Any, number: int) -> Any:
    """All original traces of a data set as plain numbers, for the viewer in the browser."""
    data_set = submitting.own_data_set(request.user.team, number)
    text = own_traces.events_text(request.user.team, data_set, accounts.team_key(request))
    return HttpResponse(text, content_type="application/json")


def _days(original: Traces) -> list[int]:
    days: list[int] = np.unique(original.clock.day_of(original.instants)).tolist()
    return days


def _chosen(request: Any, name: str, among: list[int], otherwise: int) -> int:
    """Return what a form chose, or what stands there if it chose nothing."""
    wanted = request.GET.get(name, str(otherwise))
    found = [one for one in among if str(one) == wanted]
    if not found:
        raise Refused(400, name, gettext(_MISSING[name]) % {"wanted": ascii(wanted[:20])})
    return found[0]
