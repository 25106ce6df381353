"""The script of a simulated contest: who the invented teams are, what they hand in, and when.

`tracearena demo` judges it in memory, `contest serve --demo` and `contest rehearse` send it to a server.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tracearena.algorithms import catalogue, validation
from tracearena.checks import require_whole
from tracearena.contest.contest_file import PSEUDONYMISED
from tracearena.contest.phases import Schedule
from tracearena.engine import SeedLike
from tracearena.traces import ObfuscatedTraces, Traces

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class SimulatedTeam:
    """One invented team.

    Attributes
    ----------
    name
        Name of the team.
    idea
        Its defence in a few words, for people who have not read the papers.
    defence, identification, inference
        Names in the catalogue; None if the team does not make this attack.
    """

    name: str
    idea: str
    defence: str
    identification: str | None
    inference: str | None

    @property
    def attacks(self) -> list[str]:
        """The names of its attacks."""
        return [name for name in (self.identification, self.inference) if name]

    def obfuscate(self, original: Traces, *, seed: SeedLike) -> ObfuscatedTraces:
        """Return the obfuscated traces that the team hands in."""
        return validation.run_transform(catalogue.create(self.defence, "obfuscator"), original, seed=seed)


_CAST = (
    (
        "Paper Cranes",
        "make similar people visit similar places",
        "ClusterAveraging(0.7,blur_km=0.5)",
        "HomeProb-R",
        "HomeProb-T",
    ),
    ("Card Sharps", "swap the traces of every fourth person", "Cheat(0.25)", "Random-R", "Replay-T"),
    ("Fog Bank", "move every place a few hundred metres", "PL(4,1)", "FuzzyCount-R", "VisitProb-T"),
    ("Heavy Weather", "move every place by kilometres", "PL(1,1)", "FuzzyCount-R(count)", "Random-T"),
    ("Patchwork", "merge blocks of four regions, delete a tenth", "MRLH(1,1,0.1)", "VisitProb-R", None),
    ("Dice Throwers", "report a random place sometimes", "RR(8)", "FuzzyCount-R(log-idf)", "FuzzyCount-T"),
    ("Vanishing Act", "delete a quarter of all events", "MRLH(0,0,0.25)", None, "FuzzyCount-T(count)"),
    ("Optimists", "change nothing", "No", "Random-R", "HomeProb-T"),
    (
        "Morning Mist",
        "move every place a little",
        "PL(6,1)",
        "FuzzyCount-R(count-idf)",
        "FuzzyCount-T(log-idf)",
    ),
    ("Loaded Dice", "report a random place rarely", "RR(9)", "VisitProb-R", "Random-T"),
    ("Two by One", "merge pairs of regions, delete a fifth", "MRLH(1,0,0.2)", "HomeProb-R", "VisitProb-T"),
    ("Big Tiles", "merge blocks of sixteen regions", "MRLH(2,2,0)", "VisitProb-R", "Replay-T"),
    (
        "Murmuration",
        "make similar people slightly more alike",
        "ClusterAveraging(0.8,blur_km=0.5)",
        "FuzzyCount-R",
        "HomeProb-T",
    ),
    ("Pickpockets", "swap the traces of every tenth person", "Cheat(0.1)", "HomeProb-R", "VisitProb-T"),
    ("Sea Smoke", "move every place a few hundred metres", "PL(5,1)", "FuzzyCount-R(count)", "Replay-T"),
    ("Coin Flippers", "report a random place half of the time", "RR(7)", "VisitProb-R", "FuzzyCount-T"),
    ("Small Tiles", "name blocks of four regions", "MRLH(1,1,0)", "HomeProb-R", "FuzzyCount-T(count)"),
    ("Light Drizzle", "move every place very little", "PL(7,1)", "FuzzyCount-R", "Random-T"),
    ("Blind Spot", "delete a tenth of all events", "MRLH(0,0,0.1)", "Random-R", "VisitProb-T"),
    ("Long Odds", "report a random place very rarely", "RR(10)", "FuzzyCount-R(log-idf)", "HomeProb-T"),
    ("Thunderheads", "move every place by about a kilometre", "PL(2,1)", "VisitProb-R", None),
)
SIMULATED_TEAMS = tuple(SimulatedTeam(*row) for row in _CAST)
"""Everybody who can play, the most instructive first: the first n teams make a contest of n."""

FEWEST, DEFAULT = 2, 7


def select_simulated_teams(count: int = DEFAULT) -> tuple[SimulatedTeam, ...]:
    """Return the first teams of the cast.

    >>> [player.name for player in select_simulated_teams(2)]
    ['Paper Cranes', 'Card Sharps']
    """
    require_whole("teams", count, at_least=FEWEST, at_most=len(SIMULATED_TEAMS))
    return SIMULATED_TEAMS[:count]


# What the teams hand in.

VISITOR_TEAMS = ("001", "002")
"""Teams that leave something to do for visitors who are given their accounts."""
_LATE, _ABSENT = "003", "006"
_FIRST_WAVE = (("001", "000"), ("003", "001"), ("005", "001"), ("001", "002"), ("004", "005"))
"""Who attacks whom early enough for the live board; most of the others follow while somebody looks."""


@dataclass(frozen=True)
class HandIn:
    """One thing that an invented team hands in.

    Attributes
    ----------
    team
        Its number.
    target
        Number of the team that it attacks; None for its own obfuscated traces.
    point, after
        When: the time after a point of the schedule.
    file, cell
        Name of obfuscated traces, and what stands in one of their rows instead of the team's own cell;
        None if nothing is changed.
    """

    team: str
    target: str | None
    point: str
    after: timedelta
    file: str = "obfuscated.csv"
    cell: str | None = None

    def find_time(self, schedule: Schedule) -> datetime:
        """Return when it is handed in by a schedule."""
        at: datetime = getattr(schedule, self.point)
        return at + self.after


def plan_hand_ins(teams: int, *, incidents: bool = False) -> list[HandIn]:
    """Return what the first teams of the cast hand in: data sets, then attacks, each in the order of time.

    Every team hands in its obfuscated traces, and attacks all others and the pseudonymised team.

    Parameters
    ----------
    incidents
        Whether some things go wrong: the first file of the first team is broken, the third team hands in
        another file when the phase is over, and the sixth team never comes.

    Examples
    --------
    >>> [(one.team, one.target) for one in plan_hand_ins(2)]
    [('001', None), ('002', None), ('001', '000'), ('001', '002'), ('002', '000'), ('002', '001')]
    """
    numbers = [f"{number:03d}" for number in range(1, teams + 1)]
    playing = [team for team in numbers if not incidents or team != _ABSENT]
    found = []
    for team in playing:
        after = 6 * DAY if team == VISITOR_TEAMS[1] else int(team) * 108 * HOUR / teams
        if incidents and team == VISITOR_TEAMS[0]:
            found.append(HandIn(team, None, "anonymization_begin", after, "broken.csv", "0"))
        found.append(HandIn(team, None, "anonymization_begin", after))
    if incidents and _LATE in playing:
        found.append(HandIn(_LATE, None, "anonymization_end", HOUR, "late.csv", "*"))
    pairs = [(team, target) for team in playing for target in (PSEUDONYMISED, *playing) if team != target]
    early = [pair for pair in pairs if pair in _FIRST_WAVE]
    last = [pair for pair in pairs if pair not in early and pair[0] in VISITOR_TEAMS]
    others = [pair for pair in pairs if pair not in early and pair not in last]
    for first_day, wave in enumerate((early, others, last), 1):
        for place, (team, target) in enumerate(wave):
            found.append(HandIn(team, target, "attack_begin", first_day * DAY + place * DAY / len(wave)))
    # The names of the points are in the order of time: anonymization_begin, anonymization_end, attack_begin.
    return sorted(found, key=lambda one: (one.point, one.after))
