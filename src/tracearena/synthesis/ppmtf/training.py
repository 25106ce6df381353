"""Training: the run through the iterations, its checkpoints, and whether its error has settled."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import child_seed, current_cluster, report
from tracearena.errors import DataError, ParameterError
from tracearena.files import digest_values
from tracearena.mobility.transitions import departures
from tracearena.synthesis.ppmtf.gibbs import (
    ChainState,
    Factors,
    GibbsChain,
    Hyperprior,
    LocalUsers,
    UserBlocks,
    initial_factors,
)
from tracearena.synthesis.ppmtf.tensors import CellArrangement, CellRules
from tracearena.traces import Clock, Places, Traces
from tracearena.traces._arrays import unique_values

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.distributed import PartitionedTraces
    from tracearena.synthesis.ppmtf.model import PPMTF


CHECKPOINT_EVERY = 10
SETTLED_BELOW = 0.01
FEWEST = 20


def build_starting_factors(model: PPMTF) -> list[Factors]:
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
    chains = [_build_chain(model, traces, scales, number, lean, cells_root) for number in numbers]
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


def _build_chain(
    model: PPMTF,
    traces: Traces | PartitionedTraces,
    usual: tuple[float, float],
    number: int,
    lean: bool,
    cells_root: np.random.SeedSequence | None,
) -> GibbsChain:
    root = child_seed(model._root, number)
    arrangement = CellArrangement(
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
        raise ParameterError("a model of traces that workers read must be trained on their cluster")
    else:
        users = LocalUsers.of([traces], arrangement, lean=lean)
    nu = model.factors if model.nu0 is None else model.nu0
    hyperprior = Hyperprior(model.mean0, model.beta0, nu, model.scale0, model.scatter)
    start = model.visit_factors_ if number else model.transition_factors_
    return GibbsChain(users, start, model.alpha, hyperprior, root)


@dataclass(frozen=True)
class Convergence:
    """Convergence of the error of the observed cells at the end of training.

    Attributes
    ----------
    iterations
        Iterations done.
    error
        Mean root mean squared error over the last quarter of them.
    drift
        Relative change of that mean from the third quarter to the last; near 0 after convergence.
    settled
        Whether the drift is below 1 % in size, after at least 20 iterations.
    """

    iterations: int
    error: float
    drift: float
    settled: bool

    @classmethod
    def of(cls, errors: Sequence[float]) -> Convergence:
        """Evaluate the errors of all iterations; with fewer than 20, training has never converged.

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
        return {key: None if value != value else value for key, value in asdict(self).items()}


# What a model remembers of its training traces: all it needs to know that is not about single users.

USERS_PER_DIGEST = 1024
"""A multiple of the users of every kind of block, so that neither digests nor blocks cross files."""

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class TrainingFrame:
    """The frame of some training traces, as a whole or of a range of users.

    Attributes
    ----------
    user_ids, places, clock
        What rows of the factors mean.
    n_events, n_transitions
        How many there are.
    seen
        Transitions and visits that anybody made.
    digests
        A hash of the events of every 1,024 users.
    """

    user_ids: NDArray[Any]
    places: Places
    clock: Clock
    n_events: int
    n_transitions: int
    seen: SeenCells
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, traces: Traces) -> TrainingFrame:
        """Summarise traces that are all here."""
        clock, digests = traces.clock, []
        shift = 0 if clock.first_day is None else (clock.first_day - _EPOCH).days * clock.instants_per_day
        for first in range(0, traces.n_users, USERS_PER_DIGEST):
            part = traces.take_users(slice(first, first + USERS_PER_DIGEST))
            digest = digest_values(part.offsets, part.instants + np.int64(shift), part.place_index)
            digests.append(bytes.fromhex(digest))
        return cls(
            traces.user_ids,
            traces.places,
            traces.clock,
            traces.n_events,
            len(departures(traces)),
            SeenCells.of(traces),
            tuple(digests),
        )

    @classmethod
    def join_parts(cls, parts: Sequence[TrainingFrame]) -> TrainingFrame:
        """Put together ranges of users that follow each other; the first day of all is the earliest."""
        first = parts[0]
        if any(replace(part.clock, first_day=first.clock.first_day) != first.clock for part in parts):
            raise DataError("the files have different intervals between times: set one with --interval")
        days = [part.clock.first_day for part in parts if part.clock.first_day is not None]
        return cls(
            np.concatenate([part.user_ids for part in parts]),
            first.places,
            replace(first.clock, first_day=min(days, default=None)),
            sum(part.n_events for part in parts),
            sum(part.n_transitions for part in parts),
            SeenCells.join_parts([part.seen for part in parts]),
            tuple(digest for part in parts for digest in part.digests),
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def mostly_moves(self) -> bool:
        """Whether most events are followed by a transition, as in traces with an event every instant."""
        return 2 * self.n_transitions > self.n_events

    def fingerprint(self) -> str:
        """Return a short hash of the events, to tell training data apart."""
        clock = [self.clock.instants_per_day, self.clock.instants_per_slot, self.clock.interval_s]
        clock += self.clock.slots or ()
        return digest_values(*self.digests, json.dumps([len(self.places), *clock]))[:32]


@dataclass(frozen=True, eq=False)
class SeenCells:
    """The pairs (place, next place) and (place, slot) that occur in the training traces.

    Attributes
    ----------
    n_places, n_slots
        Number of places and of slots of a day.
    moves, visits
        Ascending keys place · n_places + next place, and place · n_slots + slot.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=4, instants_per_slot=2)
    >>> seen = SeenCells.of(Traces.from_dense([[0, 0, 2, 2]], Places([0] * 3, range(3)), clock))
    >>> seen.moves.tolist(), seen.visits.tolist()
    ([0, 2, 8], [0, 5])
    """

    n_places: int
    n_slots: int
    moves: NDArray[np.int64]
    visits: NDArray[np.int64]

    @classmethod
    def of(cls, traces: Traces) -> SeenCells:
        """Collect the pairs of the traces, before counts are cut."""
        n, slots = len(traces.places), traces.clock.slots_per_day
        start, place = departures(traces), traces.place_index.astype(np.int64)
        slot = traces.clock.slot_of(traces.instants)
        moves = unique_values(place[start] * n + place[start + 1])
        return cls(n, slots, moves, unique_values(place * slots + slot))

    @classmethod
    def join_parts(cls, parts: Sequence[SeenCells]) -> SeenCells:
        """Join the pairs of several groups of users."""
        moves = unique_values(np.concatenate([part.moves for part in parts]))
        visits = unique_values(np.concatenate([part.visits for part in parts]))
        return cls(parts[0].n_places, parts[0].n_slots, moves, visits)

    @classmethod
    def from_arrays(cls, n_places: int, n_slots: int, moves: NDArray[Any], visits: NDArray[Any]) -> SeenCells:
        """Build from arrays of unknown origin."""
        for name, keys, end in (("moves", moves, n_places**2), ("visits", visits, n_places * n_slots)):
            rising = keys.ndim == 1 and keys.dtype == np.int64 and (np.diff(keys) > 0).all()
            if not rising or (len(keys) and not 0 <= keys[0] <= keys[-1] < end):
                raise DataError(f"the seen {name} are not ascending numbers below {end}")
        return cls(n_places, n_slots, moves, visits)

    def with_slots(self, origin: NDArray[np.int64]) -> SeenCells:
        """Return the cells for other slots, where slot ``s`` corresponds to slot ``origin[s]`` here."""
        table = self.visit_table()[origin]
        place, slot = np.nonzero(table.T)
        return SeenCells(self.n_places, len(origin), self.moves, place * np.int64(len(origin)) + slot)

    def next_places(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return offsets and next places: the places that occur after place ``i``, ascending."""
        place, target = np.divmod(self.moves, max(self.n_places, 1))
        offsets = np.searchsorted(place, np.arange(self.n_places + 1))
        return offsets.astype(np.int64), target.astype(np.int32)

    def visit_table(self) -> NDArray[np.bool_]:
        """Return slots × places: whether any visit occurs."""
        table = np.zeros(self.n_places * self.n_slots, np.bool_)
        table[self.visits] = True
        return np.ascontiguousarray(table.reshape(self.n_places, self.n_slots).T)
