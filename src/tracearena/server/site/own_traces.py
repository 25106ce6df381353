"""A team's own original traces, opened by the key of its login.

What was read last is kept in the memory of the web process, so that a page with many parts reads it once.
It is found again only with the same key: without a member of the team who is logged in it stays closed.
Uploads are sealed to the judge, and are never opened here.
"""

from __future__ import annotations

import io
import json
import threading
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from tracearena.contest.data import official
from tracearena.files.io import Held
from tracearena.formats import pwscup
from tracearena.pages.svg.maps import ground_data
from tracearena.server.models import DataSet, Team
from tracearena.server.store.grids import grid_of
from tracearena.server.store.sealing import unseal
from tracearena.traces import Traces

MOST_KEPT = 16
"""Data sets. One of 0.8 million rows takes 6 MB as traces and 4 MB as text."""
_reading = threading.RLock()
"""One data set is read at a time: memory stays bounded, and nothing is read by two at once."""


class _Place(NamedTuple):
    """Where traces are read from, in which version of the file, and what opens it."""

    bundle: Path
    changed_at_ns: int
    size: int
    name: str
    team_key: bytes


def original(team: Team, data_set: DataSet, team_key: bytes) -> Traces:
    """Return the original traces of one of the team's data sets."""
    with _reading:
        return _original(_place_of(team, data_set, team_key))


def events_text(team: Team, data_set: DataSet, team_key: bytes) -> bytes:
    """Return the same as JSON, for the viewer in the browser.

    Everybody has an event at each of the instants, so these are said once.
    """
    with _reading:
        return _events_text(_place_of(team, data_set, team_key))


def _place_of(team: Team, data_set: DataSet, team_key: bytes) -> _Place:
    bundle = settings.CONTEST_FOLDER.for_team(team.number)
    state = bundle.stat()
    name = str(official("orgtraces", int(team.number), data_set.number))
    return _Place(bundle, state.st_mtime_ns, state.st_size, name, team_key)


@lru_cache(maxsize=MOST_KEPT)
def _original(place: _Place) -> Traces:
    packed = unseal(place.team_key, place.bundle.read_bytes())
    with zipfile.ZipFile(io.BytesIO(packed)) as bundle:
        held = Held(place.name, bundle.read(place.name))
    return pwscup.read_traces(held, *grid_of(settings.CONTEST_FOLDER))


@lru_cache(maxsize=MOST_KEPT)
def _events_text(place: _Place) -> bytes:
    original = _original(place)
    said = {
        **ground_data(original),
        "people": original.user_ids.tolist(),
        "instants": original.instants[: original.offsets[1]].tolist(),
        "places": original.place_index.tolist(),
    }
    return json.dumps(said, separators=(",", ":")).encode()
