"""What a team has published, beside what it defends: both are open to the team, and nothing else is opened.

Where usefulness was lost can be told when ID tables are open: before, nobody but the judge knows which trace
is whose, the team's own included.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from django.conf import settings

from tracearena.contest.data import SALTS, TIMES
from tracearena.formats import pwscup
from tracearena.pages.svg import Picture, crowd_pictures, losses_picture
from tracearena.server import clock
from tracearena.server.judging.truths import file_name
from tracearena.server.models import Contest, DataSet
from tracearena.server.results import boards
from tracearena.traces import ObfuscatedTraces, Traces


class Release(NamedTuple):
    """Pictures of what was published: the crowds at noon before and after, and what was lost where."""

    before: Picture
    after: Picture
    losses: Picture | None


def release(data_set: DataSet, original: Traces) -> Release | None:
    """Draw what became of a data set, None before it is published."""
    contest = Contest.now_held()
    if data_set.released_at is None or clock.now() < contest.schedule.attack_begin:
        return None
    public = _public(data_set, original, contest)
    # Crowds do not depend on who is who.
    before, after = crowd_pictures(original, public.with_user_ids(original.user_ids))
    own = _in_order(data_set, original, public) if boards.is_published(contest, clock.now()) else None
    losses = None if own is None else losses_picture(original, own, contest.rules.utility_limit_km)
    return Release(before, after, losses)


def _public(data_set: DataSet, original: Traces, contest: Contest) -> ObfuscatedTraces:
    path = settings.CONTEST_FOLDER.everybody / file_name("pubtraces", data_set)
    times = pwscup.read_times(settings.CONTEST_FOLDER.everybody / TIMES)
    repeated = contest.rules.utility_rule == "2019"
    return pwscup.read_anonymized(path, original.places, times, allow_repetition=repeated)


def _in_order(data_set: DataSet, original: Traces, public: ObfuscatedTraces) -> ObfuscatedTraces | None:
    """Return published traces under the people they are of, None while the judge opens the tables."""
    everybody = settings.CONTEST_FOLDER.everybody
    path = everybody / file_name("ptable", data_set)
    if not (everybody / SALTS).is_file() or not path.is_file():
        return None
    table = pwscup.read_id_table(path)
    whose = table.pseudonyms[np.argsort(table.user_ids)]
    order = np.searchsorted(public.user_ids, whose)
    return public.take_users(order).with_user_ids(original.user_ids)
