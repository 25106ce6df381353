"""The two ends of the scale: places at random, and the training traces themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import LARGEST_COUNT, require_fitted, require_whole
from tracearena.engine import SeedLike, generator
from tracearena.synthesis.days import traces_of_days, trainable
from tracearena.traces import Traces


@dataclass(kw_only=True)
class Uniform(Synthesizer):
    """Every place of every trace is drawn independently and uniformly.

    References
    ----------
    [ppmtf] section 4.4, "Uniform".

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 0, 1]], places, Clock(instants_per_day=3))
    >>> Uniform().fit(traces).synthesize(2, seed=1)
    <Traces: 1 users, 6 events, 2 places, instants 0 to 5>
    """

    name: ClassVar[str] = "Uniform"

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Learn only which users, places and instants there are."""
        trainable(self, traces)
        self.user_ids_, self.places_, self.clock_ = traces.user_ids, traces.places, traces.clock
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users."""
        require_fitted(self, "places_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        shape = (len(self.user_ids_), traces_per_user, self.clock_.instants_per_day)
        table = generator(seed).integers(0, len(self.places_), size=shape, dtype=np.int32)
        return traces_of_days(table, self.places_, self.clock_, self.user_ids_)


@dataclass(kw_only=True)
class Training(Synthesizer):
    """The training traces as they are: the best utility there is, and no privacy.

    References
    ----------
    [ppmtf] section 4.4, "Training".

    Notes
    -----
    Several traces a user are copies of the whole training trace one after another, whole days apart.
    """

    name: ClassVar[str] = "Training"

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Keep the traces."""
        self.traces_ = trainable(self, traces)
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return the training traces, `traces_per_user` times."""
        require_fitted(self, "traces_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        copies, known = traces_per_user, self.traces_
        days = int(known.clock.day_of(known.span[1] - 1)) + 1
        shift = np.repeat(np.arange(copies) * days * known.clock.instants_per_day, known.n_events)
        return Traces.from_events(
            np.tile(known.user_index, copies),
            np.tile(known.instants, copies) + shift,
            np.tile(known.place_index, copies),
            known.places,
            replace(known.clock, first_day=None),
            user_ids=np.arange(known.n_users),
            span=(known.span[0], known.span[1] + (copies - 1) * days * known.clock.instants_per_day),
        ).with_user_ids(known.user_ids)
