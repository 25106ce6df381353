"""Who plays in a rehearsal: invented teams, each with a defence and two attacks of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.checks import require_whole


@dataclass(frozen=True)
class SimulatedTeam:
    """One invented team.

    Attributes
    ----------
    name
        What the team calls itself.
    idea
        Its defence in a few words, for people who have not read the papers.
    defence, identification, inference
        Names in the catalogue; None where the team does not attack in that way.
    """

    name: str
    idea: str
    defence: str
    identification: str | None
    inference: str | None


SIMULATED_TEAMS = (
    SimulatedTeam(
        "Paper Cranes",
        "make similar people visit similar places",
        "ClusterAveraging(0.7,blur_km=0.5)",
        "HomeProb-R",
        "HomeProb-T",
    ),
    SimulatedTeam(
        "Card Sharps", "swap the traces of every fourth person", "Cheat(0.25)", "Random-R", "Replay-T"
    ),
    SimulatedTeam(
        "Fog Bank", "move every place a few hundred metres", "PL(4,1)", "FuzzyCount-R", "VisitProb-T"
    ),
    SimulatedTeam(
        "Heavy Weather", "move every place by kilometres", "PL(1,1)", "FuzzyCount-R(count)", "Random-T"
    ),
    SimulatedTeam(
        "Patchwork", "name blocks of four regions, hide a tenth", "MRLH(1,1,0.1)", "VisitProb-R", None
    ),
    SimulatedTeam(
        "Dice Throwers",
        "answer a random place now and then",
        "RR(8)",
        "FuzzyCount-R(log-idf)",
        "FuzzyCount-T",
    ),
    SimulatedTeam(
        "Vanishing Act", "hide a quarter of all events", "MRLH(0,0,0.25)", None, "FuzzyCount-T(count)"
    ),
    SimulatedTeam("Optimists", "leave everything as it is", "No", "Random-R", "HomeProb-T"),
    SimulatedTeam(
        "Morning Mist",
        "move every place a little",
        "PL(6,1)",
        "FuzzyCount-R(count-idf)",
        "FuzzyCount-T(log-idf)",
    ),
    SimulatedTeam("Loaded Dice", "answer a random place rarely", "RR(9)", "VisitProb-R", "Random-T"),
    SimulatedTeam(
        "Two by One", "name pairs of regions, hide a fifth", "MRLH(1,0,0.2)", "HomeProb-R", "VisitProb-T"
    ),
    SimulatedTeam("Big Tiles", "name blocks of sixteen regions", "MRLH(2,2,0)", "VisitProb-R", "Replay-T"),
    SimulatedTeam(
        "Murmuration",
        "make similar people more alike, gently",
        "ClusterAveraging(0.8,blur_km=0.5)",
        "FuzzyCount-R",
        "HomeProb-T",
    ),
    SimulatedTeam(
        "Pickpockets", "swap the traces of every tenth person", "Cheat(0.1)", "HomeProb-R", "VisitProb-T"
    ),
    SimulatedTeam(
        "Sea Smoke", "move every place a few hundred metres", "PL(5,1)", "FuzzyCount-R(count)", "Replay-T"
    ),
    SimulatedTeam(
        "Coin Flippers", "answer a random place half the time", "RR(7)", "VisitProb-R", "FuzzyCount-T"
    ),
    SimulatedTeam(
        "Small Tiles", "name blocks of four regions", "MRLH(1,1,0)", "HomeProb-R", "FuzzyCount-T(count)"
    ),
    SimulatedTeam("Light Drizzle", "move every place very little", "PL(7,1)", "FuzzyCount-R", "Random-T"),
    SimulatedTeam("Blind Spot", "hide a tenth of all events", "MRLH(0,0,0.1)", "Random-R", "VisitProb-T"),
    SimulatedTeam(
        "Long Odds", "answer a random place very rarely", "RR(10)", "FuzzyCount-R(log-idf)", "HomeProb-T"
    ),
    SimulatedTeam("Thunderheads", "move every place by a kilometre or so", "PL(2,1)", "VisitProb-R", None),
)
"""Everybody who can play, the most instructive first: the first n teams make a contest of n."""

FEWEST, DEFAULT = 2, 7


def select_simulated_teams(count: int = DEFAULT) -> tuple[SimulatedTeam, ...]:
    """Return the first teams of the cast.

    >>> [player.name for player in select_simulated_teams(2)]
    ['Paper Cranes', 'Card Sharps']
    """
    require_whole("teams", count, at_least=FEWEST, at_most=len(SIMULATED_TEAMS))
    return SIMULATED_TEAMS[:count]
