"""`PrivateRoles`: synthetic days of people who never lived, with differential privacy for whole people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer, setting
from tracearena.checks import LARGEST_COUNT, require_fitted, require_kind, require_whole
from tracearena.engine import SeedLike, seed_sequence, stream
from tracearena.errors import DataError
from tracearena.synthesis.baselines import build_day_traces
from tracearena.synthesis.private.base import PrivateModel
from tracearena.synthesis.private.denoising import (
    denoise,
    order_places,
    project_simplex,
    shrink_rank,
    smooth_series,
)
from tracearena.synthesis.private.tables import (
    BITS,
    SCALE,
    Budget,
    Ints,
    Table,
    Unit,
    parse_shares,
)
from tracearena.traces import Clock, Grid, Places, Traces

Floats = NDArray[np.float64]

SHARES = "homes=0.4,works=0.25,commutes=0.03,arrivals=0.04,roles=0.13,visits=0.15"
"""Tuned with the constants of `RoleDrawing` on simulated cities of 500 to 200,000 people (seeds 101 to 108);
`benchmarks/bench_private.py` measures on others."""
UNIT: Unit = "person"
_NAMES = ("homes", "works", "commutes", "arrivals", "roles", "visits")
_MOST_SLOTS, _MOST_BLOCKS, _BINS = 24, 48, 14
_PAIRS = 200_000


@dataclass(frozen=True)
class RoleDrawing:
    """How virtual people are drawn from the noisy tables; none of it touches the data.

    Attributes
    ----------
    sampling
        Variance of a count of people, as a multiple of its mean.
    proposals
        How often each virtual person is redrawn to fit the population of each slot better.
    """

    sampling: float = 2.0
    proposals: int = 5


_DRAWING = RoleDrawing()


class PublicFrame(NamedTuple):
    """What is public: places, and how instants and distances are cut into slots and bins."""

    places: Places
    clock: Clock

    @classmethod
    def of(cls, traces: Traces) -> Self:
        """Return the places of traces and the instants of a day, without a date."""
        return cls(traces.places, replace(traces.clock, first_day=None, timezone=None))

    @property
    def slot_of(self) -> Ints:
        """Slot of the visit table of each instant of a day."""
        return _cut_evenly(self.clock.instants_per_day, _MOST_SLOTS)

    @property
    def block_of(self) -> Ints:
        """Block of the role table of each instant of a day."""
        return _cut_evenly(self.clock.instants_per_day, _MOST_BLOCKS)

    @property
    def edges(self) -> Floats:
        """Borders of the bins of distance: halves of the diagonal of all places, two bins per halving."""
        points = self.places.points_km
        diagonal = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
        return diagonal * 2.0 ** (-np.arange(_BINS - 1)[::-1] / 2 - 0.5)


def _cut_evenly(instants: int, most: int) -> Ints:
    return np.arange(instants) // -(-instants // most)


def define_tables(frame: PublicFrame, shares: Mapping[str, float]) -> list[Table]:
    """Return the tables, with what one person can change in each."""
    blocks = int(frame.block_of[-1]) + 1
    bounds = {"roles": ("L2", blocks**0.5), "visits": ("L2", 1.0)}
    return [Table(name, UNIT, *bounds.get(name, ("L1", 1.0)), shares[name]) for name in _NAMES]  # type: ignore[arg-type]


def count_tables(traces: Traces, frame: PublicFrame) -> dict[str, Ints]:
    """Count the tables without noise, in units of 1 / `SCALE`: nothing of them may be shown.

    homes, works
        1 at the place where a person has most events, and at the second; of equals the first visited.
    commutes
        1 at the bin of the distance between the two.
    roles
        For each block of instants, the share of each pair (role at the previous instant, role now) among
        all instants of all her days; between events she stays where she was. Role 0 is her first place, 1
        the second, 2 elsewhere.
    arrivals
        Shares of the bins of distance by which she comes to a place elsewhere; the last bin is staying there.
    visits
        Events by slot and place, divided by the root of the sum of squares of her events per slot.
    """
    from tracearena.synthesis.private._kernels import add_people

    slot_of, block_of = frame.slot_of, frame.block_of
    shapes: dict[str, tuple[int, ...]] = {
        "homes": (len(frame.places),),
        "works": (len(frame.places),),
        "commutes": (_BINS,),
        "arrivals": (_BINS + 1,),
        "roles": (int(block_of[-1]) + 1, 3, 3),
        "visits": (int(slot_of[-1]) + 1, len(frame.places)),
    }
    tables = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
    clock = traces.clock
    add_people(
        traces.offsets.astype(np.int64),
        clock.day_of(traces.instants),
        clock.time_of_day(traces.instants),
        traces.place_index.astype(np.int64),
        slot_of,
        block_of,
        np.ascontiguousarray(frame.places.points_km),
        frame.edges,
        BITS,
        tuple(tables.values()),
    )
    return tables


class RoleModel(NamedTuple):
    """What the noisy tables say: maps of places, the chain of roles, and the population of each slot."""

    homes: Floats
    works: Floats
    away: Floats
    work_share: float
    chain: Floats
    stay: float
    work_keep: Floats
    away_keep: Floats
    population: Floats


def estimate_model(noisy: Mapping[str, Ints], budget: Budget, frame: PublicFrame) -> RoleModel:
    """Estimate what the tables were before the noise; this is post-processing, and costs nothing."""
    sigma = {one.table.name: one.sigma for one in budget.costs}
    tables = {name: values / SCALE for name, values in noisy.items()}
    points, sampling = frame.places.points_km, _DRAWING.sampling
    orders = order_places(points)
    homes, works = tables["homes"], tables["works"]
    people = max(float(homes.sum()), 1.0)

    # Maps of the first, the second and all other places: what they have in common, and what is different.
    spread = float(np.hypot(sigma["homes"], sigma["works"]))
    base = denoise((homes + works)[None], spread, orders, sampling=sampling)[0]
    away = project_simplex(base, max(float(base.sum()), 1.0))

    def estimate_map(values: Floats, name: str) -> Floats:
        total = max(float(values.sum()), 1.0)
        common = base * total / max(float(base.sum()), 1.0)
        own = denoise((values - common)[None], sigma[name], orders)[0]
        shares = project_simplex(common + own, total)
        return np.asarray(shares / shares.sum())

    home_map, work_map = estimate_map(homes, "homes"), estimate_map(works, "works")
    away = away / away.sum()

    # The chain of roles, and how many people are in each role at each instant.
    roles = smooth_series(tables["roles"].reshape(-1, 9), sigma["roles"]).reshape(-1, 3, 3)
    chain = np.ascontiguousarray(np.maximum(roles, 0)[frame.block_of])
    now = np.diag(chain[0]) if np.diag(chain[0]).sum() > 0 else np.ones(3)
    now = now / now.sum()
    in_role = [now]
    for rows in chain[1:]:
        left = rows.sum(axis=1, keepdims=True)
        now = now @ np.where(left > 0, rows / np.where(left > 0, left, 1), np.eye(3))
        in_role.append(now)

    # The population of each slot: what the roles predict, and what the visits say beyond it.
    slots = frame.slot_of
    lasting = np.bincount(slots)[:, None]
    parts = np.stack([np.bincount(slots, np.array(in_role)[:, role]) for role in range(3)], axis=1) / lasting
    expected = parts @ np.stack([home_map, work_map, away])
    visits, noise = tables["visits"], sigma["visits"]
    totals, wide = visits.sum(axis=1), noise * np.sqrt(len(away))
    middle = max(float(totals.mean()), 1e-9)
    varying = max(float(totals.var()) - wide**2, 0.0)
    totals = np.maximum(middle + (totals - middle) * varying / (varying + wide**2), middle / 1000)[:, None]
    factors, patterns = shrink_rank(visits - totals * expected, noise)
    if len(patterns):
        patterns = denoise(patterns, noise / np.sqrt((factors**2).sum(axis=0)), orders)
    population = np.stack([project_simplex(row, 1.0) for row in expected + factors @ patterns / totals])

    # How much likelier a place is at each distance than if distance did not matter.
    rng = np.random.default_rng(0)  # of public numbers only

    def compare(seen: Floats, first: Floats, second: Floats) -> Floats:
        ends = (rng.choice(len(chances), _PAIRS, p=chances) for chances in (first, second))
        gaps = np.linalg.norm(np.subtract(*(points[one] for one in ends)), axis=1)
        by_chance = np.bincount(np.searchsorted(frame.edges, gaps), minlength=_BINS) / _PAIRS
        ratio = np.where(by_chance > 1e-4, seen / np.maximum(by_chance, 1e-4), 0)
        return np.asarray(np.maximum(ratio / max(float(ratio.max()), 1e-9), 1e-3))

    commutes = project_simplex(tables["commutes"], max(float(tables["commutes"].sum()), 1.0))
    arrivals = project_simplex(tables["arrivals"], max(float(tables["arrivals"].sum()), 1.0))
    stay = float(arrivals[-1] / arrivals.sum())
    anywhere = (home_map + work_map + away) / 3
    return RoleModel(
        homes=home_map,
        works=work_map,
        away=away,
        work_share=min(max(float(works.sum()), 0.0) / people, 1.0),
        chain=chain,
        stay=stay,
        work_keep=compare(commutes / commutes.sum(), home_map, work_map),
        away_keep=compare(arrivals[:-1] / max(float(arrivals[:-1].sum()), 1e-9), anywhere, away),
        population=population,
    )


@dataclass(kw_only=True)
class PrivateRoles(PrivateModel["Traces"], Synthesizer):
    """Days of people who never lived, from tables that are (ε, δ)-differentially private for whole people.

    Whatever an attacker knows, adding or removing one person with all her days changes the probability of
    any release by at most the factor e^ε, up to δ. Places, the instants of a day and the number of virtual
    people are public: they must not be taken from the data.

    Parameters
    ----------
    epsilon
        Privacy loss ε, greater than 0.
    delta
        Privacy loss δ, the chance that the bound fails; it should be far below 1 / people.
    shares
        Share of ε for each table, adding up to 1.

    Notes
    -----
    Without a seed the noise is OpenDP's (extra ``private``). With a seed, or a root that is not secret, it
    comes from NumPy: that is for experiments, and `guarantee` then says that there is none.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 1]] * 50, places, Clock(instants_per_day=3))
    >>> model = PrivateRoles(epsilon=8).fit(traces, seed=1)
    >>> model.sample_users(3, 1, seed=1)
    <Traces: 3 users, 9 events, 2 places, instants 0 to 2>
    """

    name: ClassVar[str] = "PrivateRoles"
    file_format: ClassVar[str] = "tracearena-private-roles"

    epsilon: float
    delta: float = 1e-6
    shares: str = setting(SHARES)

    def __post_init__(self) -> None:
        Budget.plan(
            self._define(PublicFrame(Places([0.0], [0.0]), Clock(instants_per_day=1))),
            self.epsilon,
            self.delta,
        )

    def _define(self, frame: PublicFrame) -> list[Table]:
        return define_tables(frame, parse_shares(self.shares, _NAMES))

    def plan(self, frame: PublicFrame) -> Budget:
        """Return what each table costs on public places and instants, before any data is read."""
        return Budget.plan(self._define(frame), self.epsilon, self.delta)

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Count the tables and add noise; only noisy tables are kept."""
        require_kind(self, traces, Traces)
        if not len(traces.places):
            raise DataError("training needs at least one place")
        self.frame_ = PublicFrame.of(traces)
        return self._release(self.plan(self.frame_), count_tables(traces, self.frame_), traces, seed)

    def _estimate(self) -> None:
        self.model_ = estimate_model(self.noisy_, self.budget_, self.frame_)

    def sample_users(self, users: int, days: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return days of virtual people, numbered from 1; how many there are must not depend on the data."""
        from tracearena.synthesis.private._kernels import draw_people

        require_fitted(self, "noisy_")
        require_whole("users", users, at_least=1, at_most=LARGEST_COUNT)
        require_whole("days", days, at_least=1, at_most=LARGEST_COUNT)
        model, frame, rng = self.model_, self.frame_, stream(seed_sequence(seed))
        home_map = np.cumsum(model.homes)
        # Evenly spaced numbers give every place its number of homes up to one.
        even = (np.arange(users) + rng.random()) / users * home_map[-1]
        homes = np.minimum(np.searchsorted(home_map, even, side="right"), len(home_map) - 1).astype(np.int64)
        rng.shuffle(homes)
        out = np.empty((users, days, frame.clock.instants_per_day), np.int32)
        target = users * days * np.bincount(frame.slot_of)[:, None] * model.population
        draw_people(
            rng, homes, home_map, np.cumsum(model.works), model.work_share, np.cumsum(model.away),
            (model.work_keep, model.away_keep), model.stay, model.chain,
            np.ascontiguousarray(frame.places.points_km), frame.edges, target,
            frame.slot_of, _DRAWING.proposals, out,
        )  # fmt: skip
        return build_day_traces(out, frame.places, frame.clock, np.arange(1, users + 1))

    def _list_public(self) -> dict[str, Any]:
        places, clock = self.frame_
        columns = {
            name: getattr(places, name)
            for name in ("latitude", "longitude", "ids", "sensitive", "categories")
        }
        return {
            "clock": {
                key: value for key, value in asdict(clock).items() if key not in ("first_day", "timezone")
            },
            "places": {name: None if one is None else one.tolist() for name, one in columns.items()}
            | {
                "grid": None if places.grid is None else asdict(places.grid),
                "km_per_degree": places.km_per_degree,
            },
        }

    def _read_public(self, content: Mapping[str, Any]) -> None:
        clock, places = content["clock"], content["places"]
        slots = None if clock["slots"] is None else tuple(clock["slots"])
        grid = None if places["grid"] is None else Grid(**places["grid"])
        self.frame_ = PublicFrame(Places(**places | {"grid": grid}), Clock(**clock | {"slots": slots}))

    def _read_tables(self, tables: Mapping[str, Any]) -> dict[str, Ints]:
        return {name: np.array(tables[name], np.int64) for name in _NAMES}
