"""Who plays in a rehearsal: invented teams, each with a defence and two attacks of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.errors import ParameterError


@dataclass(frozen=True)
class Player:
    """One invented team.

    Attributes
    ----------
    name
        What the team calls itself.
    idea
        Its defence in a few words, for people who have not read the papers.
    defence, identification, inference
        Names in the registry; None where the team does not attack in that way.
    """

    name: str
    idea: str
    defence: str
    identification: str | None
    inference: str | None


CAST = (
    Player("Fog Bank", "moves every place a few hundred metres", "PL(4,1)", "HomeProb-R", "HomeProb-T"),
    Player("Card Sharps", "swap the traces of every fourth person", "Cheat(0.25)", "Random-R", "Random-T"),
    Player(
        "Heavy Weather", "moves every place by kilometres", "PL(1,1)", "VisitProb-R", "Replay-T"
    ),
    Player("Patchwork", "names blocks of four regions, hides a tenth", "MRLH(1,1,0.1)", "VisitProb-R", None),
    Player("Dice Throwers", "answer a random place now and then", "RR(8)", "HomeProb-R", "VisitProb-T"),
    Player("Vanishing Act", "hides a quarter of all events", "MRLH(0,0,0.25)", None, "Replay-T"),
    Player("Morning Mist", "moves every place a little", "PL(6,1)", "HomeProb-R", "VisitProb-T"),
    Player("Optimists", "leave everything as it is", "No", "Random-R", "HomeProb-T"),
    Player("Loaded Dice", "answer a random place rarely", "RR(9)", "VisitProb-R", "Random-T"),
    Player("Two by One", "names pairs, hides a fifth", "MRLH(1,0,0.2)", "HomeProb-R", "VisitProb-T"),
    Player("Big Tiles", "names blocks of sixteen regions", "MRLH(2,2,0)", "VisitProb-R", "HomeProb-T"),
    Player("Pickpockets", "swap every tenth trace", "Cheat(0.1)", "VisitProb-R", "VisitProb-T"),
    Player("Sea Smoke", "moves every place a few hundred metres", "PL(5,1)", "HomeProb-R", "Replay-T"),
    Player("Coin Flippers", "answer a random place half the time", "RR(7)", "VisitProb-R", "HomeProb-T"),
    Player("Small Tiles", "names blocks of four regions", "MRLH(1,1,0)", "HomeProb-R", "HomeProb-T"),
    Player("Light Drizzle", "moves every place very little", "PL(7,1)", "VisitProb-R", "Random-T"),
    Player("Blind Spot", "hides a tenth of all events", "MRLH(0,0,0.1)", "Random-R", "VisitProb-T"),
    Player("Long Odds", "answer a random place very rarely", "RR(10)", "HomeProb-R", "Replay-T"),
    Player("Quick Hands", "swap the traces of every fifth person", "Cheat(0.2)", "VisitProb-R", "HomeProb-T"),
    Player("Thunderheads", "moves every place by a kilometre or so", "PL(2,1)", "HomeProb-R", "VisitProb-T"),
    Player("Old Brick", "names pairs of regions, hides a tenth", "MRLH(1,0,0.1)", "VisitProb-R", None),
)  # fmt: skip
"""Everybody who can play, the most instructive first: the first n teams make a contest of n."""

FEWEST, DEFAULT = 2, 8


def players(count: int = DEFAULT) -> tuple[Player, ...]:
    """Return the first teams of the cast.

    >>> [player.name for player in players(2)]
    ['Fog Bank', 'Card Sharps']
    """
    if isinstance(count, bool) or not isinstance(count, int) or not FEWEST <= count <= len(CAST):
        raise ParameterError.of("teams", count, f"a whole number from {FEWEST} to {len(CAST)}")
    return CAST[:count]
