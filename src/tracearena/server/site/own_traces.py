"""A team's own original traces, opened by the key of its login, for as long as one request lasts.

The web process keeps nothing of them: the key unlocks the bundle anew each time, and without a member of
the team who is logged in it stays closed. Uploads are sealed to the judge, and are never opened here.
"""

from __future__ import annotations

import io
import zipfile

from django.conf import settings

from tracearena.contest.handout import official
from tracearena.files.whole import Held
from tracearena.formats import pwscup
from tracearena.server.models import DataSet, Team
from tracearena.server.store.grids import grid_of
from tracearena.server.store.sealing import unseal
from tracearena.traces import Traces


def original(team: Team, data_set: DataSet, team_key: bytes) -> Traces:
    """Return the original traces of one of the team's data sets."""
    name = str(official("orgtraces", int(team.number), data_set.number))
    packed = unseal(team_key, settings.CONTEST_FOLDER.for_team(team.number).read_bytes())
    with zipfile.ZipFile(io.BytesIO(packed)) as bundle:
        held = Held(name, bundle.read(name))
    return pwscup.read_traces(held, *grid_of(settings.CONTEST_FOLDER))
