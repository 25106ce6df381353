"""Training: the run through the iterations, its checkpoints, and whether its error has settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.engine import child_seed, current_cluster, report
from tracearena.errors import ParameterError
from tracearena.synthesis.ppmtf.arrangement import Arrangement, CellRules
from tracearena.synthesis.ppmtf.conditionals import Factors, Hyperprior, initial_factors
from tracearena.synthesis.ppmtf.gibbs import ChainState, GibbsChain, LocalUsers, UserBlocks
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.distributed import PartitionedTraces
    from tracearena.synthesis.ppmtf.model import PPMTF

CHECKPOINT_EVERY = 10
SETTLED_BELOW = 0.01
FEWEST = 20


def starting_factors(model: PPMTF) -> list[Factors]:
    """Return where the chains of a model start: one, or two if the tensors are factorised apart."""
    users, places, slots = len(model.user_ids_), len(model.places_), model.clock_.slots_per_day
    shapes = [(users, places, places, slots)]
    if not model.shared_factors:
        shapes = [(users, places, places, 0), (users, places, 0, slots)]
    return [
        initial_factors(shape, model.factors, child_seed(model._root, number))
        for number, shape in enumerate(shapes)
    ]


def train(
    model: PPMTF,
    traces: Traces | PartitionedTraces,
    scales: tuple[float, float],
    *,
    lean: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    cells_root: np.random.SeedSequence | None = None,
    watch: Callable[[Sequence[Factors]], None] | None = None,
) -> None:
    """Run the iterations that a model still lacks, from the factors it has.

    Parameters
    ----------
    model
        With the frame of the traces, a seed, and factors to start from.
    scales
        What all zeros of each tensor weigh, unless the model says it.
    lean, checkpoint
        As in `PPMTF.fit`.
    cells_root
        Seed of the cells that are kept and drawn, if chains are to share them; that of the model otherwise.
    watch
        Is called with the factors after each iteration.
    """
    numbers = range(1 if model.shared_factors else 2)
    chains = [_chain(model, traces, scales, number, lean, cells_root) for number in numbers]
    state = TrainingState(model.iteration_, tuple(model.error_), [chain.state for chain in chains])
    try:
        while state.iterations < model.iterations:
            state = state.next(chains)
            report(state.iterations, model.iterations)
            if watch is not None:
                watch([chain.factors for chain in chains])
            if checkpoint is not None and state.iterations % CHECKPOINT_EVERY == 0:
                state.put_into(model, chains)
                model.save(checkpoint)
    except KeyboardInterrupt:
        state.put_into(model, chains)
        if checkpoint is not None:
            model.save(checkpoint)
        raise
    state.put_into(model, chains)


@dataclass(frozen=True, eq=False)
class TrainingState:
    """How far training is: iterations, their errors, and where the chains are."""

    iterations: int
    errors: tuple[float, ...]
    states: list[ChainState]

    def next(self, chains: list[GibbsChain]) -> TrainingState:
        """Run an iteration of every chain."""
        errors = [chain.step(self.iterations) for chain in chains]
        weights = [chain.users.weight for chain in chains]
        error = float(np.sqrt(np.dot(errors, weights) / sum(weights)))
        return TrainingState(self.iterations + 1, (*self.errors, error), [chain.state for chain in chains])

    def put_into(self, model: PPMTF, chains: list[GibbsChain]) -> None:
        """Make this the state of a model; a chain itself may be in the middle of the next iteration."""
        states = zip(chains, self.states, strict=True)
        model._set_factors([chain.factors_of(state) for chain, state in states])
        model.iteration_, model.error_ = self.iterations, list(self.errors)


def _chain(
    model: PPMTF,
    traces: Traces | PartitionedTraces,
    usual: tuple[float, float],
    number: int,
    lean: bool,
    cells_root: np.random.SeedSequence | None,
) -> GibbsChain:
    root = child_seed(model._root, number)
    arrangement = Arrangement(
        root if cells_root is None else child_seed(cells_root, number),
        rules=(
            CellRules(model.kept_transitions, model.largest_transition, model.zero_transitions),
            CellRules(model.kept_visits, model.largest_visit, model.zero_visits),
        ),
        zeros=model.zeros,
        scales=(model.transition_zeros or usual[0], model.visit_zeros or usual[1]),
        tensors=(model.shared_factors or number == 0, model.shared_factors or number == 1),
    )
    users: UserBlocks
    cluster = current_cluster()
    if cluster is not None:
        from tracearena.synthesis.ppmtf.distributed import RemoteUsers

        users = RemoteUsers(cluster, traces, arrangement, lean=lean, iterations=model.iterations)
    elif not isinstance(traces, Traces):
        raise ParameterError("traces in files that workers read are trained in their cluster")
    else:
        users = LocalUsers.of([traces], arrangement, lean=lean)
    nu = model.factors if model.nu0 is None else model.nu0
    hyperprior = Hyperprior(model.mean0, model.beta0, nu, model.scale0, model.scatter)
    start = model.visit_factors_ if number else model.transition_factors_
    return GibbsChain(users, start, model.alpha, hyperprior, root)


@dataclass(frozen=True)
class Convergence:
    """How the error of the seen cells moved at the end of training.

    Attributes
    ----------
    iterations
        Iterations done.
    error
        Mean root mean squared error over the last quarter of them.
    drift
        Relative change of that mean from the third quarter to the last; near 0 when settled.
    settled
        Whether the drift is below 1 % in size, after at least 20 iterations.
    """

    iterations: int
    error: float
    drift: float
    settled: bool

    @classmethod
    def of(cls, errors: Sequence[float]) -> Convergence:
        """Judge the errors of all iterations; fewer than 20 are never settled.

        >>> Convergence.of([1.0] * 50 + [0.5] * 50)
        Convergence(iterations=100, error=0.5, drift=0.0, settled=True)
        """
        n = len(errors)
        quarter = max(n // 4, 1)
        last = float(np.mean(errors[-quarter:])) if n else float("nan")
        before = float(np.mean(errors[-2 * quarter : -quarter])) if n > quarter else float("nan")
        drift = last / before - 1 if before > 0 else 0.0 if before == last else float("nan")
        return cls(n, last, drift, n >= FEWEST and abs(drift) < SETTLED_BELOW)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; null for what is not known yet."""
        values = asdict(self)
        return {key: None if value != value else value for key, value in values.items()}
