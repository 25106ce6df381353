"""The rest of the numbers of an audit, each computed again from its definition, person by person."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tracearena.audit.data import AuditData, drop_unvisited, remap_release
from tracearena.audit.inference import infer
from tracearena.audit.linkability import LinkageTask, build_linkage_task, find_by_attacks, link
from tracearena.audit.observations import count_crowds, find_usual_spots
from tracearena.audit.settings import Ranked, Settings
from tracearena.audit.singling_out import single_out
from tracearena.audit.synthetic import assess_synthetic
from tracearena.audit.usefulness import measure_tasks
from tracearena.engine import seed_sequence
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import distance_m

FEW = Settings(draws=2)
ROOT = seed_sequence(3)


@pytest.fixture(scope="module")
def people(city: Traces) -> Traces:
    few = city.take_users(np.arange(15))
    sensitive = np.isin(np.arange(len(few.places)), few.place_index[::37])
    marked = Places(
        few.places.latitude, few.places.longitude, sensitive=sensitive, grid=few.places.grid,
        km_per_degree=few.places.km_per_degree,
    )  # fmt: skip
    return few.onto(marked)


@pytest.fixture(scope="module")
def blurred(people: Traces) -> ObfuscatedTraces:
    return PlanarLaplace(l=3, r=1).transform(people, seed=1)


Attacked = tuple[AuditData, LinkageTask, Ranked, ObfuscatedTraces]


@pytest.fixture(scope="module")
def attacked(people: Traces, blurred: ObfuscatedTraces) -> Attacked:
    material, published = AuditData.of(people, FEW).release(blurred)
    cut = build_linkage_task(material, published, FEW, ROOT)
    (tried,) = find_by_attacks(cut, ROOT, ["VisitProb-R"])
    assert tried.ranked is not None
    return material, cut, tried.ranked, blurred


def nights_at(places: list[int], hours: list[int]) -> int:
    counted = Counter(place for place, hour in zip(places, hours, strict=True) if hour >= 20 or hour < 8)
    most = max(counted.values())
    return min(place for place, count in counted.items() if count == most)


def halves_by_hand(
    people: Traces, released: ObfuscatedTraces, user: int
) -> list[tuple[list[int], list[int]]]:
    """Places and hours of one person: her own of three days, the released ones of the other three."""
    hour, day = people.clock.second_of_day(people.instants) // 3600, people.clock.day_of(people.instants)
    mine = people.user_index == user
    early, late = mine & (day < 3), mine & (day >= 3)
    return [
        (people.place_index[early].tolist(), hour[early].tolist()),
        (released.codes[late].tolist(), hour[late].tolist()),
    ]


def test_homes_told_are_those_within_reach_of_the_true_ones(attacked: Attacked, people: Traces) -> None:
    material, cut, ranked, released = attacked
    found = infer(material, material.release(released)[1], cut, ranked, FEW, ROOT)
    homes = [
        [nights_at(*half) for half in halves_by_hand(people, released, user)]
        for user in range(people.n_users)
    ]
    places = people.places

    def apart(a: int, b: int) -> float:
        there = places.latitude[a], places.longitude[a], places.latitude[b], places.longitude[b]
        return float(distance_m(*there)[0])

    errors = [apart(true, told) for true, told in homes]
    others = [
        apart(homes[a][0], homes[b][1]) <= FEW.within_m
        for a in range(len(homes))
        for b in range(len(homes))
        if a != b
    ]
    assert found.home.found is not None
    assert found.home.found.value == pytest.approx(np.mean([error <= FEW.within_m for error in errors]))
    assert found.home.found.chance == pytest.approx(np.mean(others))
    assert found.home.error_m == pytest.approx(np.median(errors))
    assert found.behind_zones is None


def test_a_visit_is_learned_where_the_trace_is_found_and_shows_the_place(
    attacked: Attacked, people: Traces
) -> None:
    material, cut, ranked, released = attacked
    found = infer(material, material.release(released)[1], cut, ranked, FEW, ROOT).sensitive[0]
    right = {int(owner) for owner, answer in zip(cut.owner, ranked[:, 0], strict=True) if owner == answer}
    day = people.clock.day_of(people.instants)
    learned = []
    for user in range(people.n_users):
        late = (people.user_index == user) & (day >= 3)
        true = {place for place in people.place_index[late].tolist() if people.places.sensitive[place]}
        if true:
            learned.append(user in right and bool(true & set(released.codes[late].tolist())))
    assert found.learned is not None
    assert found.learned.value == pytest.approx(np.mean(learned))
    assert found.learned.people == len(learned)


@pytest.mark.slow
def test_whereabouts_cost_the_distance_up_to_two_kilometres(attacked: Attacked, people: Traces) -> None:
    material, cut, ranked, released = attacked
    there = infer(material, material.release(released)[1], cut, ranked, FEW, ROOT).whereabouts
    assert there is not None
    trace_of: dict[int, int] = {}
    for trace, answer in enumerate(ranked[:, 0].tolist()):
        trace_of.setdefault(answer, int(cut.owner[trace]))
    day, table = people.clock.day_of(np.arange(people.n_instants)), people.dense()
    shown = released.codes.reshape(table.shape)
    missed, usual_missed = [], []
    for user in range(people.n_users):
        for instant in np.flatnonzero(day == 4):
            hour = people.clock.second_of_day(instant) // 3600
            before = [
                int(table[user, t])
                for t in np.flatnonzero(day < 3)
                if people.clock.second_of_day(t) // 3600 == hour
            ]
            counted = Counter(before)
            usual = min(place for place in counted if counted[place] == max(counted.values()))
            guess = int(shown[trace_of[user], instant]) if user in trace_of else usual
            truth = int(table[user, instant])
            missed.append(min(float(people.places.distance_km(truth, guess)) / 2, 1))
            usual_missed.append(min(float(people.places.distance_km(truth, usual)) / 2, 1))
    assert there.by_release.value == pytest.approx(np.mean(missed))
    assert there.by_habits.value == pytest.approx(np.mean(usual_missed))
    assert there.gain.value == pytest.approx(np.mean(usual_missed) - np.mean(missed))


@pytest.mark.slow
def test_home_and_work_alone_find_the_nearest_pair(people: Traces) -> None:
    material = AuditData.of(people, FEW)
    cut = build_linkage_task(material, material.release_unchanged(), FEW, ROOT)
    found, _ = link(cut, ROOT)
    before, after = find_usual_spots(ObfuscatedTraces.from_traces(cut.known)), find_usual_spots(cut.seen)
    credit = []
    for trace, owner in enumerate(cut.owner.tolist()):
        apart = []
        for user in range(people.n_users):
            total = 0.0
            for mine, theirs in zip(after, before, strict=True):
                known = mine.has_position[trace] and theirs.has_position[user]
                metres = distance_m(
                    mine.latitude[trace], mine.longitude[trace], theirs.latitude[user], theirs.longitude[user]
                )
                total += min(float(metres[0]) / 1000, 20.0) if known else 20.0
            apart.append(total)
        nearest = [user for user in range(people.n_users) if apart[user] <= min(apart) + 0.01]
        credit.append((owner in nearest) / len(nearest))
    assert found.home_and_work is not None
    assert found.home_and_work.top[1].value == pytest.approx(np.mean(credit))


@pytest.mark.slow
def test_fewer_days_of_reference_are_the_last_ones(people: Traces) -> None:
    material = AuditData.of(people, FEW)
    cut = build_linkage_task(material, material.release_unchanged(), FEW, ROOT)
    found, _ = link(cut, ROOT)
    assert list(found.days) == [1, 2, 3]
    last = cut.known.keep(people.clock.day_of(cut.known.instants) == 2)
    (again,) = find_by_attacks(cut._replace(known=last), ROOT, ["VisitProb-R"])
    assert found.days[1] == again.linked.first


def test_groups_at_night_are_people_of_the_same_place(people: Traces) -> None:
    material = AuditData.of(people, FEW)
    night = single_out(material, material.release_unchanged(), FEW, ROOT).night[0]
    hour = people.clock.second_of_day(people.instants) // 3600
    homes = Counter(
        nights_at(
            people.place_index[people.user_index == user].tolist(), hour[people.user_index == user].tolist()
        )
        for user in range(people.n_users)
    )
    assert night.alone is not None
    assert night.alone.value == pytest.approx(sum(n == 1 for n in homes.values()) / people.n_users)
    assert sum(night.sizes.values()) == people.n_users
    assert night.sizes[2] == sum(n for n in homes.values() if 2 <= n < 5)


def test_what_is_left_of_each_task(people: Traces, blurred: ObfuscatedTraces) -> None:
    moved = people.with_places(blurred.codes)
    kept = measure_tasks(people, moved)
    hour = people.clock.second_of_day(people.instants) // 3600
    counted = [Counter(zip(one.place_index.tolist(), hour.tolist(), strict=True)) for one in (people, moved)]
    n = len(people)
    assert kept["counts"] == pytest.approx(sum(min(counted[0][k], counted[1][k]) for k in counted[0]) / n)
    visits = [Counter(one.place_index.tolist()) for one in (people, moved)]
    k = round(0.1 * len(visits[0]))
    best = sum(count for _, count in visits[0].most_common(k))
    by_count = sorted(range(len(people.places)), key=lambda place: -visits[1][place])
    ties = [place for place in by_count if visits[1][place] == visits[1][by_count[k - 1]]]
    above = [place for place in by_count[:k] if place not in ties]
    lowest = sum(visits[0][place] for place in above)
    rest = sorted(visits[0][place] for place in ties)
    assert lowest + sum(rest[: k - len(above)]) <= kept["hotspots"] * best + 1e-9
    assert kept["hotspots"] * best <= lowest + sum(rest[::-1][: k - len(above)]) + 1e-9
    ranges = [
        [
            np.sqrt(
                ((one.places.points_km[own] - one.places.points_km[own].mean(axis=0)) ** 2).sum(axis=1).mean()
            )
            for own in np.split(one.place_index, one.offsets[1:-1])
        ]
        for one in (people, moved)
    ]
    every = sorted(ranges[0] + ranges[1])
    gap = max(abs(np.mean(np.array(ranges[0]) <= x) - np.mean(np.array(ranges[1]) <= x)) for x in every)
    assert kept["gyration"] == pytest.approx(1 - gap, abs=0.07)


def test_copies_are_nearer_than_real_people_are_to_each_other(people: Traces) -> None:
    real = people.take_users(np.arange(10))
    made = people.take_users([0, 11, 12]).with_user_ids(["a", "b", "c"])
    found = assess_synthetic(real, made, None, FEW, ROOT)

    def share(traces: Traces, user: int) -> Counter[int]:
        return Counter(traces.place_index[traces.user_index == user].tolist())

    def apart(a: Counter[int], b: Counter[int]) -> float:
        return sum(abs(a[k] / a.total() - b[k] / b.total()) for k in a | b) / 2

    crowd = [share(real, user) for user in range(10)]
    among = [min(apart(a, b) for b in crowd if b is not a) for a in crowd]
    to_real = [min(apart(share(made, user), b) for b in crowd) for user in range(3)]
    assert found.nearest == pytest.approx(np.median(to_real))
    assert found.nearest_real == pytest.approx(np.median(among))
    assert found.copies is not None
    assert found.copies.value == pytest.approx(np.mean(np.array(to_real) < np.quantile(among, 0.05)))


def test_the_map_counts_different_people(people: Traces) -> None:
    crowd = count_crowds(people, 3)
    pairs = set(zip(people.place_index.tolist(), people.user_index.tolist(), strict=True))
    visitors = Counter(place for place, _ in pairs)
    assert sorted(crowd.people) == sorted(n for n in visitors.values() if n >= 3)
    assert crowd.hidden == sum(n < 3 for n in visitors.values())


def test_attacks_on_venues_are_the_same_without_venues_where_nobody_is(people: Traces) -> None:
    venues = people.onto(Places(people.places.latitude, people.places.longitude))
    material = AuditData.of(venues, FEW)
    cut = build_linkage_task(material, material.release_unchanged(), FEW, ROOT)
    known, seen = drop_unvisited(cut.known, cut.seen)
    assert len(known.places) == len({*cut.known.place_index.tolist(), *cut.seen.codes.tolist()})
    names = ["VisitProb-R", "HomeProb-R", "FuzzyCount-R"]
    fewer = [one.linked for one in find_by_attacks(cut, ROOT, names)]
    gridded = AuditData.of(people, FEW)
    whole = build_linkage_task(gridded, gridded.release_unchanged(), FEW, ROOT)
    all_of_them = [one.linked for one in find_by_attacks(whole, ROOT, names[:2])]
    assert fewer[:2] == all_of_them
    assert [tuple(one) for one in known.places.points_km[seen.codes]] == [
        tuple(one) for one in venues.places.points_km[cut.seen.codes]
    ]


def test_a_set_becomes_the_set_of_its_cells(people: Traces) -> None:
    released = MRLH(mu_x=1, mu_y=1, deletion=0.2).transform(people, seed=1)
    cell = (np.arange(len(people.places)) % 7).astype(np.int32)
    moved = remap_release(released, people.places, cell)
    for event in range(0, len(people), 23):
        assert moved.cell(event) == sorted({int(cell[place]) for place in released.cell(event)})
