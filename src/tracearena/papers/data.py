"""What is drawn: published data, or people of the simulated city in its place, and what is made of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.evaluation import compare_halves
from tracearena.cities import pois, simulate
from tracearena.contest import ContestPlan, contest_training, team_traces
from tracearena.engine import child_seed, generator, report, seed_sequence, use
from tracearena.errors import DataError
from tracearena.io import ppmtf, pwscup, read
from tracearena.io.formats import checkins
from tracearena.metrics import tm_emd, tm_emd_sliced, tp_tv, vf_tv
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.tensors import Zeros
from tracearena.synthesis.sglt import SGLT, PassRates
from tracearena.traces import Places, Traces, row_table


class Size(NamedTuple):
    """Number of simulated people, and of their days, that replace the published data."""

    users: int
    days: int = 1


@dataclass(frozen=True)
class FigureSource:
    """What a figure is drawn from.

    Attributes
    ----------
    data
        Folder of published data; None for people of the simulated city.
    seed
        Seed of all randomness.
    size
        How much of the city; None for as much as the paper's data has.
    zeros
        Which zero cells PPMTF is trained with: 1,000 sampled ones per user, as in the papers, or all.
    """

    data: Path | None = None
    seed: int = 1
    size: Size | None = None
    zeros: Zeros = "sampled"

    def choose_size(self, usual: Size) -> Size:
        """Return how much of the city is asked for, the usual size if nothing is said."""
        return usual if self.size is None else self.size


PEOPLE_FLOW = Size(500)
"""Training users of [ppmtf] section 4.4, and as many testing users."""
CHECK_INS = Size(2_500, 60)
"""Training and testing users together."""
TEAM = Size(2_000, 20)
"""A team of 2019: its users, and days of reference and as many of original traces."""
GENERATOR = Size(2_000, 10)
"""Whom the generator of a contest learns from."""
SAME_PEOPLE = Size(300)
"""The users of [sglt], and days of training and as many of testing traces."""

ITERATIONS = 100
"""Iterations of Gibbs sampling in [ppmtf] section 3.3 and in [contest]."""
TRACES_PER_USER = 10
"""Synthetic traces of each training user in the figures of [ppmtf] section 4."""
SGLT_CLASSES = (50, 100, 150, 200)
"""c of SGLT in [ppmtf] Figure 7 and in the published table."""
SGLT_DROPPED = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1)
"""par_l of SGLT, likewise."""
MOST_REIDENTIFIED, LARGEST_ADVANTAGE = 0.02, 0.055
"""What [ppmtf] section 4.4 claims for PPMTF in Figure 7."""
TEST_SHARE = 0.2
PLACES_PER_CLASS = 20
"""As in [sglt], which has 20 classes of 400 places."""
FAKES_PER_USER = 10

_AVERAGED = ("0.7,100", "0.7,50", "0.7,200", "0.8,100", "0.9,100")
_OTHERS = (
    *(f"PL({level},1)" for level in ("3.5", "4", "5", "6", "7")),
    *(f"MRLH(0,0,{deletion})" for deletion in ("0.1", "0.2", "0.25")),
    *(f"MRLH(1,1,{deletion})" for deletion in ("0", "0.1")),
    *(f"RR({epsilon})" for epsilon in ("8", "10")),
)
STAND_INS = (*(f"ClusterAveraging({setting})" for setting in _AVERAGED), *_OTHERS)
"""17 defences that stand for the 17 teams with valid traces of 2019; averaging is that of the paper."""
DEFENCES = (*(f"ClusterAveraging({setting},0.5)" for setting in _AVERAGED), *_OTHERS)
"""The same, with the blur of ours in averaging."""


def load_people_flow(source: FigureSource) -> tuple[Traces, Traces]:
    """Return training users and as many testing users, ten hours every 20 minutes.

    Published data has ``POI_*.csv``, ``traintraces_*.csv`` and ``testtraces_*.csv``.
    """
    if source.data is None:
        users, days = source.choose_size(PEOPLE_FLOW)
        city = simulate(2 * users, days, clock=ppmtf.people_flow_clock(), seed=source.seed)
        return city.take_users(np.arange(users)), city.take_users(np.arange(users, 2 * users))
    places = ppmtf.read_places(_find_only_file(source.data, "POI_*.csv"))
    training, testing = (
        ppmtf.read_traces(_find_only_file(source.data, f"{kind}traces_*.csv"), places)
        for kind in ("train", "test")
    )
    return training, testing


def read_published_results(data: Path | None, method: str) -> list[dict[str, Any]]:
    """Return the authors' table of a method, if ``published-results`` lies next to the data."""
    if data is None:
        return []
    found = sorted((data.resolve().parent / "published-results").glob(f"PF_utilpriv_{method}_*.csv"))
    return ppmtf.read_utility_and_privacy(found[0]) if found else []


def _find_only_file(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise DataError(f"{folder} has no {pattern}")
    return found[0]


def load_check_ins(source: FigureSource, usual: Size = CHECK_INS, **habits: Any) -> tuple[Traces, Traces]:
    """Return training and testing users with hourly check-ins in slots of two hours.

    Published data is as of `load_people_flow`. Without it people of the city check in, with `habits` as of
    `simulate`.
    """
    if source.data is not None:
        return load_people_flow(source)
    return split_users(
        simulate(*source.choose_size(usual), mode="checkins", seed=source.seed, **habits), source.seed
    )


def split_users(people: Traces, seed: int) -> tuple[Traces, Traces]:
    """Return users for training, and a fifth for testing, as in [ppmtf] section 4.1."""
    count = round(TEST_SHARE * people.n_users)
    testing, training = row_table.split_users(people.n_users, count, generator(seed))
    return people.take_users(training), people.take_users(testing)


def select_days(made: Traces, passed: Any) -> Traces:
    """Return the days that passed; users none of whose days did are kept without events."""
    return made.keep(np.repeat(passed, made.clock.instants_per_day))


class TeamData(NamedTuple):
    """What everybody knows of a team's users, and what the team protects."""

    reference: Traces
    original: Traces


def load_teams(source: FigureSource, count: int = 1) -> list[TeamData]:
    """Return the data of several teams, of different people of the simulated city.

    Published data is a folder of contest files: as many of its teams as there are, at most `count`.
    """
    if source.data is not None:
        return read_published_teams(source.data, count)
    users, days = source.choose_size(TEAM)
    city = simulate(count * users, 2 * days, clock=pwscup.PWS_CLOCK, seed=source.seed)
    parts = [city.take_users(np.arange(users) + team * users) for team in range(count)]
    return [TeamData(*part.with_user_ids(np.arange(1, users + 1)).split_days(days)) for part in parts]


def read_published_teams(folder: Path, count: int | None = None) -> list[TeamData]:
    """Read the reference and original traces of the first teams, or all, in a folder of contest files."""
    places = pwscup.read_places(folder / "info_region.csv")
    files = [sorted(folder.glob(f"{kind}_*.csv*")) for kind in ("reftraces", "orgtraces")]
    if not files[0] or len(files[0]) != len(files[1]):
        raise DataError(f"{folder} does not have a reftraces_*.csv and an orgtraces_*.csv for each team")
    pairs = list(zip(*files, strict=True))[:count]
    return [TeamData(*(pwscup.read_traces(path, places) for path in pair)) for pair in pairs]


def load_generator_training(source: FigureSource) -> Traces:
    """Return what a contest's generator learns from: people of the city, or a team's official files.

    Published data has ``info_region.csv``, ``reftraces_*`` and ``orgtraces_*`` of one team.
    """
    data = source.data
    if data is None:
        return contest_training(simulate(*source.choose_size(GENERATOR), seed=source.seed))
    places = pwscup.read_places(data / "info_region.csv")
    found = [sorted(data.glob(f"{kind}traces_team*_IDP.csv")) for kind in ("ref", "org")]
    if not all(found):
        raise DataError(f"{data} has no reftraces_team*_IDP.csv and orgtraces_team*_IDP.csv")
    return Traces.concat([pwscup.read_traces(paths[0], places) for paths in found])


def fit_generator(source: FigureSource, iterations: int) -> tuple[Traces, PPMTF, np.random.SeedSequence]:
    """Return what a contest's generator learns from, the generator, and the seed of what it makes."""
    root = seed_sequence(source.seed)
    training = load_generator_training(source)
    model = PPMTF(factors=32, zeros=source.zeros, iterations=iterations)
    model.fit(training, seed=child_seed(root, 0))
    return training, model, root


def load_points_of_interest(data: Path | None) -> Places | None:
    """Return the POIs of the city, or those of a POI_*.csv in the folder, if there is one."""
    if data is None:
        return pois()
    found = sorted(data.glob("POI_*.csv"))
    return checkins.read_pois(found[0]) if found else None


@dataclass(frozen=True, eq=False)
class FakesExperiment:
    """Real traces, a trained model, and its fakes.

    Attributes
    ----------
    training, testing
        Real traces.
    model
        `SGLT` trained on the training traces.
    fakes
        Fakes that passed the tests; each is a user of its own.
    seeds
        Row of ``model.seeds_`` of each fake.
    rates
        How many passed.
    """

    training: Traces
    testing: Traces
    model: SGLT
    fakes: Traces
    seeds: NDArray[np.int64]
    rates: PassRates

    def data_sets(self) -> list[Traces]:
        """Return fake data sets with one fake for each seed that has this many."""
        order = np.argsort(self.seeds, kind="stable")
        ordered = self.seeds[order]
        number = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        return [
            self.fakes.take_users(order[number == k])
            for k in range(FAKES_PER_USER)
            if (number == k).sum() > 1
        ]


def load_same_people(source: FigureSource, usual: Size = SAME_PEOPLE) -> tuple[Traces, Traces]:
    """Return training and testing traces of the same people of the city, or published ones."""
    if source.data is not None:
        return load_people_flow(source)
    users, days = source.choose_size(usual)
    return simulate(users, 2 * days, seed=source.seed).split_days(days)


def choose_class_count(traces: Traces) -> int:
    """Return the number of classes for this many places."""
    return max(len(traces.places) // PLACES_PER_CLASS, 1)


def run_fakes_experiment(source: FigureSource) -> FakesExperiment:
    """Train and make ten fakes a user."""
    training, testing = load_same_people(source)
    root = seed_sequence(source.seed)
    model = SGLT(classes=choose_class_count(training)).fit(training, seed=child_seed(root, 0))
    report(1, 3)
    with use(progress=None):
        made, rows, verdicts = model.pool(FAKES_PER_USER, seed=child_seed(root, 1))
    report(2, 3)
    assert verdicts is not None
    good = verdicts.passed
    fakes = Traces.from_dense(made.places[good], training.places, model.clock_)
    return FakesExperiment(training, testing, model, fakes, rows[good], PassRates.of([verdicts]))


# Check-ins of several cities: how [contest] appendix B and [ppmtf] section 4.1 look at a
# synthesizer.
SIMULATED: dict[str, dict[str, Any]] = {
    "city": {},
    "quiet city": {"checkins_per_user": 12.0},
    "town": {"top": 200},
}
"""Name of a simulated city → how it differs from the usual one (30 check-ins a person, 1,000 places).

The map is always the same; the cities of the papers differ in how much their people tell as well.
"""
_FILES = ("gowalla*", "brightkite*", "*gowalla*totalCheckins*", "*brightkite*totalCheckins*")
_FOURSQUARE = "raw_Checkins_anonymized.txt*"
FOURSQUARE_CITIES = {
    "Istanbul": "40.8,28.5,41.2,29.5",
    "Jakarta": "-6.4,106.7,-6.1,107.0",
    "New York": "40.5,-74.28,41.0,-73.68",
    "Kuala Lumpur": "3.0,101.6,3.3,101.8",
    "São Paulo": "-24.0,-46.8,-23.4,-46.3",
    "Tokyo": "35.5,139.5,35.9,140.0",
}
"""The six cities of [ppmtf] section 4.1 in the check-ins of Foursquare, with the authors' boxes (south, west,
north, east).
"""
_PLACES = 1_000


class City(NamedTuple):
    """A city's training and testing users."""

    name: str
    training: Traces
    testing: Traces


def load_check_in_cities(source: FigureSource) -> list[City]:
    """Return the cities of a folder of published data, or three simulated ones.

    A city is a folder with the files of `load_people_flow`, the folder itself or a ``ppmtf-*`` within; a file
    of check-ins of Gowalla or Brightkite; or one of `FOURSQUARE_CITIES` in ``raw_Checkins_anonymized.txt``,
    with ``raw_POIs.txt`` next to it. Of check-ins the 1,000 most visited places are taken, hours in slots of
    two, and a fifth of the people for testing.
    """
    data = source.data
    if data is None:
        return [City(name, *load_check_ins(source, **habits)) for name, habits in SIMULATED.items()]
    if data.is_file():
        return [_read_city(data, source.seed)]
    folders = [one for one in (data, *sorted(data.glob("ppmtf-*"))) if any(one.glob("traintraces_*.csv"))]
    found = [City(one.resolve().name, *load_people_flow(FigureSource(one))) for one in folders]
    files = sorted({path for pattern in _FILES for path in data.glob(pattern) if path.is_file()})
    found += [_read_city(path, source.seed) for path in files]
    for path in sorted(data.glob(_FOURSQUARE)):
        found += [_read_city(path, source.seed, name, bounds) for name, bounds in FOURSQUARE_CITIES.items()]
    if not found:
        raise DataError(
            f"{data} has no data of a city: neither POI_*.csv with traintraces_*.csv and "
            "testtraces_*.csv, nor a folder ppmtf-* with them, nor check-ins of Gowalla, Brightkite or "
            "Foursquare (raw_Checkins_anonymized.txt)"
        )
    return found


def _read_city(path: Path, seed: int, name: str = "", bounds: str | None = None) -> City:
    options: dict[str, Any] = {"top": _PLACES, "interval": "1h", "slot": "2h"}
    options |= {} if bounds is None else {"bounds": bounds}
    people = read(path, **options).as_events().traces
    return City(name or path.name.partition(".")[0], *split_users(people, seed))


# Teams of virtual users, as the contest of 2019 had them, where there is no published data.
def load_virtual_teams(
    source: FigureSource, count: int = 1, *, iterations: int = ITERATIONS
) -> list[TeamData]:
    """Return the data of several teams: virtual users (PPMTF+) learned from people of the simulated city.

    Published data is a folder of contest files: as many of its teams as there are, at most `count`.
    """
    if source.data is not None:
        return load_teams(source, count)
    users, days = source.choose_size(TEAM)
    return list(generate_teams(source, [users] * count, 2 * days, iterations=iterations))


def generate_teams(
    source: FigureSource, sizes: list[int], days: int, *, iterations: int = ITERATIONS
) -> Iterator[TeamData]:
    """Make teams of this many virtual users each, one by one, learned from what the source has."""
    _, model, root = fit_generator(source, iterations)
    for number, users in enumerate(sizes):
        plan = ContestPlan(users=users, days=days)
        yield TeamData(*team_traces(model, plan, child_seed(root, 1, number)))


HALVES = "halves"
"""Half of the training users against the other half."""

TITLES = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_x": "TM-EMD-X",
    "tm_emd_y": "TM-EMD-Y",
    "tm_emd_sliced": "TM-EMD",
    "vf_tv": "VF-TV",
    "reidentification_rate": "re-identification rate",
    "membership_advantage": "membership advantage",
}


def round_to_six_digits(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Return rows for a file, every float with six significant digits.

    >>> round_to_six_digits([["a", 1, 2 / 3]])
    [['a', 1, '0.666667']]
    """
    return [
        [f"{value:.6g}" if isinstance(value, (float, np.floating)) else value for value in row]
        for row in rows
    ]


def measure_utility(
    reference: Traces,
    traces: Traces | None,
    names: Sequence[str],
    *,
    by_day: bool,
    other: Traces | None = None,
) -> dict[str, Any]:
    """Return the named metrics of traces (None: uniform) against the reference.

    `other` are further real traces: places without visits in them do not count for VF-TV.
    """
    known: dict[str, Callable[[], float | None]] = {
        "tp_tv": lambda: tp_tv(reference, traces, by_day=by_day),
        "tp_tv_top50": lambda: tp_tv(reference, traces, top=50, by_day=by_day),
        "tm_emd_x": lambda: tm_emd(reference, traces, "x", by_day=by_day),
        "tm_emd_y": lambda: tm_emd(reference, traces, "y", by_day=by_day),
        "tm_emd_sliced": lambda: tm_emd_sliced(reference, traces, by_day=by_day),
        "vf_tv": lambda: vf_tv(reference, traces, training=other, by_day=by_day),
    }
    return {name: known[name]() for name in names}


def tabulate_halves(
    training: Traces, testing: Traces, names: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """Return a row of the training users against each other, half by half, and its spread.

    No row if there are fewer than two training users. What is not a metric of utility stays empty.
    """
    parted = compare_halves(training, testing)
    if parted is None:
        return [], {}
    mean, spread = parted.mean.to_dict(), parted.spread.to_dict()
    return [{"method": HALVES, **{name: mean.get(name) for name in names}}], spread
