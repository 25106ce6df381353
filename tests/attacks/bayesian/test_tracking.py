"""What is believed instant by instant, beside a forward and backward pass over whole matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import DEFENCES, in_another_order, released, spelled_out
from tests.threads import on_threads

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian import channel as channels
from tracearena.attacks.bayesian import tracking
from tracearena.attacks.bayesian._tracking_kernels import NEGLIGIBLE, run_backward, run_forward
from tracearena.attacks.bayesian.channel import NOTHING, Channel, ObservationAlphabet
from tracearena.attacks.bayesian.pairs import build_all_pairs
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.attacks.bayesian.tracking import SETTINGS, CandidateTraces, PlaceModel, PopulationMovement
from tracearena.traces import ObfuscatedTraces, Traces

Floats = NDArray[np.float64]
LIMIT_KM = 2.0


class World:
    """Everything that an attacker has put together when he comes to say where everybody was."""

    def __init__(self, reference: Traces, anonymized: ObfuscatedTraces, defence: str, seed: int = 0) -> None:
        self.reference, self.anonymized = reference, anonymized
        self.observations, (self.observed,) = ObservationAlphabet.of([anonymized])
        found = channels.derive_channel(catalogue.create(defence), self.observations, reference.places)
        assert found is not None
        self.channel: Channel = found
        self.neighbourhoods = Neighbourhoods.of(reference.places, LIMIT_KM)
        self.profiles = TimeProfiles.of(reference, self.neighbourhoods)
        self.movement = PopulationMovement.of(reference)
        self.sensitive = np.where(reference.places.sensitive, 10.0, 1.0)
        rng = np.random.default_rng(seed)
        # Of each user some traces, with weights that do not sum to 1; the last user has none.
        chosen = [np.sort(rng.choice(anonymized.n_users, 2, replace=False)) for _ in range(reference.n_users)]
        chosen[-1] = chosen[-1][:0]
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in chosen])]).astype(np.int64)
        weights = rng.uniform(0.1, 0.49, offsets[-1])
        self.followed = CandidateTraces(offsets, np.concatenate(chosen).astype(np.int64), weights)

    def answers(self, share: float, **settings: float) -> NDArray[np.int32]:
        model = PlaceModel(
            self.channel, self.profiles, self.movement, self.neighbourhoods, self.sensitive, LIMIT_KM
        )
        changed = replace(SETTINGS, **settings)  # type: ignore[arg-type]
        return tracking.infer_places(
            self.anonymized, self.observed, model, self.followed, share=share, settings=changed
        )

    def slow_gains(self, share: float, doubt: float) -> Floats:
        """Return users × instants × places: what each answer is worth."""
        released, m = self.anonymized, self.profiles.n_places
        table = spelled_out(without_negligible(self.channel), m)
        observed = np.full((released.n_users, released.n_instants), NOTHING)
        observed[released.user_index, released.instants - released.span[0]] = self.observed
        moves = self.moves()
        time = released.clock.time_of_day(np.arange(*released.span))
        day = released.clock.day_of(np.arange(*released.span))
        distance = np.array(
            [self.reference.places.distance_km(np.full(m, x), np.arange(m)) for x in range(m)]
        )
        worth = self.sensitive[:, None] * np.maximum(1 - distance / LIMIT_KM, 0)
        gains = np.empty((self.reference.n_users, released.n_instants, m))
        for user in range(self.reference.n_users):
            profile = self.profiles.user_profile(user)
            own = slice(self.followed.offsets[user], self.followed.offsets[user + 1])
            for one in np.unique(day):
                at = np.flatnonzero(day == one)
                belief, known = np.zeros((len(at), m)), 0.0
                for trace, weight in zip(self.followed.traces[own], self.followed.weights[own], strict=True):
                    observations = observed[trace, at]
                    if (observations != NOTHING).any():
                        likely = np.array([table[y] if y != NOTHING else np.ones(m) for y in observations])
                        belief += weight * smoothed(likely, profile, moves, time[at], share)
                        known += weight
                q = (1 - doubt) * belief + (1 - (1 - doubt) * known) * profile[:, time[at]].T
                gains[user, at] = q @ worth
        return gains

    def moves(self) -> Callable[[int], Floats]:
        """Return what gives the population's matrix of steps that end at a time of day."""
        people, m = self.reference, self.profiles.n_places
        counts = np.zeros((m, m))
        for e in range(people.n_events - 1):
            same = people.user_index[e] == people.user_index[e + 1]
            step = people.instants[e + 1] - people.instants[e] == 1
            if same and step and np.ptp(people.clock.day_of(people.instants[e : e + 2])) == 0:
                counts[people.place_index[e], people.place_index[e + 1]] += 1
        total = counts.sum(axis=1, keepdims=True) + SETTINGS.prior_transitions
        return lambda t: counts / total + SETTINGS.prior_transitions / total * self.profiles.population[:, t]


def smoothed(
    likely: Floats, profile: Floats, moves: Callable[[int], Floats], time: NDArray[np.int64], share: float
) -> Floats:
    """Return instants × places: where one was, given everything that was said on that day."""
    steps = [(1 - share) * profile[:, t] + share * moves(t) for t in time]
    ahead, back = np.empty_like(likely), np.ones_like(likely)
    ahead[0] = profile[:, time[0]] * likely[0]
    for i in range(1, len(time)):
        ahead[i] = (ahead[i - 1] / ahead[i - 1].sum()) @ steps[i] * likely[i]
    for i in range(len(time) - 2, -1, -1):
        back[i] = steps[i + 1] @ (likely[i + 1] * back[i + 1])
        back[i] /= back[i].max()
    belief = ahead * back
    return np.asarray(belief / belief.sum(axis=1, keepdims=True))


def worlds(make_walks: Callable[..., Traces], defence: str, shape: str) -> World:
    reference, original = make_walks(users=5, days=4, side=5, missing=0.1).split_days(2)
    if shape == "begins in the middle":
        original = make_walks(users=5, days=4, side=5).take_instants(47, 75)
    if shape == "gaps":
        original = original.keep((original.instants % 20 < 3) | (original.instants % 20 > 13))
        original = original.keep((original.user_index != 1) | (original.instants < 60))
    anonymized, _ = in_another_order(released(original, defence))
    return World(reference, anonymized, defence)


@pytest.mark.parametrize("defence", [*DEFENCES, "MRLH(0,0,0.4)"])
@pytest.mark.parametrize("shape", ["two days", "begins in the middle", "gaps"])
@pytest.mark.parametrize("share", [0.0, 0.85], ids=["Bayes-T", "Tracking-T"])
@pytest.mark.parametrize("doubt", [0.0, 0.02])
def test_the_answer_is_that_of_whole_matrices(
    make_walks: Callable[..., Traces], defence: str, shape: str, share: float, doubt: float
) -> None:
    world = worlds(make_walks, defence, shape)
    gains = world.slow_gains(share, doubt)
    answers = world.answers(share=share, beam=0.0, doubt=doubt, ignored_share=0.0)
    taken = np.take_along_axis(gains, answers[:, :, None], axis=2)[:, :, 0]
    assert taken == pytest.approx(gains.max(axis=2), rel=1e-9)
    assert (answers == gains.argmax(axis=2)).mean() > 0.999


@pytest.mark.parametrize("defence", [*DEFENCES, "MRLH(0,0,0.4)"])
@pytest.mark.parametrize("share", [0.0, 0.85], ids=["Bayes-T", "Tracking-T"])
def test_what_is_believed_is_that_of_whole_matrices(
    make_walks: Callable[..., Traces], defence: str, share: float
) -> None:
    world = worlds(make_walks, defence, "two days")
    table = spelled_out(without_negligible(world.channel), world.profiles.n_places)
    for trace, user in ((0, 0), (1, 3), (4, 2)):
        first = world.anonymized.offsets[trace]
        own = world.observed[first : first + world.anonymized.clock.instants_per_day]
        likely = np.array([table[y] if y != NOTHING else np.ones(table.shape[1]) for y in own])
        profile = world.profiles.user_profile(user)
        expected = smoothed(likely, profile, world.moves(), np.arange(len(own)), share)
        if share == 0.0:
            # Who does not follow leaves an instant at which nothing is said to profiles.
            expected[own == NOTHING] = 0.0
        assert believed(world, own, user, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def believed(world: World, observed: NDArray[np.int32], user: int, share: float) -> Floats:
    """Return instants × places: what the kernels believe of one day, the beam off."""
    span, m = len(observed), world.profiles.n_places
    profile, population = world.profiles.user_profile(user).T.copy(), world.profiles.population.T.copy()
    support, sizes = np.empty((span, m), np.int32), np.zeros(span, np.int64)
    ahead, fits, back = np.empty((3, span, m))
    channel = world.channel
    through = channel.offsets, channel.places, channel.values, channel.floor
    run_forward(
        observed, 0, profile, population, *through, *world.movement, share, 0.0,
        support, sizes, ahead, fits, np.zeros(m),
    )  # fmt: skip
    run_backward(
        0, span, profile, population, *world.movement, share, support, sizes, fits, back, np.zeros(m)
    )
    table = np.zeros((span, m))
    for i, size in enumerate(sizes):
        belief = ahead[i, :size] * back[i, :size]
        table[i, support[i, :size]] = belief / belief.sum()
    return table


def without_negligible(channel: Channel) -> Channel:
    """Leave out the floors that are too low for the kernels to look at more than the places listed."""
    low = channel.floor <= NEGLIGIBLE
    observation = np.repeat(np.arange(len(low)), np.diff(channel.offsets))
    values = channel.values + np.where(low, channel.floor, 0.0)[observation]
    return replace(channel, values=values, floor=np.where(low, 0.0, channel.floor))


def test_the_beam_changes_little_and_threads_nothing(make_walks: Callable[..., Traces]) -> None:
    world = worlds(make_walks, "PL(4,1)", "two days")
    exact = world.answers(share=0.85, beam=0.0, ignored_share=0.0)
    one, three = (on_threads(count, lambda: world.answers(share=0.85)) for count in (1, 3))
    assert np.array_equal(one, three)
    assert (one == exact).mean() > 0.95


def test_of_a_users_traces_the_likeliest_are_followed() -> None:
    pairs = build_all_pairs(4, 3)
    weights = np.array([[0.6, 0.0, 0.1], [0.38, 0.0005, 0.5], [0.02, 0.0, 0.2], [0.0, 0.0, 0.2]])
    followed = tracking.keep_likeliest_traces(pairs, weights.ravel(), 1)
    assert followed.offsets.tolist() == [0, 2, 2, 6]
    assert followed.traces.tolist() == [0, 1, 1, 2, 3, 0]
    assert followed.weights == pytest.approx([0.6, 0.38, 0.5, 0.2, 0.2, 0.1])


def test_of_traces_that_are_disguised_as_a_whole_few_are_followed() -> None:
    pairs = build_all_pairs(6, 1)
    weights = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1])
    assert len(tracking.keep_likeliest_traces(pairs, weights, 1).traces) == 6
    few = tracking.keep_likeliest_traces(pairs, weights, 1, few=True)
    assert few.traces.tolist() == list(range(SETTINGS.disguised_traces))
