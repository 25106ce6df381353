"""The data of a contest: virtual users of every team's own, as the official files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any, Protocol

import numpy as np

from tracearena.arena.pseudonyms import pseudonymise
from tracearena.checks import require_switch, require_whole
from tracearena.contest import handout
from tracearena.contest.board import PSEUDONYMISED_DATA_SET
from tracearena.contest.charter import Charter
from tracearena.contest.commitment import Commitment, commit
from tracearena.contest.live import live_users
from tracearena.contest.rules import Rules
from tracearena.contest.team_clock import contest_days
from tracearena.engine import SeedLike, child_seed, is_secret, report, seed_sequence, use
from tracearena.errors import DataError, ParameterError
from tracearena.files import replacing_folder
from tracearena.traces import ObfuscatedTraces, Traces

_HIGHEST = 999


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
        Teams that take part: numbers 1 … teams. Team 0 is the pseudonymised one, which has one data set,
        the numbers after the last are the sample teams, whose data everybody gets; 999 is the highest.
    users
        Virtual users of a team.
    days
        Days of every user, at least 2: the first half is reference, the second original.
    data_sets
        1: ``data01_IDP`` only. 2: ``data02_TRP`` with other users too.
    sample_teams, pseudonymised_team
        How many sample teams there are, and whether there is a pseudonymised one.
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
    sample_teams: int = 2
    pseudonymised_team: bool = True
    homes: bool = True
    only_seen: bool = True

    def __post_init__(self) -> None:
        require_whole("sample_teams", self.sample_teams, at_least=0, at_most=_HIGHEST - 1)
        require_whole("teams", self.teams, at_least=1, at_most=_HIGHEST - self.sample_teams)
        require_switch("pseudonymised_team", self.pseudonymised_team)
        require_whole("users", self.users, at_least=1)
        require_whole("days", self.days, at_least=2)
        require_whole("data_sets", self.data_sets, at_least=1, at_most=2)

    @property
    def reference_days(self) -> int:
        """Days of the reference traces; the original traces have the rest."""
        return self.days // 2

    @classmethod
    def of(cls, charter: Charter, *, homes: bool = True, only_seen: bool = True) -> ContestPlan:
        """Return how many of what a contest's file asks for."""
        rules = charter.rules
        return cls(
            teams=charter.teams,
            users=rules.users,
            days=rules.reference_days + rules.original_days,
            data_sets=rules.data_sets,
            sample_teams=rules.sample_teams,
            pseudonymised_team=rules.pseudonymised_team,
            homes=homes,
            only_seen=only_seen,
        )

    def roles(self) -> dict[int, str]:
        """Return what each team is, by number."""
        teams = dict.fromkeys(range(1, self.teams + 1), "team")
        samples = dict.fromkeys(range(self.teams + 1, self.teams + 1 + self.sample_teams), "sample")
        extra = {0: "pseudonymised"} if self.pseudonymised_team else {}
        return extra | teams | samples

    def sets(self) -> list[tuple[int, int]]:
        """Return team and number of every data set, the first ones of all teams first."""
        return [
            (team, number)
            for number in range(self.data_sets)
            for team, role in self.roles().items()
            if role != "pseudonymised" or number + 1 == PSEUDONYMISED_DATA_SET
        ]

    def rules(self) -> Rules:
        """Return the usual rules of a contest with this much data."""
        return Rules(
            users=self.users,
            reference_days=self.reference_days,
            original_days=self.days - self.reference_days,
            data_sets=self.data_sets,
            sample_teams=self.sample_teams,
            pseudonymised_team=self.pseudonymised_team,
        )

    def require_agreement(self, charter: Charter) -> None:
        """Refuse a contest's file that speaks of other data."""
        mine = self.rules()
        for name in ("users", "reference_days", "original_days", "data_sets", "sample_teams",
                     "pseudonymised_team"):  # fmt: skip
            data, said = getattr(mine, name), getattr(charter.rules, name)
            if data != said:
                raise ParameterError(f"the data has {name} = {data}, the rules say {said}: they must agree")
        if self.teams != charter.teams:
            raise ParameterError(
                f"the data is for {self.teams} teams, and the rules are for {charter.teams}: they must agree"
            )


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
    charter: Charter | None = None,
    seed: SeedLike = None,
    shuffle_seed: SeedLike = None,
    about: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the folders of a contest (`tracearena.contest.handout`), and return the judge's manifest.

    Parameters
    ----------
    folder
        A folder that does not exist yet, or is empty. It appears when all is written.
    model
        What makes the virtual users.
    plan
        How many of what.
    charter
        Name, rules and schedule, which must agree with the plan; by default the usual ones.
    seed
        Seed of the users; each team's own seed follows from it and is in the manifest. None, for a
        real contest, draws from the system's source and leaves no seed anywhere.
    shuffle_seed
        Seed of the pseudonymised team's ID table and of the salt of its commitment, for experiments.
        None, for a real contest, takes both from the operating system's cryptographic source: a short
        seed could be guessed.
    about
        What the manifest should say of the model.
    """
    charter = charter or Charter(teams=plan.teams, rules=plan.rules())
    plan.require_agreement(charter)
    root, sets = seed_sequence(seed), plan.sets()
    days = plan.reference_days, plan.days - plan.reference_days
    entries: list[dict[str, Any]] = []
    commitments: dict[str, Commitment] = {}
    with replacing_folder(folder, private=True) as place:
        judge = place / handout.JUDGE
        judge.mkdir(mode=0o700)
        (place / handout.EVERYBODY).mkdir()
        for done, (team, number) in enumerate(sets, 1):
            own = child_seed(root, team, number)
            with use(progress=None):
                reference, original = team_traces(model, plan, own)
            files = handout.write_traces(judge, team, number + 1, reference, original, days=days)
            if plan.roles()[team] == "pseudonymised":
                unchanged = ObfuscatedTraces.unchanged(original)
                shuffle, salt, drawn = _secrets(shuffle_seed, number)
                release = pseudonymise(unchanged, seed=shuffle)
                live = live_users(charter.rules, release.id_table.user_ids, seed=drawn)
                files |= handout.write_release(judge, team, number + 1, unchanged, release, live)
                commitments[files["id_table"]] = commit(release.id_table, live=live, seed=salt)
            for secret in files.keys() & handout.SECRET:
                (judge / files[secret]).chmod(0o600)
            entries.append(_entry(team, number, plan, own, files))
            report(done, len(sets))
        handout.write_commitments(place, commitments)
        handout.write_frame(place, charter)
        return handout.write_manifest(judge, asdict(plan), _seed(root), entries, about or {})


def _secrets(seed: SeedLike, number: int) -> tuple[SeedLike, SeedLike, SeedLike]:
    """Return the seeds of a shuffle, a salt and the users of a live board; None where nobody chose one."""
    if seed is None:
        return None, None, None
    root = seed_sequence(seed)
    return child_seed(root, number), child_seed(root, number, 1), child_seed(root, number, 2)


def check_regions(traces: Traces) -> None:
    """Refuse places that the contest's files cannot name, before anything is trained."""
    grid = traces.places.grid
    if grid is None or min(grid.rows, grid.columns) < 2:
        raise DataError(
            "contest files need the regions of a grid of at least 2 × 2; put the events on one (--grid 32x32)"
        )
    if not np.array_equal(traces.places.ids, np.arange(1, len(traces.places) + 1)):
        raise DataError("contest files number the regions 1, 2, … in the order of the grid")


def _entry(
    team: int, number: int, plan: ContestPlan, seed: np.random.SeedSequence, files: dict[str, str]
) -> dict[str, Any]:
    return {
        "team": team,
        "role": plan.roles()[team],
        "data": f"data{number + 1:02d}_{handout.PURPOSES[number]}",
        "seed": _seed(seed),
        "files": files,
    }


def _seed(root: np.random.SeedSequence) -> dict[str, Any] | None:
    """Return what repeats the run; nothing does if nobody chose a seed."""
    if is_secret(root):
        return None
    words = np.atleast_1d(np.asarray(root.entropy, object)).tolist()
    return {"entropy": [int(word) for word in words], "spawn_key": [int(word) for word in root.spawn_key]}
