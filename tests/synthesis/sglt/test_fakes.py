"""Fake traces: how they are decoded, drawn and tested."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tracearena.engine import seed_sequence, use
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.similarity import geographic_similarity, semantic_similarity
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis import SGLT
from tracearena.synthesis.sglt import FakeMaker, LocationClasses, PrivacyTests, draw_by_likelihood
from tracearena.traces import Clock, Places, Traces


@pytest.fixture
def town():
    rng = np.random.default_rng(5)
    places = Places(rng.random(9) / 10, rng.random(9) / 10)
    traces = Traces.from_dense(rng.integers(0, 9, (6, 5)), places, Clock(instants_per_day=5))
    classes = LocationClasses.of(np.arange(9) % 3)
    return traces, classes, AggregateMobility.of(MobilityProfiles.of(traces), places)


def log_probability(mobility, path):
    total = np.log(mobility.starts()[path[0]])
    return total + sum(np.log(mobility.moves[0][a, b]) for a, b in itertools.pairwise(path))


def test_without_chance_the_decoder_finds_the_most_probable_path(town):
    traces, classes, mobility = town
    maker = FakeMaker(classes=classes, mobility=mobility, par_c=0, par_m=0, par_l=1, par_v=1)
    seeds = traces.dense()
    made = maker.make(seeds, np.arange(6), seed_sequence(1))
    for fake, seed, likelihood in zip(made.places, seeds, made.log_likelihood, strict=True):
        choices = [
            [r for r in range(9) if classes.class_of[r] == classes.class_of[place] and r != place]
            for place in seed
        ]
        best = max(itertools.product(*choices), key=lambda path: log_probability(mobility, path))
        assert log_probability(mobility, fake) == pytest.approx(log_probability(mobility, best))
        assert likelihood == pytest.approx(log_probability(mobility, fake))


def test_the_quick_decoder_is_the_plain_one_on_many_places(make_walks):
    walks = make_walks(users=20, days=1, side=12)
    mobility = AggregateMobility.of(MobilityProfiles.of(walks), walks.places)
    classes = LocationClasses.of(np.arange(144) % 2)
    maker = FakeMaker(classes=classes, mobility=mobility, par_c=0, par_m=0, par_l=0, par_v=1)
    made = maker.make(walks.dense(), np.arange(20), seed_sequence(1))
    logs, start = np.log(mobility.moves[0]), np.log(mobility.starts())
    for seed, likelihood in zip(walks.dense(), made.log_likelihood, strict=True):
        allowed = classes.class_of[seed][:, None] == classes.class_of[None, :]
        score = np.where(allowed[0], start, -np.inf)
        for t in range(1, len(seed)):
            score = np.where(allowed[t], (score[:, None] + logs).max(axis=0), -np.inf)
        assert likelihood == pytest.approx(score.max())


def test_a_fake_stays_in_the_classes_of_its_seed(town):
    traces, classes, mobility = town
    maker = FakeMaker(classes=classes, mobility=mobility, par_c=0.25, par_m=0, par_l=1)
    rows = np.repeat(np.arange(6), 50)
    made, seeds = maker.make(traces.dense(), rows, seed_sequence(2)), traces.dense()[rows]
    same = classes.class_of[made.places] == classes.class_of[seeds]
    assert same.mean() > 0.9  # all but where every place of a small class was dropped
    assert not (made.places == seeds).any()


def test_par_l_lets_the_own_place_in(town):
    traces, classes, mobility = town
    rows = np.repeat(np.arange(6), 50)
    shares = []
    for par_l in (1.0, 0.5, 0.0):
        maker = FakeMaker(classes=classes, mobility=mobility, par_l=par_l)
        made = maker.make(traces.dense(), rows, seed_sequence(3))
        shares.append((made.places == traces.dense()[rows]).mean())
    assert shares[0] == 0
    assert shares[0] < shares[1] < shares[2]


def test_chance_makes_many_fakes_of_one_seed_and_the_seed_fixes_them(town):
    traces, classes, mobility = town
    maker = FakeMaker(classes=classes, mobility=mobility)
    rows = np.zeros(300, np.int64)
    with use(threads=1):
        one = maker.make(traces.dense(), rows, seed_sequence(4))
    with use(threads=2):
        two = maker.make(traces.dense(), rows, seed_sequence(4))
    assert np.array_equal(one.places, two.places)
    assert len(np.unique(one.places, axis=0)) > 20
    few = maker.make(traces.dense(), rows[:40], seed_sequence(4))
    assert np.array_equal(few.places, one.places[:40])


def test_a_class_of_one_place_leaves_all_others(town):
    traces, _, mobility = town
    maker = FakeMaker(classes=LocationClasses.of(np.arange(9)), mobility=mobility, par_m=0)
    made = maker.make(traces.dense(), np.arange(6), seed_sequence(1))
    assert not (made.places == traces.dense()).any()


def test_likely_fakes_are_drawn_more_often():
    rng = np.random.default_rng(1)
    likelihood = np.log(np.array([0.7, 0.2, 0.1]))
    owners = np.zeros(3, np.int64)
    first = [draw_by_likelihood(likelihood, owners, 1, 1, rng)[0, 0] for _ in range(2000)]
    assert np.allclose(np.bincount(first) / 2000, [0.7, 0.2, 0.1], atol=0.04)
    everything = draw_by_likelihood(likelihood, owners, 2, 4, rng)
    assert sorted(everything[0].tolist()) == [-1, 0, 1, 2]
    assert everything[1].tolist() == [-1] * 4


class TestPrivacyTests:
    """Each test can fail, and for its own reason."""

    places = Places(np.zeros(10), np.arange(10))
    clock = Clock(instants_per_day=10)

    def judge(self, fake, seed, others, **limits):
        tables = [np.array(rows, np.int32).reshape(-1, 10) for rows in ([fake], [seed], others)]
        profiles = [
            MobilityProfiles.of(Traces.from_dense(table, self.places, self.clock)) for table in tables
        ]
        return PrivacyTests(**limits).judge(tables[0], tables[1], *profiles)

    def test_a_fake_elsewhere_that_anybody_could_have_seeded_passes(self):
        assert self.judge([1] * 10, [0] * 10, [[5] * 10]).passed.all()

    def test_visiting_the_same_places_fails(self):
        fake, seed = [1] * 8 + [0] * 2, [0] * 8 + [2] * 2
        verdict = self.judge(fake, seed, [[5] * 8 + [6] * 2])
        assert not verdict.geographic.any()
        assert verdict.intersection.all()
        assert self.judge(fake, seed, [[5] * 8 + [6] * 2], geographic=0.2).passed.all()

    def test_standing_where_the_seed_stands_fails(self):
        fake, seed = [0] + [1] * 9, [0] * 10
        verdict = self.judge(fake, seed, [[5] * 10])
        assert verdict.geographic.all()
        assert not verdict.intersection.any()
        assert self.judge(fake, seed, [[5] * 10], intersection=0.1).passed.all()

    def test_a_seed_that_nobody_else_could_be_fails(self):
        other = list(range(10))
        assert not self.judge([1] * 10, [0] * 10, [other]).deniability.any()
        assert not self.judge([1] * 10, [0] * 10, np.zeros((0, 10))).deniability.any()
        assert not self.judge([1] * 10, [0] * 10, [[5] * 10], alternatives=2).deniability.any()
        assert self.judge([1] * 10, [0] * 10, [[5] * 10, [6] * 10], alternatives=2).deniability.all()
        assert self.judge([1] * 10, [0] * 10, np.zeros((0, 10)), alternatives=0).deniability.all()


def test_only_fakes_that_pass_leave_the_synthesizer(make_walks):
    walks = make_walks(users=40, days=1)
    model = SGLT(classes=6).fit(walks, seed=1)
    fakes = model.synthesize(3, seed=2)
    assert fakes.n_users == 40
    made = fakes.dense().reshape(40, 3, 20)
    there = (made >= 0).all(axis=2)
    assert len(model.alternatives_) == 4
    assert not there[model.alternatives_].any()
    assert there.any()
    seeds = MobilityProfiles.of(walks)
    for number in range(3):
        users = np.flatnonzero(there[:, number])
        profiles = MobilityProfiles.of(Traces.from_dense(made[users, number], walks.places, walks.clock))
        pairs = np.column_stack([np.arange(len(users)), users])
        assert (geographic_similarity(profiles, seeds, pairs) <= 0.1 + 1e-9).all()
        assert not (made[users, number] == walks.dense()[users]).any()
        own = semantic_similarity(profiles, seeds, pairs)
        for row in range(len(users)):
            others = [[row, other] for other in model.alternatives_]
            close = np.abs(semantic_similarity(profiles, seeds, others) - own[row]) <= 0.1 + 1e-9
            assert close.any()
    rates = model.pass_rates_
    assert rates is not None
    assert rates.fakes >= 36 * 3
    assert 0 < rates.all <= min(rates.geographic, rates.intersection, rates.deniability) <= 1


def test_fakes_of_many_days_follow_them_in_turn(make_walks):
    walks = make_walks(users=5, days=3)
    model = SGLT(classes=4, privacy_tests=False).fit(walks, seed=1)
    assert model.synthesize(4, seed=1).n_instants == 4 * 20
    assert model.seeds_.rows_of(np.array([2, 2]), np.array([1, 4])).tolist() == [7, 7]


def test_periods_have_their_own_mobility(make_walks):
    model = SGLT(classes=4, periods=2, privacy_tests=False).fit(make_walks(users=10), seed=1)
    in_period_1, in_period_2, across = model.mobility_.moves
    assert np.allclose([in_period_1.sum(axis=1), in_period_2.sum(axis=1), across.sum(axis=1)], 1)
    assert not np.allclose(in_period_1, in_period_2)
    assert model.synthesize(seed=1).is_complete


def test_periods_may_be_of_unequal_length(make_walks):
    walks = make_walks(users=10)
    model = SGLT(classes=4, periods="6-9-18", privacy_tests=False).fit(walks, seed=1)
    hours = walks.clock.second_of_day(np.arange(20)) // 3600
    named = np.where(hours < 6, 2, np.where(hours < 9, 0, np.where(hours < 18, 1, 2)))
    assert len(set(zip(model.mobility_.periods.of_time, named, strict=True))) == len(set(named)) > 1
    assert model.synthesize(seed=1).is_complete


@pytest.mark.parametrize("hours", ["", "9-6", "6-6", "24", "six", "6,9"])
def test_hours_of_periods_rise_within_a_day(hours):
    with pytest.raises(ParameterError, match="periods"):
        SGLT(periods=hours)


@pytest.mark.parametrize(
    "wrong",
    [{"classes": 0}, {"par_c": 1.5}, {"par_l": -1}, {"par_v": 0.5}, {"periods": 0}, {"privacy_tests": 1}],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        SGLT(**wrong)


def test_an_untrained_model_says_so():
    with pytest.raises(DataError, match="fit"):
        _ = SGLT().maker_
