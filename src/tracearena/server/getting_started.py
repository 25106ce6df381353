"""What a team needs to begin with: how to install, what its files look like, two programs, sample results.

The programs need pandas and nothing else. They are shown on the page *Get started* as they stand here, with
the names of the team's own files; a test runs them.
"""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext

from tracearena.contest.data import PRELIMINARY, official_file_name
from tracearena.server.store.folder import Folder

_DEFENCE = """\
import numpy as np
import pandas as pd

# Read: one row for each user and time. The regions are a grid.
original = pd.read_csv("{original}")
regions = pd.read_csv("info_region.csv").set_index("reg_id")
columns, rows = regions["x_id"].max(), regions["y_id"].max()

# Change: move a fifth of the events to a region nearby, and delete one event in twenty.
random = np.random.default_rng()
place = regions.loc[original["reg_id"]]
is_moved = random.random(len(original)) < 0.2
x = (place["x_id"].to_numpy() + is_moved * random.integers(-1, 2, len(original))).clip(1, columns)
y = (place["y_id"].to_numpy() + is_moved * random.integers(-1, 2, len(original))).clip(1, rows)
cells = pd.Series((y - 1) * columns + x).astype(str)
cells[random.random(len(original)) < 0.05] = "*"

# Write: below the header, one cell per row of the original traces, in the same order.
cells.to_csv("{obfuscated}", index=False, header=["reg_id"])
"""
_ATTACK = """\
import numpy as np
import pandas as pd

# Read: where the people were on earlier days, and what the target has published.
known = pd.read_csv("{reference}")
public = pd.read_csv("{anonymized}", dtype={{"reg_id": str}})
pseudonyms = sorted(public["pse_id"].unique())

# Count who visits what: deleted events reveal nothing, and every region of a set counts.
events = public[public["reg_id"] != "*"].copy()
events["reg_id"] = events["reg_id"].str.split()
events = events.explode("reg_id").astype({{"reg_id": int}})
habits = pd.crosstab(known["user_id"], known["reg_id"], normalize="index")
visits = pd.crosstab(events["pse_id"], events["reg_id"])
visits = visits.reindex(index=pseudonyms, columns=habits.columns, fill_value=0)

# Guess: behind each pseudonym, the user whose habits make its visits most likely.
likelihood = visits.to_numpy() @ np.log(habits.to_numpy() + 0.001).T
guess = pd.Series(habits.index[likelihood.argmax(axis=1)])

# Write: below the header, one user per pseudonym, in ascending order of pseudonyms.
guess.to_csv("{table}", index=False, header=["user_id"])
"""
_SHOWN = ("defence", "utility", "s_R_min", "s_T_min")


class FileFormat(NamedTuple):
    """A file that teams hand in: what it is, what it is called, five lines of one, and what they mean."""

    title: str
    name: str
    example: str
    meaning: str


def find_wheel(folder: Folder) -> str | None:
    """Return the name of the wheel that the contest serves, None if the organiser gave none."""
    found = sorted(folder.wheels.glob("*.whl")) if folder.wheels.is_dir() else []
    return found[0].name if found else None


def build_install_command(url: str, wheel: str | None) -> str:
    """Return the command that installs the programs; what they need comes from the package index.

    >>> build_install_command("https://a.org", "tracearena-1-py3-none-any.whl")
    "pip install 'tracearena[client] @ https://a.org/wheels/tracearena-1-py3-none-any.whl'"
    """
    source = "" if wheel is None else f" @ {url}/wheels/{wheel}"
    return f"pip install {shlex.quote(f'tracearena[client]{source}')}"


def list_formats(team: str, target: str) -> list[FileFormat]:
    """Return the three files that a team hands in."""
    own, other = int(team), int(target)
    return [
        FileFormat(
            gettext("Obfuscated traces"),
            str(official_file_name("anotraces", own, 1)),
            "reg_id\n57\n57 58 89\n*\n120\n",
            gettext(
                "One line per row of your original traces, in the same order: a region, several regions "
                "separated by one space, or an asterisk for an event that you delete."
            ),
        ),
        FileFormat(
            gettext("Inferred ID table"),
            str(official_file_name("etable", other, 1, own)),
            "user_id\n17\n3\n20\n3\n",
            gettext(
                "One line per pseudonym of the target, in ascending order of pseudonyms: the user who "
                "you think it is. A user may be on several lines."
            ),
        ),
        FileFormat(
            gettext("Inferred traces"),
            str(official_file_name("etraces", other, 1, own)),
            "reg_id\n57\n57\n58\n120\n",
            gettext(
                "One line per user and time of the target, ordered by user and then by time: the region "
                "where you think the user was."
            ),
        ),
    ]


def build_defence_program(team: str) -> str:
    """Return a program that reads, changes and writes a team's own traces."""
    kinds = {"original": "orgtraces", "obfuscated": "anotraces"}
    return _DEFENCE.format(**{name: official_file_name(kind, int(team), 1) for name, kind in kinds.items()})


def build_attack_program(team: str, target: str) -> str:
    """Return a program that guesses who is who in what a target has published."""
    kinds = {"reference": "reftraces", "anonymized": "pubtraces"}
    names = {name: official_file_name(kind, int(target), 1) for name, kind in kinds.items()}
    return _ATTACK.format(**names, table=official_file_name("etable", int(target), 1, int(team)))


def read_preliminary_results(folder: Folder) -> list[dict[str, Any]]:
    """Return the results of the sample defences on a sample team; empty without a table of results."""
    path: Path = folder.everybody / PRELIMINARY
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    return [
        {name: row[name] if name == "defence" else float(row[name]) for name in _SHOWN}
        for row in found
        if all(row[name] for name in _SHOWN)
    ]
