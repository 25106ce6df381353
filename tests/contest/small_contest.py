"""A contest of five teams by files, small enough to be held in a test."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.contest.residents import Residents

from tracearena.algorithms import catalogue
from tracearena.contest import ContestFile, ContestPlan, Rules, Schedule, write_contest_data
from tracearena.contest.data import official_file_name
from tracearena.io import pwscup
from tracearena.traces import Traces

USERS = 12
SCHEDULE = Schedule.from_dict(
    {
        "anonymization_begin": "2026-05-04T00:00Z",
        "anonymization_end": "2026-05-08T00:00Z",
        "attack_begin": "2026-05-09T00:00Z",
        "attack_end": "2026-05-15T00:00Z",
        "results_begin": "2026-05-16T00:00Z",
    }
)
DEFENCES = {"001": "PL(5,1)", "002": "MRLH(0,0,0.1)", "003": "RR(0.1)", "004": "No"}
"""What teams do; 003 is below the threshold, and 005 hands in nothing."""


def charter(teams: int = 5, **rules: object) -> ContestFile:
    """Return the rules of a small contest."""
    given = {"users": USERS, "reference_days": 2, "original_days": 2} | rules
    return ContestFile(name="Friday", teams=teams, rules=Rules.from_dict(given), schedule=SCHEDULE)


def make_contest(folder: Path, teams: int = 5, *, data_sets: int = 1) -> Path:
    """Make the folders of a contest."""
    plan = ContestPlan(teams=teams, users=USERS, days=4, data_sets=data_sets)
    rules = charter(teams, data_sets=data_sets)
    write_contest_data(folder, Residents(), plan, charter=rules, seed=5, shuffle_seed=6)
    return folder


def original(folder: Path, team: str, data_set: int = 1) -> Traces:
    """Read what a team defends, from its own bundle."""
    bundle = folder / "teams" / f"team{team}"
    places = pwscup.read_places(bundle / "info_region.csv")
    return pwscup.read_traces(bundle / str(official_file_name("orgtraces", int(team), data_set)), places)


def defend(folder: Path, team: str, defence: str, data_set: int = 1) -> Path:
    """Let a team hand in obfuscated traces."""
    made = catalogue.create(defence, "obfuscator").transform(original(folder, team, data_set), seed=int(team))
    path = folder / "submissions" / str(official_file_name("anotraces", int(team), data_set))
    pwscup.write_obfuscated(made, path)
    return path


def attack(folder: Path, attacker: str, target: str, name: str, data_set: int = 1) -> Path:
    """Let a team attack with what everybody has."""
    everybody = folder / "everybody"
    places = pwscup.read_places(everybody / "info_region.csv")
    reference, public = (
        official_file_name(kind, int(target), data_set) for kind in ("reftraces", "pubtraces")
    )
    known = pwscup.read_traces(everybody / str(reference), places)
    released = pwscup.read_anonymized(everybody / str(public), places)
    made = catalogue.create(name).fit(known)
    kind = "etable" if made.kind == "reidentification" else "etraces"
    path = (
        folder / "submissions" / str(official_file_name(kind, int(target), data_set, attacker=int(attacker)))
    )
    if kind == "etable":
        pwscup.write_inferred_table(made.identify(released, seed=1), path)
    else:
        pwscup.write_inferred_traces(made.infer(released, seed=1), path)
    return path


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
