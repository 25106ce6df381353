"""Fairness: does it matter which team's data a defence has to protect?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tracearena.arena.ensemble import SAMPLE_ATTACKS
from tracearena.arena.sweep import run_sweep, succeeded
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import Traces

DEFENCES = ("No", "MRLH(1,1,0.5)", "RR(1)", "PL(1,1)")


@dataclass(frozen=True)
class Fairness(Result):
    """Spread of a defence's scores over the teams' data: small where the data is fair.

    Attributes
    ----------
    defence, teams
        What was tried, on how many teams' data.
    reidentification_mean, trace_inference_mean
        Mean of s_R,min and of s_T,min.
    reidentification_sd, trace_inference_sd
        Their standard deviation over the teams.
    """

    defence: str
    teams: int
    reidentification_mean: float
    trace_inference_mean: float
    reidentification_sd: float
    trace_inference_sd: float


def measure_fairness(
    teams: Iterable[tuple[Traces, Traces]],
    *,
    defences: Sequence[str] = DEFENCES,
    attacks: Sequence[str] = SAMPLE_ATTACKS,
    seed: SeedLike = None,
) -> list[Fairness]:
    """Release every team's original traces under each defence, attack them, and compare the scores.

    Parameters
    ----------
    teams
        Reference and original traces of each team; taken one by one.
    defences, attacks
        Names of the catalogue; by default those of the paper's Table 2.
    seed
        Seed of defences, shuffles and attacks.

    References
    ----------
    [contest] appendix E and Table 2.
    """
    root = seed_sequence(seed)
    scores: list[list[tuple[float, float]]] = []
    names: list[str] = []
    for number, (reference, original) in enumerate(teams):
        rows = run_sweep(
            reference, original, defences=defences, attacks=attacks, seed=child_seed(root, number)
        )
        names = [row.defence for row in rows]
        scores.append([row.scores.minima for row in succeeded(rows)])
    if len(scores) < 2:
        raise DataError("fairness compares at least two teams")
    table = np.array(scores, float)
    return [
        Fairness(name, len(table), *map(float, (*column.mean(axis=0), *column.std(axis=0, ddof=1))))
        for name, column in zip(names, table.transpose(1, 0, 2), strict=True)
    ]
