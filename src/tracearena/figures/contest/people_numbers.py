"""How people live, in numbers by which groups are compared, and how far halves of a group lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.traces import Traces

SPLITS = 200
LIMIT_KM = 2.0
SENSITIVE_WEIGHT = 10.0
NOON_S = 12 * 3600
Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lives:
    """Whole days of people: users × days × instants of a day, at least two days of two instants each.

    Attributes
    ----------
    table
        Places.
    traces
        The same as traces.
    """

    table: NDArray[np.int32]
    traces: Traces

    @classmethod
    def of(cls, traces: Traces) -> Lives:
        """Look at complete traces."""
        if not traces.is_complete:
            raise DataError("the lives of people are compared in traces without gaps")
        table = traces.dense().reshape(traces.n_users, -1, traces.clock.instants_per_day)
        if min(table.shape[1:]) < 2:
            raise DataError("the lives of people are compared over two days of two instants, or more")
        return cls(table, traces)

    def take(self, users: NDArray[np.int64]) -> Lives:
        """Look at some of the people."""
        return Lives(self.table[users], self.traces.take_users(users))

    @property
    def labels(self) -> list[str]:
        """The times of day."""
        return [self.traces.clock.label(instant) for instant in range(self.table.shape[2])]

    def morning_places(self) -> NDArray[np.int64]:
        """Return where each person is most often at the first time of day; of equals, the first place."""
        first = self.table[:, :, 0]
        same = (first[:, :, None] == first[:, None, :]).sum(axis=2)
        candidates = np.where(same == same.max(axis=1, keepdims=True), first, np.iinfo(np.int32).max)
        return np.asarray(candidates.min(axis=1), np.int64)

    def at_home(self) -> Table:
        """Return on which share of her days a person is at her place of the morning, users × times."""
        return np.asarray((self.table == self.morning_places()[:, None, None]).mean(axis=1))

    def repeats(self) -> Table:
        """Return the share of each person's days that find her where the next one does, users × times."""
        return np.asarray((self.table[:, 1:] == self.table[:, :-1]).mean(axis=1))

    def numbers(self) -> dict[str, tuple[Table, Table]]:
        """Return each number as two sums a person; the number of a group is the ratio of its sums.

        Replay is the attack that answers with the first half of the days for the second
        ([contest] section 3.4: s_T).
        """
        t, labels, ones = self.table, self.labels, np.ones(len(self.table))
        home, repeats = self.at_home(), self.repeats()
        days = t.shape[1] // 2
        original = t[:, days : 2 * days]
        places = self.traces.places
        distance = places.distance_km(original.ravel(), t[:, :days].ravel()).reshape(len(t), -1)
        weight = np.where(places.sensitive[original.reshape(len(t), -1)], SENSITIVE_WEIGHT, 1.0)
        lost = (weight * np.minimum(distance / LIMIT_KM, 1)).sum(axis=1)
        return {
            "stays from one instant to the next": ((t[:, :, 1:] == t[:, :, :-1]).mean(axis=(1, 2)), ones),
            f"at home at {labels[0]}": (home[:, 0], ones),
            f"at home at {labels[1]}": (home[:, 1], ones),
            f"same place next day at {labels[0]}": (repeats[:, 0], ones),
            f"same place next day at {labels[1]}": (repeats[:, 1], ones),
            "replay leaves (s_T)": (lost, weight.sum(axis=1)),
        }

    def distributions(self) -> dict[str, Table]:
        """Return how people are spread over transitions, over places at noon, and over visits to a place."""
        t, n = self.table.astype(np.int64), len(self.traces.places)
        pairs = np.bincount((t[:, :, :-1] * n + t[:, :, 1:]).ravel(), minlength=n * n)
        return {
            "transition matrix": pairs / pairs.sum(),
            "population at noon": self.at_noon(),
            "visits of a person to a place": self.visit_counts(),
        }

    def at_noon(self) -> Table:
        """Return the share of the people at each place at noon, or at the time next to it."""
        clock = self.traces.clock
        times = clock.second_of_day(np.arange(clock.instants_per_day))
        there = self.table[:, :, int(np.argmin(np.abs(times - NOON_S)))].ravel()
        return np.asarray(np.bincount(there, minlength=len(self.traces.places)) / len(there))

    def visit_counts(self) -> Table:
        """Return which share of the places of a person she visits 1, 2, … times."""
        _, _, counts = self.traces.visit_counts()
        return np.asarray(np.bincount(counts, minlength=self.table[0].size + 1)[1:] / max(len(counts), 1))


def value(sums: tuple[Table, Table], users: NDArray[np.int64] | slice = slice(None)) -> float:
    """Return the number of a group of people."""
    return float(sums[0][users].sum() / sums[1][users].sum())


def spread(sums: tuple[Table, Table], *, seed: SeedLike, splits: int = SPLITS) -> float:
    """Return the standard deviation of the difference between two random halves of the people."""
    rng, n = generator(seed), len(sums[0])
    orders = [rng.permutation(n) for _ in range(splits)]
    return float(np.std([value(sums, one[: n // 2]) - value(sums, one[n // 2 :]) for one in orders]))


def apart(a: Table, b: Table) -> float:
    """Return the total variation between two distributions."""
    return float(np.abs(a - b).sum() / 2)


def distances(
    real: Lives, other: Lives, *, seed: SeedLike, splits: int = 10
) -> dict[str, tuple[float, float]]:
    """Return how far half of the others lie from half of the real people, and these from their other half.

    Halves on both sides, since few people look different for that reason alone; means over random splits.
    """
    rng = generator(seed)
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(splits):
        order, others = rng.permutation(len(real.table)), rng.permutation(len(other.table))
        size = min(len(order), len(others)) // 2
        one, two = (real.take(np.sort(part)).distributions() for part in (order[:size], order[-size:]))
        made = other.take(np.sort(others[:size])).distributions()
        for name in one:
            found.setdefault(name, []).append((apart(made[name], one[name]), apart(one[name], two[name])))
    return {
        name: (float(np.mean(pairs, axis=0)[0]), float(np.mean(pairs, axis=0)[1]))
        for name, pairs in found.items()
    }
