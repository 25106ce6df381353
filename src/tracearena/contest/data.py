"""The data of a contest: virtual users of every team's own, as the official files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tracearena.arena.pseudonyms import pseudonymise
from tracearena.contest.team_clock import contest_days
from tracearena.engine import SeedLike, child_seed, is_secret, report, seed_sequence, use
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files.folders import replacing_folder, require_new
from tracearena.files.whole import replacing
from tracearena.formats import pwscup
from tracearena.traces import ObfuscatedTraces, Traces

MANIFEST = "manifest.json"
PURPOSES = ("IDP", "TRP")
SAMPLE_TEAMS = 2
SECRET = frozenset({"original", "obfuscated", "id_table"})
"""Files that are for the organiser alone, as the manifest is; so is their folder, from the beginning."""
_MOST_TEAMS = 999 - SAMPLE_TEAMS


class TeamMaker(Protocol):
    """A trained model that makes virtual users, such as `tracearena.synthesis.PPMTF`."""

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return `days` whole days of n virtual users."""


@dataclass(frozen=True, kw_only=True)
class ContestPlan:
    """How much data a contest gets.

    Parameters
    ----------
    teams
        Teams that take part, 1 to 997: numbers 1 … teams. Team 0 is the pseudonymised one, the two
        numbers after the last are the sample teams, whose data everybody gets.
    users
        Virtual users of a team.
    days
        Days of every user, at least 2: the first half is reference, the second original.
    data_sets
        1: ``data01_IDP`` only. 2: ``data02_TRP`` with other users too.
    homes, only_seen
        As in `tracearena.synthesis.PPMTF.virtual_users`; the contest of 2019 had both.

    Examples
    --------
    >>> plan = ContestPlan(teams=3)
    >>> plan.roles()
    {0: 'pseudonymised', 1: 'team', 2: 'team', 3: 'team', 4: 'sample', 5: 'sample'}
    >>> plan.reference_days
    20
    """

    teams: int = 21
    users: int = 2_000
    days: int = 40
    data_sets: int = 1
    homes: bool = True
    only_seen: bool = True

    def __post_init__(self) -> None:
        limits = {"teams": (1, _MOST_TEAMS), "users": (1, None), "days": (2, None), "data_sets": (1, 2)}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ParameterError.of(name, value, f"a whole number of at least {least}")
            if most is not None and value > most:
                raise ParameterError.of(name, value, f"at most {most}")

    @property
    def reference_days(self) -> int:
        """Days of the reference traces; the original traces have the rest."""
        return self.days // 2

    def roles(self) -> dict[int, str]:
        """Return what each team is, by number."""
        teams = dict.fromkeys(range(1, self.teams + 1), "team")
        samples = dict.fromkeys(range(self.teams + 1, self.teams + 1 + SAMPLE_TEAMS), "sample")
        return {0: "pseudonymised"} | teams | samples


def team_traces(
    model: TeamMaker,
    plan: ContestPlan,
    seed: SeedLike = None,
) -> tuple[Traces, Traces]:
    """Make the reference and original traces of one team, at the contest's times of day.

    References
    ----------
    [contest] section 3.3 and appendix D.
    """
    traces = model.sample_users(plan.users, plan.days, homes=plan.homes, only_seen=plan.only_seen, seed=seed)
    return contest_days(traces).split_days(plan.reference_days)


def write_contest_data(
    folder: str | PathLike[str],
    model: TeamMaker,
    plan: ContestPlan,
    *,
    seed: SeedLike = None,
    shuffle_seed: SeedLike = None,
    about: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the files of all teams into a new folder, and return its manifest.

    Parameters
    ----------
    folder
        A folder that does not exist yet, or is empty. It appears when all is written.
    model
        What makes the virtual users.
    plan
        How many of what.
    seed
        Seed of the users; each team's own seed follows from it and is in the manifest. None, for a
        real contest, draws from the system's source and leaves no seed anywhere.
    shuffle_seed
        Seed of the pseudonymised team's ID table, for experiments. None, for a real contest,
        shuffles with the operating system's cryptographic source: a short seed could be guessed.
    about
        What the manifest should say of the model.
    """
    root = seed_sequence(seed)
    sets = [(team, number) for number in range(plan.data_sets) for team in plan.roles()]
    entries: list[dict[str, Any]] = []
    with new_folder(folder) as place:
        for done, (team, number) in enumerate(sets, 1):
            own = child_seed(root, team, number)
            with use(progress=None):
                reference, original = team_traces(model, plan, own)
            if not entries:
                _write_frame(place, plan, original)
            files = _write_team(place, team, PURPOSES[number], reference, original)
            if plan.roles()[team] == "pseudonymised":
                shuffle = None if shuffle_seed is None else child_seed(seed_sequence(shuffle_seed), number)
                files |= _write_pseudonymised(place, team, PURPOSES[number], original, shuffle)
            for secret in files.keys() & SECRET:
                (place / files[secret]).chmod(0o600)
            entries.append(_entry(team, number, plan, own, files))
            report(done, len(sets))
        manifest = _manifest(place, plan, root, entries, about or {})
        with replacing(place / MANIFEST, private=True) as file:
            file.write((json.dumps(manifest, indent=1) + "\n").encode())
    return manifest


@contextmanager
def new_folder(folder: str | PathLike[str]) -> Iterator[Path]:
    """Give a folder beside `folder`, for the organiser alone, that gets its name when the block ends well."""
    check_new(folder)
    with replacing_folder(folder, private=True) as place:
        yield place


def check_new(folder: str | PathLike[str]) -> None:
    """Refuse a folder that has anything in it."""
    target = Path(folder)
    if not target.parent.is_dir():
        raise ParameterError.of("folder", str(folder), f"inside a folder that exists, not {target.parent}")
    try:
        require_new(target)
    except FileError:
        raise ParameterError.of("folder", str(folder), "new or empty: it would be written over") from None


def check_regions(traces: Traces) -> None:
    """Refuse places that the contest's files cannot name, before anything is trained."""
    grid = traces.places.grid
    if grid is None or min(grid.rows, grid.columns) < 2:
        raise DataError(
            "contest files need the regions of a grid of at least 2 × 2; put the events on one (--grid 32x32)"
        )
    if not np.array_equal(traces.places.ids, np.arange(1, len(traces.places) + 1)):
        raise DataError("contest files number the regions 1, 2, … in the order of the grid")


def _write_frame(place: Path, plan: ContestPlan, original: Traces) -> None:
    days = plan.reference_days, plan.days - plan.reference_days
    pwscup.write_places(place / "info_region.csv", original.places)
    pwscup.write_times(place / "info_time.csv", pwscup.Times(original.clock, *days))


def _write_team(place: Path, team: int, purpose: str, reference: Traces, original: Traces) -> dict[str, str]:
    names = [
        str(pwscup.PwsName(kind=kind, team=team, purpose=purpose)) for kind in ("reftraces", "orgtraces")
    ]
    pwscup.write_traces(place / names[0], reference)
    pwscup.write_traces(place / names[1], original)
    return dict(zip(("reference", "original"), names, strict=True))


def _write_pseudonymised(
    place: Path, team: int, purpose: str, original: Traces, seed: SeedLike
) -> dict[str, str]:
    """Write what the judge makes of a team that changed nothing."""
    kinds = {"obfuscated": "anotraces", "anonymized": "pubtraces", "id_table": "ptable"}
    names = {what: str(pwscup.PwsName(kind=kind, team=team, purpose=purpose)) for what, kind in kinds.items()}
    unchanged = ObfuscatedTraces.unchanged(original)
    release = pseudonymise(unchanged, seed=seed)
    pwscup.write_obfuscated(place / names["obfuscated"], unchanged)
    pwscup.write_anonymized(place / names["anonymized"], release.anonymized)
    pwscup.write_id_table(place / names["id_table"], release.id_table)
    return names


def _entry(
    team: int, number: int, plan: ContestPlan, seed: np.random.SeedSequence, files: dict[str, str]
) -> dict[str, Any]:
    return {
        "team": team,
        "role": plan.roles()[team],
        "data": f"data{number + 1:02d}_{PURPOSES[number]}",
        "seed": _seed(seed),
        "files": files,
    }


def _manifest(
    place: Path,
    plan: ContestPlan,
    root: np.random.SeedSequence,
    entries: list[dict[str, Any]],
    about: dict[str, Any],
) -> dict[str, Any]:
    hashes = {}
    for path in sorted(place.iterdir()):
        with open(path, "rb") as file:
            hashes[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "format": "tracearena-contest-data",
        "version": 1,
        "plan": asdict(plan),
        "seed": _seed(root),
        "model": about,
        "data": entries,
        "sha256": hashes,
    }


def _seed(root: np.random.SeedSequence) -> dict[str, Any] | None:
    """Return what repeats the run; nothing does if nobody chose a seed."""
    if is_secret(root):
        return None
    words = np.atleast_1d(np.asarray(root.entropy, object)).tolist()
    return {"entropy": [int(word) for word in words], "spawn_key": [int(word) for word in root.spawn_key]}
