"""Teams of virtual users, as the contest of 2019 had them, where there is no published data."""

from __future__ import annotations

from collections.abc import Iterator

from tracearena.contest import ContestPlan, team_traces
from tracearena.engine import child_seed, seed_sequence
from tracearena.figures.data import TEAM, Source, Team, generator_training, teams
from tracearena.synthesis import PPMTF

ITERATIONS = 100


def virtual_teams(source: Source, count: int = 1, *, iterations: int = ITERATIONS) -> list[Team]:
    """Return the data of several teams: virtual users (PPMTF+) learned from people of the simulated city.

    Published data is a folder of contest files: as many of its teams as there are, at most `count`.
    """
    if source.data is not None:
        return teams(source, count)
    users, days = source.sized(TEAM)
    return list(made_teams(source, [users] * count, 2 * days, iterations=iterations))


def made_teams(
    source: Source, sizes: list[int], days: int, *, iterations: int = ITERATIONS
) -> Iterator[Team]:
    """Make teams of so many virtual users each, one by one, learned from what the source has."""
    root = seed_sequence(source.seed)
    training = generator_training(source)
    model = PPMTF(factors=32, zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    for number, users in enumerate(sizes):
        plan = ContestPlan(users=users, days=days)
        yield Team(*team_traces(model, plan, child_seed(root, 1, number)))
