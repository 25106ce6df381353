"""Synthetic releases: copies of real people, and whether membership can be inferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.attacks.linking import LinkMatcher
from tracearena.attacks.synthetic import SyntheticIdentification
from tracearena.audit.settings import Proportion, Record, Settings, clopper_pearson
from tracearena.audit.singling_out import sample_people
from tracearena.audit.usefulness import measure_tasks
from tracearena.engine import child_seed, run_blocks
from tracearena.errors import DataError
from tracearena.obfuscation import NoObfuscation
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import to_comparable_ids

if TYPE_CHECKING:
    from tracearena.synthesis import PPMTF


NEAR = 0.05
"""Share of real people who have another real person nearer than the limit for copies."""
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
        How much better than guessing somebody tells who was in the training data: 0 is guessing, 1 is
        certain; None without people who were not.
    auc
        How often the linker scores one who was above one who was not; 0.5 is guessing.
    """

    copies: Proportion | None
    nearest: float | None
    nearest_real: float | None
    reidentified: Proportion | None
    membership: Proportion | None
    auc: float | None

    @property
    def shares_by_question(self) -> dict[str, list[tuple[str, Proportion | None]]]:
        """The shares by which each question is judged."""
        above_chance = None if self.copies is None else self.copies.advantage
        return {
            "singling_out": [("copies", self.copies)],
            "linkability": [("reidentified", self.reidentified), ("copies", above_chance)],
            "inference": [("membership", self.membership)],
        }


def assess_synthetic(
    real: Traces, made: Traces, others: Traces | None, settings: Settings, root: np.random.SeedSequence
) -> Synthetic:
    """Compare synthetic people with those they were made from, and with others if there are any."""
    if real.places != made.places:
        raise DataError("real and synthetic traces need the same places")
    to_real, among_real = _measure_nearest(real, made, settings, root)
    limit = float(np.quantile(among_real, NEAR)) if len(among_real) else 0.0
    membership, auc = _infer_membership(real, made, others, child_seed(root, _OTHERS))
    reidentified = None
    if np.isin(*to_comparable_ids(made.user_ids, real.user_ids)).all():
        rate = float(SyntheticIdentification().fit(real).rate(made))
        traces = int((np.diff(made.offsets) > 0).sum())
        ends = clopper_pearson(rate * traces, traces)
        reidentified = Proportion(rate, *ends, traces, 1 / max(real.n_users, 1))
    return Synthetic(
        copies=Proportion.of(to_real < limit, NEAR) if len(among_real) else None,
        nearest=float(np.median(to_real)) if len(to_real) else None,
        nearest_real=float(np.median(among_real)) if len(among_real) else None,
        reidentified=reidentified,
        membership=membership,
        auc=auc,
    )


def _measure_nearest(
    real: Traces, made: Traces, settings: Settings, root: np.random.SeedSequence
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances to the nearest real person: of synthetic people, and of real ones."""
    from tracearena.audit._kernels import nearest_two

    people = sample_people(np.diff(real.offsets) > 0, settings.people, root, _REAL)
    some = sample_people(np.diff(made.offsets) > 0, settings.people, root, _MADE)
    crowd = _compute_visit_shares(real.take_users(people))
    asked = _compute_visit_shares(made.take_users(some))

    def work(block: int, first: int, stop: int) -> float:
        own, skip = (crowd[first], first) if first < len(crowd) else (asked[first - len(crowd)], -1)
        return float(nearest_two(own, crowd, skip)[0])

    found = np.array(run_blocks(work, [(i, i + 1) for i in range(len(crowd) + len(asked))]), float)
    among = found[: len(crowd)]
    return found[len(crowd) :], among[np.isfinite(among)]


def _compute_visit_shares(traces: Traces) -> NDArray[np.float64]:
    table = np.zeros((traces.n_users, max(len(traces.places), 1)))
    np.add.at(table, (traces.user_index, traces.place_index), 1.0)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


def _infer_membership(
    real: Traces, made: Traces, others: Traces | None, root: np.random.SeedSequence
) -> tuple[Proportion | None, float | None]:
    """Check whether the linker scores people of the training data above others.

    A person's score is that of the synthetic trace that fits her best, less that of all traces on average.

    Returns
    -------
    membership, auc
        The attacker's advantage, 2 AUC - 1, with its 95 % interval, and the area under the curve itself.
    """
    if others is None or not len(made):
        return None, None
    numbers = np.arange(real.n_users + others.n_users)
    inside, outside = np.split(numbers, [real.n_users])
    people = Traces.concat([real.with_user_ids(inside), others.with_user_ids(outside)])
    traces = ObfuscatedTraces.from_traces(made).with_user_ids(-1 - np.arange(made.n_users))
    match = LinkMatcher(mechanism=NoObfuscation(), channel=False).fit(people).match(traces, seed=root)
    best = np.full(people.n_users, -np.inf)
    np.maximum.at(best, match.pairs.users, match.scores)
    auc, low, high = compute_auc(best[: real.n_users], best[real.n_users :])
    value, least, most = (max(2 * one - 1, 0.0) for one in (auc, low, high))
    return Proportion(value, least, most, people.n_users, 0.0), auc


def compute_auc(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return how often one of the first is above one of the second, with its 95 % interval.

    References
    ----------
    Hanley and McNeil, The meaning and use of the area under a receiver operating characteristic curve,
    Radiology 143 (1982).

    >>> [round(one, 2) for one in compute_auc(np.array([3.0, 4, 5]), np.array([1.0, 2, 6]))]
    [0.67, 0.2, 1.0]
    """
    n, m = len(inside), len(outside)
    if not n or not m:
        return 0.5, 0.0, 1.0
    ordered = np.sort(outside)
    below, upto = (np.searchsorted(ordered, inside, side) for side in ("left", "right"))
    auc = float(((below + upto) / 2).mean() / m)
    one, other = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = (auc * (1 - auc) + (n - 1) * (one - auc**2) + (m - 1) * (other - auc**2)) / (n * m)
    margin = 1.96 * float(np.sqrt(max(variance, 0.0)))
    return auc, max(auc - margin, 0.0), min(auc + margin, 1.0)


# Virtual people (PPMTF+): nobody can be found again among them, so other questions are asked.

SYNTHESIZER = "PPMTF(16,200,zeros=all,iterations=20)"
MOST_DAYS = 40
_TRAIN, _DRAW, _COMPARE = range(3)


@dataclass(frozen=True)
class VirtualPeople(Record):
    """A release of virtual people instead of real ones.

    Attributes
    ----------
    synthesizer
        The model, as `tracearena synthesize` takes it together with ``--virtual-users``.
    people, days
        How many people were drawn, for how many days.
    kept
        How much of the six tasks is left, on average; and of each.
    tasks
        The same by task.
    betrayed
        Copies of real people, and whether membership can be inferred: the model knows the people used for
        choosing defences; those used for the proof are strangers to it.
    """

    synthesizer: str
    people: int
    days: int
    kept: float
    tasks: dict[str, float]
    betrayed: Synthetic


def assess_virtual_people(
    real: Traces, others: Traces, settings: Settings, root: np.random.SeedSequence
) -> VirtualPeople:
    """Train PPMTF on some people, draw as many virtual ones, and ask what these betray.

    Parameters
    ----------
    real, others
        Traces of the people to train on, and of others on the same places.
    """
    model: PPMTF = catalogue.create(SYNTHESIZER, "synthesizer")
    model.fit(real, seed=child_seed(root, _TRAIN))
    days = min(max(-(-real.n_instants // real.clock.instants_per_day), 1), MOST_DAYS)
    made = model.sample_users(real.n_users, days, seed=child_seed(root, _DRAW))
    # Numbers could be taken for the ids of real people.
    made = made.onto(real.places).with_user_ids([f"virtual {one}" for one in range(made.n_users)])
    tasks = measure_tasks(real, made)
    return VirtualPeople(
        synthesizer=SYNTHESIZER,
        people=made.n_users,
        days=days,
        kept=float(np.mean(list(tasks.values()))) if tasks else 0.0,
        tasks=tasks,
        betrayed=assess_synthetic(real, made, others, settings, child_seed(root, _COMPARE)),
    )
