"""Tables that may be released: what one unit can change in each, its noise, and what all of them cost.

A table is a sum over the units of the data (people or trips) of a function of that unit alone, counted in
whole numbers: a contribution x is stored as ⌊2^20 x⌋, rounded towards zero, so that no rounding exceeds the
bound. Tables bounded in L1 get discrete Laplace noise, tables bounded in L2 discrete Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.errors import ParameterError, TracearenaError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Unit = Literal["person", "trip"]
Norm = Literal["L1", "L2"]

BITS = 20
SCALE = 1 << BITS
"""Whole numbers that stand for 1."""


@dataclass(frozen=True)
class Table:
    """A table to release.

    Attributes
    ----------
    name
        Name in shares and in the budget.
    unit
        The unit whose whole data is one contribution: neighbouring data sets differ by one unit.
    norm, bound
        Adding or removing one unit changes the table by at most `bound` in this norm.
    share
        Share of ε.
    """

    name: str
    unit: Unit
    norm: Norm
    bound: float
    share: float

    def measure(self, change: Ints) -> float:
        """Return the norm of a change of the counted table, as a multiple of the bound.

        >>> Table("homes", "person", "L1", 1.0, 0.5).measure(np.array([0, SCALE]))
        1.0
        """
        values = np.abs(change).astype(object).ravel()
        norm = int(values.sum()) if self.norm == "L1" else math.sqrt(int((values**2).sum()))
        return float(norm / SCALE / self.bound)


@dataclass(frozen=True)
class Cost:
    """What the release of one table costs.

    Attributes
    ----------
    table
        The table.
    epsilon
        Pure ε of a table with Laplace noise; of one with Gaussian noise its share of the joint ε.
    rho
        Zero-concentrated privacy loss of a table with Gaussian noise, otherwise 0.
    sigma
        Standard deviation of the noise of a cell, where one unit adds 1.
    """

    table: Table
    epsilon: float
    rho: float
    sigma: float

    @property
    def scale(self) -> float:
        """Parameter of the noise in whole numbers: the scale of a Laplace, σ of a Gaussian variable."""
        return self.sigma * SCALE / (math.sqrt(2) if self.table.norm == "L1" else 1)


@dataclass(frozen=True)
class Budget:
    """The composition of all tables: (ε, δ) for one unit.

    Tables with Laplace noise add up their ε. Those with Gaussian noise add up their ρ, which the conversion
    of `rho_to_epsilon` turns into one (ε, δ); that ε is the sum of their shares.
    """

    epsilon: float
    delta: float
    costs: tuple[Cost, ...]

    @classmethod
    def plan(cls, tables: Sequence[Table], epsilon: float, delta: float = 0.0) -> Budget:
        """Divide ε among the tables by their shares; δ is for those with Gaussian noise."""
        require_number("epsilon", epsilon, above=0, at_most=100)
        gaussian = sum(table.share for table in tables if table.norm == "L2")
        if gaussian:
            require_number("delta", delta, above=0, at_most=1e-3)
        rho = find_rho(gaussian * epsilon, delta) if gaussian else 0.0
        costs = []
        for table in tables:
            mine = table.share * epsilon
            if table.norm == "L1":
                costs.append(Cost(table, mine, 0.0, math.sqrt(2) * table.bound / mine))
            else:
                part = rho * table.share / gaussian
                costs.append(Cost(table, mine, part, table.bound / math.sqrt(2 * part)))
        return cls(epsilon, delta if gaussian else 0.0, tuple(costs))

    @property
    def spent(self) -> float:
        """ε of all tables, computed from their noise."""
        pure = math.fsum(one.epsilon for one in self.costs if one.table.norm == "L1")
        rho = math.fsum(one.rho for one in self.costs)
        return pure + (rho_to_epsilon(rho, self.delta) if rho else 0.0)

    def lines(self) -> list[str]:
        """Return the composition for people, one line per table and one for all."""
        said = []
        for one in self.costs:
            table = one.table
            cost = f"ε {one.epsilon:.4g}" if table.norm == "L1" else f"ρ {one.rho:.3g} (ε {one.epsilon:.4g})"
            said.append(
                f"{table.name}: one {table.unit} changes at most {table.bound:.4g} ({table.norm}); "
                f"noise {one.sigma:.3g}; {cost}"
            )
        unit = self.costs[0].table.unit
        return [*said, f"all: ε = {self.spent:.6g}, δ = {self.delta:g} for one {unit}"]

    def describe_guarantee(self, *, seeded: bool) -> str:
        """Return the guarantee of a release in a sentence; noise of a seed has none."""
        if seeded:
            return "none: the noise was drawn from a seed, and anyone who guesses the seed can remove it"
        return self.lines()[-1].removeprefix("all: ")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """Read what `to_dict` wrote."""
        costs = [Cost(**{**one, "table": Table(**one["table"])}) for one in data["costs"]]
        return cls(float(data["epsilon"]), float(data["delta"]), tuple(costs))


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return the smallest ε known to hold with δ for a mechanism of zero-concentrated loss ρ.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020,
    proposition 12: ε = ρα + (ln(1/δ) + (α − 1) ln(1 − 1/α) − ln α) / (α − 1) for every α > 1.

    >>> round(rho_to_epsilon(0.02, 1e-6), 3)
    0.9
    """
    from scipy.optimize import minimize_scalar

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        rest = -math.log(delta) + excess * math.log1p(-1 / alpha) - math.log(alpha)
        return rho * alpha + rest / excess

    # The bound holds for every α; the search only decides how near the best it is.
    return max(float(minimize_scalar(bound, bounds=(-6, 14), method="bounded").fun), 0.0)


def find_rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ whose `rho_to_epsilon` is at most ε."""
    low, high = 0.0, epsilon + 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_to_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


class Noise(Protocol):
    """A source of noise in whole numbers."""

    def add(self, values: Ints, cost: Cost) -> Ints:
        """Return the values with the noise that a cost says."""


class OpenDPNoise:
    """Discrete noise of OpenDP: exact, from the system's cryptographic source, without a seed."""

    @staticmethod
    def require() -> None:
        """Raise an error if OpenDP is not installed."""
        _load_opendp()

    def add(self, values: Ints, cost: Cost) -> Ints:
        """Return the values with noise, after OpenDP has confirmed what it costs."""
        dp = _load_opendp()
        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        bound = cost.table.bound * SCALE
        # A little more noise than asked for, so that rounding cannot make the cost exceed the share.
        scale = cost.scale * (1 + 1e-9)
        if cost.table.norm == "L1":
            measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
            found, allowed = measurement.map(math.ceil(bound)), cost.epsilon
        else:
            measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
            found, allowed = measurement.map(math.nextafter(bound, math.inf)), cost.rho
        if not found <= allowed:
            raise TracearenaError(
                f"{cost.table.name}: the noise costs more than its share, {found} instead of {allowed}"
            )
        noisy = measurement(values.ravel().tolist())
        return np.array(noisy, np.int64).reshape(values.shape)


class SeededNoise:
    """The same distributions from a seed, for experiments: anyone who knows the seed can remove the noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def add(self, values: Ints, cost: Cost) -> Ints:
        """Return the values with noise."""
        if cost.table.norm == "L2":
            return values + np.rint(self._rng.normal(0, cost.scale, values.shape)).astype(np.int64)
        # The difference of two geometric variables is a discrete Laplace variable.
        chance = -math.expm1(-1 / cost.scale)
        first, second = self._rng.geometric(chance, (2, *values.shape))
        return np.asarray(values + first - second, np.int64)


def release(budget: Budget, counted: Mapping[str, Ints], noise: Noise) -> dict[str, Ints]:
    """Return the tables with noise, in whole numbers: the only step that reads the counted tables.

    Parameters
    ----------
    budget
        What each table may cost.
    counted
        The tables before noise, by name, in units of 1 / `SCALE`.
    noise
        Where the noise comes from.
    """
    return {one.table.name: noise.add(counted[one.table.name], one) for one in budget.costs}


def parse_shares(text: str, names: Sequence[str]) -> dict[str, float]:
    """Return the shares of the tables that a text such as ``homes=0.4,works=0.6`` gives; they add up to 1.

    >>> parse_shares("homes=0.4,works=0.6", ["homes", "works"])
    {'homes': 0.4, 'works': 0.6}
    """
    wanted = f"NAME=SHARE for each of {', '.join(names)}, adding up to 1"
    try:
        pairs = [part.split("=") for part in text.split(",")]
        shares = {name.strip(): float(value) for name, value in pairs}
    except ValueError:
        raise ParameterError.of("shares", text, wanted) from None
    positive = all(math.isfinite(value) and value > 0 for value in shares.values())
    if sorted(shares) != sorted(names) or len(pairs) != len(names) or not positive:
        raise ParameterError.of("shares", text, wanted)
    if abs(math.fsum(shares.values()) - 1) > 1e-9:
        raise ParameterError.of("shares", text, f"{wanted}; these add up to {math.fsum(shares.values()):g}")
    return {name: shares[name] for name in names}


def _load_opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise TracearenaError(
            "private noise comes from OpenDP, which is not installed: pip install 'tracearena[private]'"
        ) from None
    return dp
