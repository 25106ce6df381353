"""Every number of an audit is what a slow computation of its definition gives."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tracearena.audit.data import AuditData, choose_cut
from tracearena.audit.inference import guess_usual_places
from tracearena.audit.linkability import build_linkage_task, link
from tracearena.audit.observations import Sightings, find_usual_spots
from tracearena.audit.settings import Settings
from tracearena.audit.singling_out import SIDES_M, WINDOWS_S, estimate_displacement_km, single_out
from tracearena.audit.usefulness import compare_distributions, compute_common_share, measure_tasks
from tracearena.engine import seed_sequence, stream
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, metres_per_degree

FEW = Settings(draws=8)


def drawn(root: np.random.SeedSequence, user: int, known: int, draws: int) -> list[list[int]]:
    """The order in which a person's sightings become known, draw by draw."""
    found = []
    for row in stream(root, 0, user).random((draws, 6)):
        left = list(range(known))
        found.append([left.pop(min(int(u * len(left)), len(left) - 1)) for u in row[: min(6, known)]])
    return found


@pytest.mark.slow
def test_uniqueness_counts_draws_that_nobody_else_matches(city: Traces) -> None:
    few = city.take_users(np.arange(12))
    material, root = AuditData.of(few, FEW), seed_sequence(3)
    found = single_out(material, material.release_unchanged(), FEW, root)
    seen = Sightings.of(material.release_unchanged())
    for at, (side, window) in enumerate(itertools.product(SIDES_M, WINDOWS_S)):
        sets: list[set[tuple[int, int, int]]] = [set() for _ in range(12)]
        for user, lat, lon, second in zip(*seen[:4], strict=True):
            row = math.floor(lat * MIDDLE_DEGREE_M / side)
            width = float(metres_per_degree((row + 0.5) * side / MIDDLE_DEGREE_M)[1])
            sets[user].add((row, math.floor(lon * width / side), second // window))
        codes = sorted(set().union(*sets))
        if at % 5:
            continue
        number = {code: i for i, code in enumerate(sorted(codes))}
        shares = []
        for user, own in enumerate(sets):
            listed = sorted(own, key=number.__getitem__)
            hits = 0
            for order in drawn(root, user, len(listed), FEW.draws):
                known = {listed[i] for i in order[:4]}
                hits += sum(known <= other for other in sets) == 1
            shares.append(hits / FEW.draws)
        assert found.coarseness[at].unique[4].value == pytest.approx(np.mean(shares))


def test_who_is_found_by_sightings_shares_with_equals(city: Traces) -> None:
    few = city.take_users(np.arange(12))
    material, root = AuditData.of(few, FEW), seed_sequence(3)
    found = single_out(material, material.release_unchanged(), FEW, root)
    table = few.dense()
    credit = []
    for user in range(12):
        for order in drawn(root, user, table.shape[1], FEW.draws):
            match = (table[:, order[:2]] == table[user, order[:2]]).sum(axis=1)
            best = match == match.max()
            credit.append(best[user] / best.sum())
    assert found.found[2].value == pytest.approx(np.mean(credit))


@pytest.mark.slow
def test_top_answers_are_those_of_the_scores(city: Traces) -> None:
    few = city.take_users(np.arange(15))
    material, root = AuditData.of(few, FEW), seed_sequence(3)
    cut = build_linkage_task(material, material.release_unchanged(), FEW, root)
    found, _ = link(cut, root, attacks=["VisitProb-R"])
    counts = [
        np.bincount(cut.known.place_index[cut.known.user_index == u], minlength=1024) for u in range(15)
    ]
    right = Counter[int]()
    for trace in range(15):
        places = cut.seen.codes[cut.seen.user_index == trace]
        scores = [np.log(np.maximum(c / c.sum(), 1e-8))[places].sum() for c in counts]
        rank = sorted(range(15), key=lambda u: -scores[u]).index(int(cut.owner[trace]))
        right.update(top for top in (1, 5, 10) if rank < top)
    top = found.attacks[0].top
    assert {k: round(top[k].value * 15) for k in (1, 5, 10)} == {k: right[k] for k in (1, 5, 10)}
    assert [top[k].chance for k in (1, 5, 10)] == pytest.approx([1 / 15, 5 / 15, 10 / 15])


def test_the_usual_place_is_the_one_of_most_nights(city: Traces) -> None:
    home, _ = find_usual_spots(ObfuscatedTraces.from_traces(city))
    hour = city.clock.second_of_day(city.instants) // 3600
    for user in range(city.n_users):
        nights = city.place_index[(city.user_index == user) & ((hour >= 20) | (hour < 8))]
        most = Counter(nights.tolist()).most_common()
        best = min(place for place, count in most if count == most[0][1])
        assert home.place[user] == best


def test_displacement_is_the_mean_distance_of_what_was_moved(city: Traces) -> None:
    material = AuditData.of(city, FEW)
    moved = PlanarLaplace(l=1, r=1).transform(city, seed=1)
    _, published = material.release(moved)
    apart = city.places.distance_km(city.place_index, moved.codes).mean()
    assert estimate_displacement_km(material, published) == pytest.approx(apart)


def test_habits_are_the_most_frequent_place_of_the_hour(city: Traces) -> None:
    cut = choose_cut(city)
    known, asked = cut.earlier(city), cut.later(city)
    answers = guess_usual_places(known, asked)
    hours = [one.clock.second_of_day(one.instants) // 3600 for one in (known, asked)]
    for event in range(0, len(asked), 97):
        mine = known.place_index[
            (known.user_index == asked.user_index[event]) & (hours[0] == hours[1][event])
        ]
        counts = Counter(mine.tolist())
        assert counts[int(answers[event])] == max(counts.values())


def test_the_cut_leaves_everybody_on_both_sides(city: Traces) -> None:
    cut = choose_cut(city)
    assert cut.is_common
    assert cut.both.all()
    earlier, later = cut.earlier(city), cut.later(city)
    assert len(earlier) + len(later) == len(city)
    assert city.clock.day_of(earlier.instants).max() == 2


def test_people_of_different_years_are_cut_each_at_her_own_days(people_at) -> None:  # type: ignore[no-untyped-def]
    table = np.full((4, 24 * 16), -1)
    for user in range(4):
        table[user, 24 * 4 * user : 24 * 4 * (user + 1)] = user
    cut = choose_cut(people_at(table))
    assert not cut.is_common
    assert (cut.instant // 24).tolist() == [2, 6, 10, 14]
    assert cut.both.all()


def test_what_distributions_have_in_common() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (2, 20)).astype(float)
    slow = sum(min(x / a.sum(), y / b.sum()) for x, y in zip(a, b, strict=True))
    assert compute_common_share(a, b) == pytest.approx(slow)
    first, second = rng.random(30), rng.random(50) ** 2
    gaps = [abs((first <= x).mean() - (second <= x).mean()) for x in [*first, *second]]
    assert compare_distributions(first, second) == pytest.approx(1 - max(gaps))


def test_an_unchanged_release_keeps_every_task(city: Traces) -> None:
    assert measure_tasks(city, city) == pytest.approx(dict.fromkeys(measure_tasks(city, city), 1.0))
    assert len(measure_tasks(city, city)) == 6


def test_flows_are_pairs_of_places_in_a_row(city: Traces) -> None:
    moved = city.with_places(np.roll(city.place_index, 1))
    pairs = []
    for traces in (city, moved):
        counted = Counter[tuple[int, int]]()
        for user in range(traces.n_users):
            own = traces.place_index[traces.offsets[user] : traces.offsets[user + 1]].tolist()
            counted.update((a, b) for a, b in itertools.pairwise(own) if a != b)
        pairs.append(counted)
    first, second = pairs
    slow = sum(min(n / first.total(), second[pair] / second.total()) for pair, n in first.items())
    assert measure_tasks(city, moved)["flows"] == pytest.approx(slow)
