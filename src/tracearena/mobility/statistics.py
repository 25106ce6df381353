"""Statistics of human mobility, measured on any traces.

Each function measures one regularity that studies of phone records found in people's movements;
`measure` gathers the exponents.

References
----------
.. [1] González, Hidalgo, Barabási, Understanding individual human mobility patterns, Nature 453 (2008).
.. [2] Song, Koren, Wang, Barabási, Modelling the scaling properties of human mobility, Nature Physics 6
   (2010).
.. [3] Song, Qu, Blumm, Barabási, Limits of predictability in human mobility, Science 327 (2010).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError
from tracearena.traces import Traces
from tracearena.traces.clock import DAY_S


@dataclass(frozen=True)
class Entropies:
    """Entropy of each person's places in bits [3]_, and how well the next place can be guessed at most.

    Attributes
    ----------
    random
        log2 of the number of places.
    uncorrelated
        Of the visit frequencies.
    real
        With the order of visits, by the Lempel–Ziv estimator.
    predictability
        Upper bound Π of the share of right guesses, by Fano's inequality from `real`.
    """

    random: NDArray[np.float64]
    uncorrelated: NDArray[np.float64]
    real: NDArray[np.float64]
    predictability: NDArray[np.float64]


@dataclass(frozen=True)
class TripLengthLaw:
    """P(Δr) ~ (Δr + offset_km)^-exponent exp(-Δr / cutoff_km), as in [1]_."""

    exponent: float
    cutoff_km: float
    offset_km: float

    def density(self, km: Any) -> NDArray[np.float64]:
        """Return the density at each length, up to a factor."""
        length = np.asarray(km, float)
        return np.asarray((length + self.offset_km) ** -self.exponent * np.exp(-length / self.cutoff_km))


@dataclass(frozen=True)
class MobilityStatistics:
    """The exponents and medians of one set of traces.

    Attributes
    ----------
    gyration_km
        Median radius of gyration.
    zipf
        ζ of the visit frequency of the k-th place, f ~ k^-ζ.
    exploration
        μ of the number of places after a time t, S ~ t^μ.
    trip_exponent, trip_cutoff_km
        β and κ of the trip lengths.
    entropy_random, entropy_uncorrelated, entropy_real, predictability
        Medians over people; entropies in bits.
    """

    gyration_km: float
    zipf: float
    exploration: float
    trip_exponent: float
    trip_cutoff_km: float
    entropy_random: float
    entropy_uncorrelated: float
    entropy_real: float
    predictability: float

    def to_dict(self) -> dict[str, float]:
        """Return the values by name."""
        return asdict(self)


def measure(traces: Traces) -> MobilityStatistics:
    """Measure all statistics; entropies on at most 500 people spread evenly over the list.

    >>> from tracearena.cities import simulate
    >>> measure(simulate(users=20, days=7, seed=1)).zipf > 1
    True
    """
    few = traces.take_users(np.unique(np.linspace(0, traces.n_users - 1, 500).astype(int)))
    bits, trips = entropies(few), trip_length_law(trip_lengths_km(traces))
    # Beyond the median number of places of a person, ranks mix few people.
    last_rank = int(np.clip(np.median(np.diff(traces.visit_counts()[0])), 2, 30))
    return MobilityStatistics(
        gyration_km=float(np.median(radius_of_gyration_km(traces))),
        zipf=zipf_exponent(visit_frequencies(traces), last_rank),
        exploration=exploration_exponent(distinct_places(traces)),
        trip_exponent=trips.exponent,
        trip_cutoff_km=trips.cutoff_km,
        entropy_random=float(np.median(bits.random)),
        entropy_uncorrelated=float(np.median(bits.uncorrelated)),
        entropy_real=float(np.median(bits.real)),
        predictability=float(np.median(bits.predictability)),
    )


def radius_of_gyration_km(traces: Traces) -> NDArray[np.float64]:
    """Return how far each person ranges: the root mean square distance of her events from their mean.

    NaN for a person without events. Without planar distances the mean lies in space, inside the
    sphere, and distances are chords: the same to a metre for anything smaller than a country.
    """
    points = traces.places.points_km
    counts = np.diff(traces.offsets)
    # Centred first: the difference of two large sums of squares would lose the small ones.
    events = (points - points.mean(axis=0))[traces.place_index] if len(points) else points
    sums = np.zeros(traces.n_users)
    with np.errstate(invalid="ignore"):
        for axis in range(points.shape[1]):
            total = np.bincount(traces.user_index, events[:, axis], traces.n_users)
            squares = np.bincount(traces.user_index, events[:, axis] ** 2, traces.n_users)
            sums += squares / counts - (total / counts) ** 2
        return np.asarray(np.sqrt(np.maximum(sums, 0)))


def visit_frequencies(traces: Traces, ranks: int = 100) -> NDArray[np.float64]:
    """Return the mean share of a person's visits to her most visited place, the second, and so on.

    A stay counts once, however many instants it lasts.
    """
    require_whole("ranks", ranks, at_least=1)
    stays = traces.keep(_mark_arrivals(traces))
    offsets, _, counts = stays.visit_counts()
    user = np.repeat(np.arange(stays.n_users), np.diff(offsets))
    order = np.lexsort((-counts, user))
    rank = np.arange(len(counts)) - offsets[:-1][user]
    share = counts[order] / np.diff(stays.offsets)[user]
    seen = rank < ranks
    total = np.bincount(rank[seen], share[seen], ranks)
    return np.asarray(total / max(int((np.diff(stays.offsets) > 0).sum()), 1))


def zipf_exponent(frequencies: NDArray[np.float64], last_rank: int = 30) -> float:
    """Return ζ of f ~ k^-ζ by least squares in log–log over the first ranks; [2]_ found 1.2."""
    shares = frequencies[:last_rank]
    rank = np.flatnonzero(shares) + 1
    return -_fit_slope(rank, shares[rank - 1])


def distinct_places(traces: Traces) -> NDArray[np.float64]:
    """Return the mean number of places that a person has visited by the end of each day."""
    n_days = int(traces.clock.day_of(traces.span[1] - 1) - traces.clock.day_of(traces.span[0])) + 1
    cells = traces.user_index.astype(np.int64) * max(len(traces.places), 1) + traces.place_index
    _, first = np.unique(cells, return_index=True)
    day = traces.clock.day_of(traces.instants[first]) - traces.clock.day_of(traces.span[0])
    return np.asarray(np.cumsum(np.bincount(day, minlength=n_days)) / max(traces.n_users, 1))


def exploration_exponent(places: NDArray[np.float64]) -> float:
    """Return μ of S ~ t^μ from the places known at the end of each day; [2]_ found 0.6."""
    day = np.flatnonzero(places) + 1
    return _fit_slope(day, places[day - 1])


def return_times_h(traces: Traces) -> NDArray[np.float64]:
    """Return the hours from each arrival at a place to the next arrival at the same place."""
    arrival = _mark_arrivals(traces)
    user, place = traces.user_index[arrival], traces.place_index[arrival]
    if traces.timestamps is not None:
        hours = traces.timestamps / 3600
    else:
        clock = traces.clock
        hours = (clock.day_of(traces.instants) * DAY_S + clock.second_of_day(traces.instants)) / 3600
    hour = hours[arrival]
    order = np.lexsort((hour, place, user))
    again = (np.diff(user[order]) == 0) & (np.diff(place[order]) == 0)
    return np.asarray(np.diff(hour[order])[again])


def share_at_home(traces: Traces, days: Any = None) -> NDArray[np.float64]:
    """Return the share of people at home at each time of day; NaN where nobody is observed.

    Parameters
    ----------
    traces
        With a clock that covers nights: home is the place of most events.
    days
        Only these days count (such as weekends); all by default. Homes are found on all days.
    """
    offsets, places, counts = traces.visit_counts()
    user = np.repeat(np.arange(traces.n_users), np.diff(offsets))
    order = np.lexsort((counts, user))
    home = np.full(traces.n_users, -1)
    home[user[order]] = places[order]
    at_home = traces.place_index == home[traces.user_index]
    time, per_day = traces.clock.time_of_day(traces.instants), traces.clock.instants_per_day
    counted = np.ones(len(time)) if days is None else np.isin(traces.clock.day_of(traces.instants), days)
    inside = np.bincount(time, at_home * counted, per_day)
    with np.errstate(invalid="ignore"):
        return np.asarray(inside / np.bincount(time, counted, per_day))


def entropies(traces: Traces) -> Entropies:
    """Return the three entropies of each person with at least two events, and her predictability."""
    from tracearena.mobility._kernels import mean_match

    n = np.diff(traces.offsets)
    users = np.flatnonzero(n > 1)
    if not len(users):
        raise DataError("entropies need a user with at least two events")
    offsets, _, counts = traces.visit_counts()
    user = np.repeat(np.arange(traces.n_users), np.diff(offsets))
    share = counts / n[user]
    uncorrelated = np.zeros(traces.n_users)
    np.add.at(uncorrelated, user, -share * np.log2(share))
    matches = [mean_match(traces.place_index[traces.offsets[u] : traces.offsets[u + 1]]) for u in users]
    distinct = np.diff(offsets)[users]
    real = np.where(distinct > 1, np.log2(n[users]) / np.array(matches), 0.0)
    return Entropies(np.log2(distinct), uncorrelated[users], real, predictability(real, distinct))


def predictability(entropy: Any, places: Any) -> NDArray[np.float64]:
    """Return Π where S = H(Π) + (1 - Π) log2(N - 1), by bisection; 1 for N = 1.

    >>> predictability([0.0, 1.0], [2, 2]).round(3).tolist()
    [1.0, 0.5]
    """
    bits, number = np.asarray(entropy, float), np.asarray(places, float)
    low, high = 1 / number, np.ones(len(number))
    spread = np.log2(np.maximum(number - 1, 1))
    for _ in range(60):
        middle = (low + high) / 2
        rest = np.maximum(1 - middle, 1e-300)
        fano = -middle * np.log2(middle) - rest * np.log2(rest) + rest * spread
        low, high = np.where(fano > bits, middle, low), np.where(fano > bits, high, middle)
    return high


def trip_lengths_km(traces: Traces) -> NDArray[np.float64]:
    """Return the distances between consecutive events of one person at different places."""
    start, end = traces.place_index[:-1], traces.place_index[1:]
    moved = (traces.user_index[1:] == traces.user_index[:-1]) & (start != end)
    return traces.places.distance_km(start[moved], end[moved])


def trip_length_law(lengths_km: Any, offset_km: float = 1.5) -> TripLengthLaw:
    """Fit β and κ of P(Δr) ~ (Δr + Δr0)^-β exp(-Δr/κ) by maximum likelihood.

    Parameters
    ----------
    lengths_km
        Trip lengths; those of 0 are left out.
    offset_km
        Δr0, 1.5 km in [1]_, where β = 1.75 ± 0.15 and κ is hundreds of km.

    Notes
    -----
    The density is normalised over the range of the data, because a city ends at its border and a
    grid has a shortest trip.
    """
    from scipy.optimize import minimize

    km = np.asarray(lengths_km, float)
    km = km[km > 0]
    if len(km) < 2 or km.min() == km.max():
        raise DataError("trip lengths need at least two trips of different length")
    mean_log, mean = float(np.log(km + offset_km).mean()), float(km.mean())
    grid = np.linspace(km.min(), km.max(), 2_000)

    def cost(parameters: NDArray[np.float64]) -> float:
        beta, rate = parameters
        log_density = -beta * np.log(grid + offset_km) - rate * grid
        peak = log_density.max()
        norm = np.trapezoid(np.exp(log_density - peak), grid)
        return float(beta * mean_log + rate * mean + np.log(norm) + peak)

    best = minimize(cost, np.array([1.75, 0.1]), method="L-BFGS-B", bounds=[(0, 10), (1e-6, 10)])
    return TripLengthLaw(float(best.x[0]), float(1 / best.x[1]), offset_km)


def _mark_arrivals(traces: Traces) -> NDArray[np.bool_]:
    """Mark the events that begin a stay."""
    user, place = traces.user_index, traces.place_index
    arrival = np.ones(traces.n_events, bool)
    arrival[1:] = (user[1:] != user[:-1]) | (place[1:] != place[:-1])
    return arrival


def _fit_slope(x: NDArray[Any], y: NDArray[np.float64]) -> float:
    """Return the slope of log y over log x; NaN for fewer than two points."""
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
