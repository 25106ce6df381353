"""PPMTF+: virtual users drawn from the distribution of feature vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import LARGEST_COUNT, require_whole
from tracearena.engine import block_ranges, child_seed, run_blocks, stream
from tracearena.errors import DataError
from tracearena.synthesis.ppmtf.conditionals import Gaussian
from tracearena.synthesis.ppmtf.frame import SeenCells
from tracearena.synthesis.ppmtf.sampling import Habits, TraceModel
from tracearena.synthesis.ppmtf.walking import Walk

HOME_WEIGHT = 20.0
"""Added to the home's visit probability at home time, which becomes at least 20/21."""
HOME_SLOTS = 2
"""So many slots at each end of the day are home time."""
STEP_S = 300
"""Seconds of a step at home time, the interval of the contest's generator."""
USERS_PER_BLOCK = 256
_ROWS, _VISIT_ROWS, _HOMES, _DAYS = range(4)


@dataclass(frozen=True, eq=False)
class VirtualUsers:
    """Users who never lived, and the model that moves them.

    Attributes
    ----------
    model
        The trained model with the virtual users' feature vectors in place of the training users'.
    habits
        Their homes, and what nobody does; None if there are neither.

    References
    ----------
    T. Murakami et al., Designing a location trace anonymization contest, PoPETs 2023, appendices A
    and D [contest].
    """

    model: TraceModel
    habits: Habits | None
    _root: np.random.SeedSequence

    def __len__(self) -> int:
        return len(self.model.users)

    @property
    def homes(self) -> NDArray[np.int32] | None:
        """Home of each user."""
        return None if self.habits is None else self.habits.homes

    def draw(
        self,
        days: int,
    ) -> NDArray[np.int32]:
        """Draw `days` days of every user; users × days × instants of a day."""
        root = child_seed(self._root, _DAYS)
        return self.model.draw(days, root, habits=self.habits)


def sample_virtual_users(
    trained: TraceModel,
    priors: tuple[Gaussian, Gaussian],
    n: int,
    root: np.random.SeedSequence,
    *,
    interval_s: int,
    homes: bool = False,
    seen: SeenCells | None = None,
    walk: Walk | None = None,
) -> VirtualUsers:
    """Draw n virtual users.

    Parameters
    ----------
    trained
        The trained model; its users are not looked at.
    priors
        Ψ_A of the transition and of the visit tensor: one object if the tensors share their users.
    n
        How many, at least 1.
    root
        Seed of everything about them, their days too.
    interval_s
        Seconds between two instants.
    homes
        Give everybody a home.
    seen
        What was seen in training, to rule out the rest.
    walk
        Their day, step by step: a step an instant. None for the learned instants as they are.

    Notes
    -----
    The contest's generator had an instant every five minutes. Without a `walk` home time therefore has
    a step for every five minutes of a longer interval; a single step would take almost nobody home
    in the evening.
    """
    require_whole("users", n, at_least=1, at_most=LARGEST_COUNT)
    n = int(n)
    moves, visits = priors
    rows = sample_rows(moves, n, child_seed(root, _ROWS))
    others = rows if visits is moves else sample_rows(visits, n, child_seed(root, _VISIT_ROWS))
    model = replace(trained, users=rows, visit_users=others)
    weight, steps = _home_weight(len(model.slots)), max(interval_s // STEP_S, 1)
    if walk is not None:
        model, seen, at_home = walk.stretched(model, seen)
        weight, steps = np.where(at_home, HOME_WEIGHT, 0.0), 1
    pace = None if walk is None else walk.pace
    habits = Habits(seen=seen, pace=pace) if homes or seen is not None or walk is not None else None
    if habits is not None and homes:
        chosen = _homes(model, habits, child_seed(root, _HOMES))
        habits = replace(habits, homes=chosen, home_weight=weight, home_steps=steps)
    return VirtualUsers(model, habits, root)


def sample_rows(prior: Gaussian, n: int, root: np.random.SeedSequence) -> NDArray[np.float64]:
    """Draw n feature vectors from Normal(μ, Λ⁻¹); the first are the same however many follow.

    References
    ----------
    [contest] equation 4.
    """
    try:
        lower = np.linalg.cholesky(prior.precision)
    except np.linalg.LinAlgError:
        raise DataError("the model's precision of feature vectors is not positive definite") from None
    noise = [
        stream(root, block).standard_normal((stop - first, len(prior.mean)))
        for block, (first, stop) in enumerate(block_ranges(n, USERS_PER_BLOCK))
    ]
    return np.ascontiguousarray(prior.mean + np.linalg.solve(lower.T, np.vstack(noise).T).T)


def _homes(model: TraceModel, habits: Habits, root: np.random.SeedSequence) -> NDArray[np.int32]:
    """Draw everybody's home from her own visit probabilities at the first instant of the day."""
    homes = np.empty(len(model.users), np.int32)
    weights = model.visit_users * model.slots[model.slot_of[0]]

    def work(block: int, first: int, stop: int) -> None:
        expected = np.maximum(weights[first:stop] @ model.visit_places.T, model.smallest)
        if habits.seen is not None:
            expected[:, ~habits.seen.visit_table()[model.slot_of[0]]] = model.smallest
        running = np.cumsum(expected, axis=1)
        targets = stream(root, block).random(stop - first) * running[:, -1]
        homes[first:stop] = np.minimum((running <= targets[:, None]).sum(axis=1), running.shape[1] - 1)

    run_blocks(work, block_ranges(len(homes), USERS_PER_BLOCK))
    return homes


def _home_weight(slots: int) -> NDArray[np.float64]:
    from_an_end = np.minimum(np.arange(slots), np.arange(slots)[::-1])
    return np.where(from_an_end < HOME_SLOTS, HOME_WEIGHT, 0.0)
