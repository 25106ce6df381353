"""Synthetic releases: copies of real people, and whether membership can be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.markov import MarkovIdentification, MembershipInference
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record, Share, clopper_pearson
from tracearena.audit.singling_out import sample
from tracearena.engine import run_blocks
from tracearena.errors import DataError
from tracearena.traces import Traces
from tracearena.traces.ids import comparable

NEAR = 0.05
"""Real people have another real person this near in so many cases; nearer synthetic ones are copies."""
_REAL, _MADE, _OTHERS = 20, 21, 22


@dataclass(frozen=True)
class Synthetic(Record):
    """What synthetic traces betray of the real ones they were made from.

    Attributes
    ----------
    copies
        Share of synthetic people whose nearest real person is nearer than the nearest other real person is to
        all but 5 % of real people; so chance is 5 %.
    nearest, nearest_real
        Median distance of a synthetic, and of a real, person to the nearest real one (of another): the total
        variation of the places they visit, 0 for the same and 1 for nothing in common.
    reidentified
        Share of synthetic traces whose training user is found; None unless they carry training users' ids.
    membership
        Share of right answers to "was she in the training data", beside always answering the more
        frequent; None without people who were not.
    advantage
        Right alarms minus false ones; 0 is a guess.
    """

    copies: Share | None
    nearest: float | None
    nearest_real: float | None
    reidentified: Share | None
    membership: Share | None
    advantage: float | None


def assess_synthetic(
    real: Traces,
    made: Traces,
    others: Traces | None,
    settings: Settings,
    root: np.random.SeedSequence,
) -> Synthetic:
    """Compare synthetic people with those they were made from, and with others if there are any."""
    if real.places != made.places:
        raise DataError("real and synthetic traces need the same places")
    to_real, among_real = _nearest(real, made, settings, root)
    limit = float(np.quantile(among_real, NEAR)) if len(among_real) else 0.0
    membership, advantage = _membership(real, made, others)
    return Synthetic(
        copies=Share.of(to_real < limit, NEAR) if len(among_real) else None,
        nearest=float(np.median(to_real)) if len(to_real) else None,
        nearest_real=float(np.median(among_real)) if len(among_real) else None,
        reidentified=_reidentified(real, made),
        membership=membership,
        advantage=advantage,
    )


def _nearest(
    real: Traces, made: Traces, settings: Settings, root: np.random.SeedSequence
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances to the nearest real person: of synthetic people, and of real ones."""
    from tracearena.audit._kernels import nearest_two

    people = sample(np.diff(real.offsets) > 0, settings.people, root, _REAL)
    some = sample(np.diff(made.offsets) > 0, settings.people, root, _MADE)
    crowd, asked = _shares(real.take_users(people)), _shares(made.take_users(some))

    def work(block: int, first: int, stop: int) -> float:
        own, skip = (crowd[first], first) if first < len(crowd) else (asked[first - len(crowd)], -1)
        return float(nearest_two(own, crowd, skip)[0])

    found = np.array(run_blocks(work, [(i, i + 1) for i in range(len(crowd) + len(asked))]), float)
    among = found[: len(crowd)]
    return found[len(crowd) :], among[np.isfinite(among)]


def _shares(traces: Traces) -> NDArray[np.float64]:
    table = np.zeros((traces.n_users, max(len(traces.places), 1)))
    np.add.at(table, (traces.user_index, traces.place_index), 1.0)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


def _reidentified(real: Traces, made: Traces) -> Share | None:
    if not np.isin(*comparable(made.user_ids, real.user_ids)).all():
        return None
    rate = MarkovIdentification().fit(real).rate(made)
    traces = int((np.diff(made.offsets) > 0).sum())
    low, high = clopper_pearson(rate * traces, traces)
    return Share(float(rate), low, high, traces, 1 / max(real.n_users, 1))


def _membership(real: Traces, made: Traces, others: Traces | None) -> tuple[Share | None, float | None]:
    if others is None:
        return None, None
    found = MembershipInference().fit(real, others).evaluate(made)
    decisions = found.members + found.non_members
    low, high = clopper_pearson(found.accuracy * decisions, decisions)
    return Share(found.accuracy, low, high, decisions, found.guess), found.advantage
