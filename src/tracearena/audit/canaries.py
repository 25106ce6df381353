"""Lower bounds on ε from planted people (canaries) in many runs.

Two data sets differ by one planted person (a canary). The tables are released many times from each, and the
attacker distinguishes the two by the likelihood ratio of the releases; the success of this attack is a lower
bound on ε. Only the cells that the canary changes are drawn, because all others have the same noise with and
without the canary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.settings import Record
from tracearena.checks import require_whole
from tracearena.cities import simulate, simulate_gps
from tracearena.cities.city import GRID
from tracearena.engine import report
from tracearena.mobility.trips import FEWEST_POINTS, Trips, cut_trips
from tracearena.synthesis.private import roles, trips
from tracearena.synthesis.private.roles import PrivateRoles, PublicFrame
from tracearena.synthesis.private.tables import (
    Budget,
    Cost,
    Ints,
    Noise,
    OpenDPNoise,
    release,
    rho_to_epsilon,
)
from tracearena.synthesis.private.trips import PrivateTrips
from tracearena.traces import Clock, Traces

Floats = NDArray[np.float64]
Counting = Callable[[Any, Any], Mapping[str, Ints]]
"""Counts the tables of traces on a public frame, or of trips for a unit."""

CONFIDENCE = 0.95
"""That no lower bound of an audit is too high."""
CLOCK = Clock(instants_per_day=24)
_OTHERS, _SEED = 20, 1
_PILOT = 4
"""The threshold is chosen on one run for this many that count."""


@dataclass(frozen=True)
class CanaryBound(Record):
    """What the attacker's success proves about one table, or about all.

    Attributes
    ----------
    table
        Name of the table, or "all".
    canary
        Who was planted: of several the one who changes the table most.
    claim
        ε that is promised.
    lower
        ε is at least this; all bounds of an audit hold together with 95 % confidence.
    runs
        Releases from each of the two data sets.
    needed
        Runs with which noise for half the bound would be noticed in 99 of 100 audits.
    """

    table: str
    canary: str
    claim: float
    lower: float
    runs: int
    needed: int

    @property
    def holds(self) -> bool:
        """Whether the lower bound is below the claim."""
        return self.lower <= self.claim


def list_canaries() -> dict[str, list[tuple[int, int]]]:
    """Return planted people by name: instants and regions of the embedded city."""
    far = 1023
    commuter = [0] * 8 + [far] * 9 + [31] + [0] * 6
    return {
        "commuter": list(enumerate(commuter)),
        "always at one place": [(t, 500) for t in range(24)],
        "ten thousand events": [(i % 240, (i * i) % 1024) for i in range(10_000)],
        "one event": [(12, 700)],
    }


def list_trip_canaries(unit: str) -> dict[str, list[tuple[Floats, Floats]]]:
    """Return planted trips by name, as positions in the box; as many of a person, or one."""
    t = np.linspace(0, 1, 60, endpoint=False)
    line, still = (t, t), (np.full(FEWEST_POINTS, 0.9), np.full(FEWEST_POINTS, 0.1))
    to_and_fro = np.tile([0.45, 0.55], 30), np.full(60, 0.9)
    if unit == "trip":
        return {"across the box": [line], "at one place": [still], "to and fro": [to_and_fro]}
    return {
        "across the box": [line],
        "to and fro": [to_and_fro],
        "a hundred trips at one place": [still] * 100,
        "a thousand trips everywhere": [((t + i / 7) % 1, (t * (i % 5) + i / 11) % 1) for i in range(1000)],
    }


def _plan_roles(
    algorithm: PrivateRoles, counting: Counting
) -> tuple[Budget, Mapping[str, Ints], dict[str, Mapping[str, Ints]]]:
    others = simulate(_OTHERS, 1, clock=CLOCK, seed=_SEED)
    frame = PublicFrame(others.places, others.clock)
    planted = {name: counting(_plant(others, events), frame) for name, events in list_canaries().items()}
    return algorithm.plan(frame), counting(others, frame), planted


def _plan_trips(
    algorithm: PrivateTrips, counting: Counting
) -> tuple[Budget, Mapping[str, Ints], dict[str, Mapping[str, Ints]]]:
    budget = algorithm.plan()
    unit = budget.costs[0].table.unit
    others = cut_trips(simulate_gps(_OTHERS, 2, interval_s=60, seed=_SEED), GRID.box)
    planted = {}
    for name, pieces in list_trip_canaries(unit).items():
        sizes = [len(x) for x, _ in pieces]
        joined = Trips(
            np.concatenate([others.offsets, others.offsets[-1] + np.cumsum(sizes)]),
            np.concatenate([others.x, *(x for x, _ in pieces)]),
            np.concatenate([others.y, *(y for _, y in pieces)]),
            np.concatenate([others.user, np.full(len(pieces), _OTHERS)]),
        )
        planted[name] = counting(joined, unit)
    return budget, counting(others, unit), planted


def audit_canaries(
    algorithm: PrivateRoles | PrivateTrips,
    *,
    runs: int = 20_000,
    noise: Noise | None = None,
    counting: Counting | None = None,
) -> list[CanaryBound]:
    """Return a lower bound on ε for each table and for all of them.

    Parameters
    ----------
    algorithm
        What is audited; it is not fitted.
    runs
        Most releases from each data set; fewer are made where fewer suffice.
    noise, counting
        What is to be audited in the place of OpenDP's noise and of the tables of the algorithm.

    References
    ----------
    M. Jagielski, J. Ullman, A. Oprea, Auditing differentially private machine learning, NeurIPS 2020, for ε;
    M. Nasr et al., Tight auditing of differentially private machine learning, USENIX Security 2023, for μ
    of Gaussian noise.
    """
    require_whole("runs", runs, at_least=100, at_most=10**7)
    source = OpenDPNoise() if noise is None else noise
    if isinstance(algorithm, PrivateTrips):
        budget, without, planted = _plan_trips(algorithm, counting or trips.count_tables)
    else:
        budget, without, planted = _plan_roles(algorithm, counting or roles.count_tables)
    bounds = len(budget.costs) + 1

    def measure(name: str, cost: Cost) -> tuple[float, float]:
        """Return how much a canary changes a table, to 1 %, and how much its cell that changes most."""
        change = planted[name][cost.table.name] - without[cost.table.name]
        return round(cost.table.measure(change), 2), float(np.abs(change).max())

    found = []
    for done, cost in enumerate(budget.costs, start=1):
        canary = max(planted, key=lambda name: measure(name, cost))
        needed = count_runs(cost, bounds)
        number = min(needed, runs)
        ratios = draw_ratios(budget, [cost], without, planted[canary], number, source)
        found.append(_bound(cost.table.name, canary, cost, budget.delta, ratios, needed, bounds))
        report(done, bounds)

    def measure_all(name: str) -> tuple[float, float]:
        every = [(one.epsilon, measure(name, one)) for one in budget.costs]
        return sum(share * norm for share, (norm, _) in every), sum(
            share * most for share, (_, most) in every
        )

    canary = max(planted, key=measure_all)
    number = min(runs, 5_000)
    ratios = draw_ratios(budget, budget.costs, without, planted[canary], number, source)
    lower = bound_epsilon(*ratios, delta=budget.delta, bounds=bounds)
    return [*found, CanaryBound("all", canary, budget.spent, lower, number, number)]


def _plant(others: Traces, events: Sequence[tuple[int, int]]) -> Traces:
    when, where = np.array(events).T
    return Traces.from_events(
        np.concatenate([others.user_index, np.full(len(events), others.n_users)]),
        np.concatenate([others.instants, when]),
        np.concatenate([others.place_index, where]),
        others.places,
        others.clock,
    )


def count_runs(cost: Cost, bounds: int = 7) -> int:
    """Return the runs with which a table with half the noise is noticed in 99 of 100 audits.

    Twice the claim must exceed the claim by both ends of the intervals (2.69 standard errors each, for seven
    `bounds` that hold together) and 2.33 standard errors of the difference. The standard error of the log
    of a share near one half is 1 / √n, that of its normal quantile √(π/2) times that.
    """
    from scipy.stats import norm

    width = 2 * float(norm.isf((1 - CONFIDENCE) / bounds / 2)) + 2.33 * math.sqrt(2)
    wanted = cost.epsilon if cost.table.norm == "L1" else math.sqrt(2 * cost.rho / (math.pi / 2))
    return max(2_000, math.ceil((width / wanted) ** 2))


def draw_ratios(
    budget: Budget,
    costs: Sequence[Cost],
    without: Mapping[str, Ints],
    planted: Mapping[str, Ints],
    runs: int,
    noise: Noise,
) -> tuple[Floats, Floats]:
    """Return log likelihood ratios of releases with the canary and without; some more for the pilot."""
    number = runs + -(-runs // _PILOT)
    ratios = np.zeros((2, number))
    for cost in costs:
        name = cost.table.name
        changed = planted[name] != without[name]
        ends = planted[name][changed], without[name][changed]
        if not changed.any():
            continue
        part = Budget(budget.epsilon, budget.delta, (cost,))
        for world, values in enumerate(ends):
            seen = release(part, {name: np.tile(values, (number, 1))}, noise)[name]
            gaps = [(seen - end) / cost.scale for end in ends]
            if cost.table.norm == "L1":
                ratios[world] += (np.abs(gaps[1]) - np.abs(gaps[0])).sum(axis=1)
            else:
                ratios[world] += ((gaps[1] ** 2 - gaps[0] ** 2) / 2).sum(axis=1)
    return ratios[0], ratios[1]


def _bound(
    table: str, canary: str, cost: Cost, delta: float, ratios: tuple[Floats, Floats], needed: int, bounds: int
) -> CanaryBound:
    runs = _split(ratios[0])[1].size
    if cost.table.norm == "L1":
        return CanaryBound(table, canary, cost.epsilon, bound_epsilon(*ratios, bounds=bounds), runs, needed)
    lower = rho_to_epsilon(bound_mu(*ratios, bounds=bounds) ** 2 / 2, delta)
    return CanaryBound(table, canary, rho_to_epsilon(cost.rho, delta), lower, runs, needed)


def bound_epsilon(inside: Floats, outside: Floats, *, delta: float = 0.0, bounds: int = 7) -> float:
    """Return ε that holds at least: ln((P(yes | canary) − δ) / P(yes | none)), or the same of "no".

    It holds with 95 % confidence together with all others of that many `bounds`.
    """

    def value(yes: tuple[float, float], falsely: tuple[float, float]) -> float:
        return math.log(max(yes[0] - delta, 1e-300) / max(falsely[1], 1e-300))

    return _best_bound(inside, outside, value, bounds)


def bound_mu(inside: Floats, outside: Floats, *, bounds: int = 7) -> float:
    """Return μ that holds at least for Gaussian noise: the difference of both shares' normal quantiles."""
    from scipy.stats import norm

    def value(yes: tuple[float, float], falsely: tuple[float, float]) -> float:
        low, high = max(yes[0], 1e-12), min(falsely[1], 1 - 1e-12)
        return float(norm.ppf(low) - norm.ppf(high))

    return _best_bound(inside, outside, value, bounds)


def _best_bound(
    inside: Floats,
    outside: Floats,
    value: Callable[[tuple[float, float], tuple[float, float]], float],
    bounds: int,
) -> float:
    """Choose the threshold and the answer on the pilot runs, and bound it on all others."""
    pilot, rest = zip(_split(inside), _split(outside), strict=True)
    levels = np.quantile(np.concatenate(pilot), np.linspace(0.02, 0.98, 25))
    tries = [(sign, level) for sign in (1, -1) for level in levels]

    def bound(at: tuple[int, float], runs: tuple[Floats, ...]) -> float:
        sign, level = at
        # Said "yes" of a release: with the canary for +1, without her for -1.
        first, second = runs if sign > 0 else runs[::-1]
        return value(*(_bound_share(sign * one > sign * level, bounds) for one in (first, second)))

    return max(bound(max(tries, key=lambda at: bound(at, pilot)), rest), 0.0)


def _bound_share(said: NDArray[np.bool_], bounds: int) -> tuple[float, float]:
    """Return the exact interval of a share, such that all bounds of an audit hold together."""
    from scipy.special import betaincinv

    rest, yes, runs = (1 - CONFIDENCE) / bounds / 2, int(said.sum()), len(said)
    low = 0.0 if yes == 0 else float(betaincinv(yes, runs - yes + 1, rest))
    high = 1.0 if yes == runs else float(betaincinv(yes + 1, runs - yes, 1 - rest))
    return low, high


def _split(ratios: Floats) -> tuple[Floats, Floats]:
    pilot = len(ratios) // (_PILOT + 1)
    return ratios[:pilot], ratios[pilot:]
