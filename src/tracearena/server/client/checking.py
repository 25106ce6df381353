"""The judge's checker at home: the same code, on the files that a team has downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracearena.contest import read_charter
from tracearena.contest.contest_file import NAME
from tracearena.contest.data import REGIONS, TIMES, official
from tracearena.errors import FileError
from tracearena.files.io import Held
from tracearena.formats import pwscup
from tracearena.server.sandbox.check_child import checked
from tracearena.server.sandbox.checked import Verdict
from tracearena.server.sandbox.frames import Frame


def check(file: Path, kind: str, folder: Path, team: str, data_set: int) -> Verdict | None:
    """Return what the judge would say against a file, None if nothing.

    Parameters
    ----------
    file
        What is to be handed in.
    kind
        ``"obfuscated"``, ``"inferred-table"`` or ``"inferred-traces"``.
    folder
        Where the contest's files were downloaded to.
    team, data_set
        Whose data set it is about: one's own, or the target's.
    """
    rules = read_charter(_there(folder, NAME)).rules
    most = rules.largest_file_mb * 2**20
    frame = _frame(kind, folder, int(team), data_set)
    # One byte more than allowed shows that there are more, and a huge file need not be read.
    with open(file, "rb") as content:
        held = Held(file.name, content.read(most + 1))
    found = checked(held, frame, kind, most, rules.largest_listed_ids)
    return found if isinstance(found, Verdict) else None


def _frame(kind: str, folder: Path, team: int, data_set: int) -> Frame:
    """Return what the file is held against, of what a team may have."""
    places = pwscup.read_places(_there(folder, REGIONS))
    times = pwscup.read_times(_there(folder, TIMES))

    def traces(what: str) -> Any:
        return pwscup.read_traces(_there(folder, str(official(what, team, data_set))), places, times)

    if kind == "obfuscated":
        return Frame.of(traces("orgtraces"))
    users = traces("reftraces").user_ids
    public = _there(folder, str(official("pubtraces", team, data_set)))
    target = pwscup.read_anonymized(public, places, times)
    return Frame.of(target, users=users, pseudonyms=target.user_ids)


def _there(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileError.whole(path, "is not there; `contest client data` fetches it", "missing-files")
    return path
