"""The sample defences do what their papers say, and what the programs of 2019 did."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize

from tracearena.algorithms import Obfuscator
from tracearena.errors import DataError, ParameterError
from tracearena.obfuscation import MRLH, Cheating, NoObfuscation, PlanarLaplace, RandomizedResponse
from tracearena.traces import Clock, Grid, Places, Traces

GRID = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
CONTEST = Places.of_grid(GRID, km_per_degree=(111, 91))
CLOCK = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)


def staying(place: int, cells: int, places: Places = CONTEST) -> Traces:
    """One user who never leaves."""
    return Traces.from_dense(np.full((1, cells), place), places, CLOCK)


def test_mrlh_merges_the_block_of_the_papers_example() -> None:
    released = MRLH(mu_x=1, mu_y=1, deletion=0).transform(staying(1, 1))
    assert (np.array(released.cell(0)) + 1).tolist() == [1, 2, 33, 34]


def test_mrlh_blocks_are_aligned_and_cover_every_region_once() -> None:
    released = MRLH(mu_x=2, mu_y=1, deletion=0).transform(
        Traces.from_dense([np.arange(1024)], CONTEST, CLOCK)
    )
    for region in range(1024):
        block = released.cell(region)
        assert region in block
        assert len(block) == 8
        assert block == sorted(block)


def test_mrlh_blocks_are_cut_at_the_border_of_the_grid() -> None:
    small = Grid(rows=3, columns=3, south=0, west=0, north=1, east=1)
    released = MRLH(mu_x=1, mu_y=1, deletion=0).transform(
        Traces.from_dense([np.arange(9)], Places.of_grid(small), CLOCK)
    )
    assert released.cell(8) == [8]
    assert released.cell(2) == [2, 5]


def test_mrlh_hides_the_share_it_promises() -> None:
    released = MRLH(mu_x=0, mu_y=0, deletion=0.3).transform(staying(5, 100_000), seed=1)
    assert released.is_deleted.mean() == pytest.approx(0.3, abs=0.01)
    assert (released.codes[~released.is_deleted] == 5).all()


def test_mrlh_needs_a_grid() -> None:
    with pytest.raises(DataError, match="grid"):
        MRLH(mu_x=1, mu_y=1, deletion=0).transform(staying(0, 1, Places([0.0], [0.0])))


@pytest.mark.parametrize("epsilon", [0, 1, 4])
def test_randomized_response_keeps_what_it_promises_and_favours_no_other_place(epsilon: float) -> None:
    few = Places(np.linspace(0, 1, 8), np.zeros(8))
    cells = 200_000
    released = RandomizedResponse(epsilon=epsilon).transform(staying(3, cells, few), seed=1)
    counts = np.bincount(released.codes, minlength=8)
    keep = np.exp(epsilon) / (7 + np.exp(epsilon))
    expected = np.where(np.arange(8) == 3, keep, (1 - keep) / 7) * cells
    assert (((counts - expected) ** 2) / expected).sum() < 24.3  # chi-square, 7 degrees, 0.001


def test_randomized_response_survives_a_budget_beyond_floats() -> None:
    assert (RandomizedResponse(epsilon=5000).transform(staying(3, 100), seed=1).codes == 3).all()


def test_randomized_response_of_a_single_place_keeps_it() -> None:
    alone = Places([0.0], [0.0])
    assert (RandomizedResponse(epsilon=0).transform(staying(0, 100, alone), seed=1).codes == 0).all()


@pytest.mark.parametrize("legacy", [False, True])
def test_planar_laplace_moves_by_two_over_epsilon_on_average(legacy: bool) -> None:
    wide = Grid(rows=400, columns=400, south=30, west=130, north=32, east=132)
    places = Places.of_grid(wide, km_per_degree=(100, 100))
    centre = 200 * 400 + 200
    original = staying(centre, 100_000, places)
    released = PlanarLaplace(l=1, r=5, legacy_2019=legacy).transform(original, seed=1)
    moved = places.distance_km(original.place_index, released.codes)
    assert moved.mean() == pytest.approx(10, rel=0.02)
    east = places.points_km[released.codes] - places.points_km[centre]
    assert np.abs(east.mean(axis=0)).max() < 0.1


def test_planar_laplace_clamps_to_the_border() -> None:
    released = PlanarLaplace(l=0.01, r=1).transform(staying(0, 1000), seed=1)
    corners = {0, 31, 1023 - 31, 1023}
    assert set(released.codes.tolist()) >= corners


def test_planar_laplace_on_free_places_answers_a_near_one() -> None:
    rng = np.random.default_rng(0)
    places = Places(35 + rng.random(500), 139 + rng.random(500))
    original = Traces.from_dense([np.arange(500)], places, CLOCK)
    strong = PlanarLaplace(l=1, r=10).transform(original, seed=1)
    weak = PlanarLaplace(l=1, r=0.001).transform(original, seed=1)
    assert (weak.codes == np.arange(500)).all()
    assert 5 < places.distance_km(np.arange(500), strong.codes).mean() < 40


def test_cheating_figure_1_gives_each_trace_to_another_user() -> None:
    places = Places(np.arange(4.0), np.zeros(4))
    original = Traces.from_dense(
        [[2, 2, 3, 3], [0, 0, 0, 1], [1, 1, 2, 0]], places, Clock(instants_per_day=4)
    )
    released = Cheating(share=1).transform(original, seed=3)
    rows = released.codes.reshape(original.dense().shape).tolist()
    assert sorted(rows) == sorted(original.dense().tolist())


def test_cheating_moves_only_the_first_users(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=20)
    released = Cheating(share=0.5).transform(walks, seed=1).codes.reshape(walks.dense().shape)
    assert np.array_equal(released[10:], walks.dense()[10:])
    assert sorted(released[:10].tolist()) == sorted(walks.dense()[:10].tolist())
    assert not np.array_equal(released[:10], walks.dense()[:10])


def test_cheating_deletes_where_the_donor_was_not_seen() -> None:
    original = Traces.from_dense([[0, 1, -1], [2, -1, 3]], CONTEST, CLOCK)
    swapped = next(
        released
        for seed in range(20)
        if (released := Cheating(share=1).transform(original, seed=seed)).codes[0] == 2
    )
    assert swapped.cells() == [[2], [], [0], []]


def test_no_obfuscation_changes_nothing(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    assert np.array_equal(NoObfuscation().transform(walks).codes, walks.place_index)


def run_program_of_2019(name: str, original: Traces, seed: int) -> list[int | tuple[int, ...]]:
    """Return what is released of each event, by a loop over the events as in the organisers' programs."""
    rng = np.random.RandomState(seed)
    answers: list[int | tuple[int, ...]] = []
    if name == "Cheat":
        order = list(range(original.n_users // 2))
        rng.shuffle(order)
        rows = original.dense().tolist()
        for number, user in enumerate(order):
            rows[user] = original.dense()[number].tolist()
        return [place for row in rows for place in row]
    for place in original.place_index.tolist():
        y, x = divmod(place, 32)
        if name == "MRLH":
            block = [32 * (y - y % 2 + j) + x - x % 4 + i for j in range(2) for i in range(4)]
            answers.append(() if rng.random_sample() < 0.3 else tuple(block))
        elif name == "RR":
            u = rng.random_sample() * (1023 + math.exp(5))
            others = [other for other in range(1024) if other != place]
            answers.append(place if u < math.exp(5) else others[int(u - math.exp(5))])
        else:
            angle, share = 2 * math.pi * rng.random_sample(), rng.random_sample()
            radius = optimize.brentq(lambda r, u: 1 - (1 + 4 * r) * math.exp(-4 * r) - u, 0, 50, (share,))
            latitude = CONTEST.latitude[place] + radius * math.sin(angle) / 111
            longitude = CONTEST.longitude[place] + radius * math.cos(angle) / 91
            row = math.floor((latitude - 34.64) / 0.1 * 32)
            column = math.floor((longitude - 135.44) / 0.12 * 32)
            answers.append(32 * min(max(row, 0), 31) + min(max(column, 0), 31))
    return answers


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize(
    ("name", "defence"),
    [
        ("MRLH", MRLH(mu_x=2, mu_y=1, deletion=0.3, legacy_2019=True)),
        ("RR", RandomizedResponse(epsilon=5, legacy_2019=True)),
        ("PL", PlanarLaplace(l=4, r=1, legacy_2019=True)),
        ("Cheat", Cheating(share=0.5, legacy_2019=True)),
    ],
)
def test_the_draws_of_2019_are_those_of_a_loop_over_the_events(
    make_walks: Callable[..., Traces], name: str, defence: Obfuscator, seed: int | None
) -> None:
    """The programs of the organisers have seed 1."""
    walks = make_walks(users=15, side=32)
    released = defence.transform(walks, seed=seed)
    expected = run_program_of_2019(name, walks, 1 if seed is None else seed)
    cells = [tuple(cell) for cell in released.cells()]
    assert cells == [(cell,) if isinstance(cell, int) else cell for cell in expected]


def test_the_draws_of_2019_know_only_whole_seeds(make_walks: Callable[..., Traces]) -> None:
    RandomizedResponse(epsilon=1, legacy_2019=True).transform(make_walks(), seed=2**32 - 1)
    with pytest.raises(ParameterError, match="seed of legacy_2019"):
        RandomizedResponse(epsilon=1, legacy_2019=True).transform(make_walks(), seed=2**32)
    with pytest.raises(ParameterError, match="legacy_2019"):
        RandomizedResponse(epsilon=1, legacy_2019=True).transform(make_walks(), seed=np.random.default_rng(0))
