"""People who never lived (PPMTF+): nobody can be found again among them, so other questions are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record
from tracearena.audit.synthetic import Synthetic, assess_synthetic
from tracearena.audit.usefulness import kept_of
from tracearena.engine import child_seed
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis import PPMTF

SYNTHESIZER = "PPMTF(16,200,zeros=all,iterations=20)"
MOST_DAYS = 40
_TRAIN, _DRAW, _COMPARE = range(3)


@dataclass(frozen=True)
class VirtualPeople(Record):
    """A release of virtual people in the place of real ones.

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
        Copies of real people, and whether membership can be told: the model knows the people used for
        choosing defences; those used for the proof are strangers to it.
    """

    synthesizer: str
    people: int
    days: int
    kept: float
    tasks: dict[str, float]
    betrayed: Synthetic


def virtual_people(
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
    tasks = kept_of(real, made)
    return VirtualPeople(
        synthesizer=SYNTHESIZER,
        people=made.n_users,
        days=days,
        kept=float(np.mean(list(tasks.values()))) if tasks else 0.0,
        tasks=tasks,
        betrayed=assess_synthetic(real, made, others, settings, child_seed(root, _COMPARE)),
    )
