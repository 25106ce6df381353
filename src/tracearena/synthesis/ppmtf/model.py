"""PPMTF: privacy-preserving multiple tensor factorization."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import (
    LARGEST_COUNT,
    require_choice,
    require_fitted,
    require_kind,
    require_number,
    require_switch,
    require_whole,
)
from tracearena.engine import SeedLike, one_library_thread, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.metrics import ClusterPopulations, cluster_populations
from tracearena.synthesis.baselines import build_day_traces, check_trainable
from tracearena.synthesis.ppmtf import model_io
from tracearena.synthesis.ppmtf.generation import (
    DayWalk,
    TraceModel,
    VirtualUsers,
    build_virtual_users,
    sample_virtual_model,
)
from tracearena.synthesis.ppmtf.gibbs import Factors, Scatter
from tracearena.synthesis.ppmtf.tensors import Zeros, default_zero_scales
from tracearena.synthesis.ppmtf.training import Convergence, TrainingFrame, build_starting_factors, train
from tracearena.traces import Clock, Places, Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.distributed import PartitionedTraces


_AT_LEAST_1 = (
    "factors",
    "iterations",
    "kept_transitions",
    "kept_visits",
    "largest_transition",
    "largest_visit",
)
MOST = {"factors": 4_096, "iterations": 1_000_000}
_LARGEST_PRIOR = 1e12


@dataclass(kw_only=True)
class PPMTF(Synthesizer):
    """Factorise transition and visit counts of all users, and draw new traces from the factors.

    Counts of transitions (user × place × next place) and of visits (user × place × slot) are
    factorised together, sharing the factors of users and places; the factors are drawn from their
    posterior by Gibbs sampling. A synthetic trace of a user is a Markov chain through the day whose
    distribution in each slot is the user's reconstructed visit distribution.

    Parameters
    ----------
    factors
        Number of factors z, from 1 to 4,096.
    alpha
        Precision of the counts, above 0. A lower value is more private and fits the data less; 200 is good
        for people flow.
    iterations
        Gibbs iterations, at most 1,000,000; the last state is the model.
    kept_transitions, kept_visits
        Number of positive cells kept per user, chosen at random (λ).
    largest_transition, largest_visit
        Counts are cut to this (r_max).
    zero_transitions, zero_visits
        Zero cells drawn for each user (ρ); all other zero cells are treated as unknown.
    zeros
        "sampled" is the method of the paper, as above. "all" uses all zero cells. Those of a user and tensor
        have the total weight of ρ cells times `transition_zeros` or `visit_zeros`. Nothing is drawn, and only
        positive cells take time.
    transition_zeros, visit_zeros
        Weight of all zeros in multiples of the ρ sampled ones, above 0; only for ``zeros="all"``. By default
        32 and 0.5 for regular traces, where most events are followed by a transition, and 2 and 1 for sparse
        traces such as check-ins.
    mean0, beta0, nu0, scale0
        Hyperprior: μ0 of every component, β0, ν0 (None: the number of factors), W0 = scale0 · I.
    smallest
        Smaller reconstructed counts are raised to this (φ), so that every place can be reached.
    shared_factors
        Whether both tensors share the factors of users and places; False factorises them separately.
    scatter
        "centred": exact conditional of the hyperparameters; "uncentred": that of the authors' program.

    Attributes
    ----------
    transition_factors_, visit_factors_
        Trained factors; one object if shared.
    error_
        Root mean squared error of the observed cells at each iteration.
    iteration_
        Iterations done.
    user_ids_, places_, clock_
        Users, places and clock of the rows of the factors.
    seen_
        Transitions and visits that occur in the training traces.

    References
    ----------
    T. Murakami, K. Hamada, Y. Kawamoto and T. Hatano, Privacy-preserving multiple tensor
    factorization for synthesizing large-scale location traces with cluster-specific features,
    PoPETs 2021 [ppmtf].

    Notes
    -----
    Details that the paper does not specify follow the published program, except for `scatter`.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2])
    >>> clock = Clock(instants_per_day=6, instants_per_slot=3)
    >>> traces = Traces.from_dense([[0, 0, 1, 1, 2, 2], [2, 2, 1, 1, 0, 0]] * 10, places, clock)
    >>> model = PPMTF(factors=2, iterations=20).fit(traces, seed=1)
    >>> model.synthesize(traces_per_user=3, seed=2)
    <Traces: 20 users, 360 events, 3 places, instants 0 to 17>
    """

    name: ClassVar[str] = "PPMTF"

    factors: int = 16
    alpha: float = 200
    iterations: int = 100
    kept_transitions: int = 100
    kept_visits: int = 100
    largest_transition: int = 10
    largest_visit: int = 10
    zero_transitions: int = 1000
    zero_visits: int = 1000
    mean0: float = 0.0
    beta0: float = 2.0
    nu0: float | None = None
    scale0: float = 1.0
    smallest: float = 1e-8
    shared_factors: bool = True
    scatter: Scatter = "centred"
    zeros: Zeros = "sampled"
    transition_zeros: float | None = None
    visit_zeros: float | None = None

    def __post_init__(self) -> None:
        for name in _AT_LEAST_1:
            most = MOST.get(name, LARGEST_COUNT)
            require_whole(name, getattr(self, name), at_least=1, at_most=most)
        for name in ("zero_transitions", "zero_visits"):
            require_whole(name, getattr(self, name), at_least=0, at_most=LARGEST_COUNT)
        for name in ("alpha", "beta0", "scale0", "smallest", "transition_zeros", "visit_zeros"):
            value = getattr(self, name)
            if value is not None or name not in ("transition_zeros", "visit_zeros"):
                require_number(name, value, above=0, at_most=_LARGEST_PRIOR)
        if self.nu0 is not None:
            require_number("nu0", self.nu0, at_least=self.factors, at_most=_LARGEST_PRIOR)
        require_number("mean0", self.mean0, at_least=-_LARGEST_PRIOR, at_most=_LARGEST_PRIOR)
        require_switch("shared_factors", self.shared_factors)
        require_choice("scatter", self.scatter, get_args(Scatter))
        require_choice("zeros", self.zeros, get_args(Zeros))
        if self.zeros == "sampled" and (self.transition_zeros, self.visit_zeros) != (None, None):
            raise ParameterError("transition_zeros and visit_zeros are only allowed with zeros='all'")

    def fit(
        self,
        traces: Traces | PartitionedTraces,
        *,
        seed: SeedLike = None,
        lean: bool = False,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Train on the traces.

        Parameters
        ----------
        traces
            Training traces; users without events are kept, and look like the average user. In a
            cluster (`engine.use`) also a folder of files that its workers read (`PartitionedTraces`);
            the workers then keep the users and draw their rows, with the same result.
        seed
            Seed of all random numbers. If training resumes from a checkpoint, the seed of the checkpoint is
            used. None uses the secret random source of the system, which is stored nowhere; training that
            resumes then draws new random numbers.
        lean
            Compute cells again from the traces whenever they are needed, instead of storing them: less
            memory, more time, and the same result.
        checkpoint
            A model file, written every 10 iterations, at the end, and when training is interrupted. If it
            exists, training resumes from it; with a seed, the result is the same as without the interruption.
        """
        frame = self._set_frame(traces)
        if checkpoint is not None and Path(checkpoint).exists():
            model_io.resume(self, checkpoint, self._fingerprint, seed)
        else:
            self._root = seed_sequence(seed)
            self.error_: list[float] = []
            self.iteration_ = 0
            self._set_factors(build_starting_factors(self))
        if self.iteration_ < self.iterations:
            with one_library_thread():
                scales = default_zero_scales(frame.mostly_moves)
                train(self, traces, scales, lean=lean, checkpoint=checkpoint)
        if checkpoint is not None:
            self.save(checkpoint)
        return self

    def _set_frame(self, traces: Traces | PartitionedTraces) -> TrainingFrame:
        if not isinstance(traces, Traces):
            from tracearena.synthesis.ppmtf.distributed import PartitionedTraces

            require_kind(self, traces, Traces, PartitionedTraces)
        frame = (
            TrainingFrame.of(check_trainable(self, traces)) if isinstance(traces, Traces) else traces.frame
        )
        self.user_ids_ = frame.user_ids
        self.places_: Places = frame.places
        self.clock_: Clock = frame.clock
        self.seen_ = frame.seen
        self._fingerprint = frame.fingerprint()
        return frame

    def _set_factors(self, factors: list[Factors]) -> None:
        self.transition_factors_ = factors[0]
        self.visit_factors_ = factors[-1]

    @property
    def trace_model_(self) -> TraceModel:
        """The model that draws traces and computes their likelihoods."""
        require_fitted(self, "transition_factors_")
        moves, visits = self.transition_factors_, self.visit_factors_
        return TraceModel(
            users=moves.users,
            places=moves.places,
            next_places=moves.next_places,
            visit_users=visits.users,
            visit_places=visits.places,
            slots=visits.slots,
            slot_of=self.clock_.slot_of(np.arange(self.clock_.instants_per_day)),
            smallest=self.smallest,
            slots_of_days=self.clock_.slots_of_days(),
        )

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``.

        Every trace covers all instants of a day.
        """
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        table = self.trace_model_.draw(traces_per_user, seed_sequence(seed))
        return build_day_traces(table, self.places_, self.clock_, self.user_ids_)

    def virtual_users(
        self,
        n: int,
        *,
        homes: bool = False,
        only_seen: bool = False,
        walk: DayWalk | None = None,
        seed: SeedLike = None,
    ) -> VirtualUsers:
        """Draw virtual users (PPMTF+).

        Parameters
        ----------
        n
            Number of virtual users, at least 1.
        homes
            Give each user a home, drawn from the user's visit distribution at the first instant of the day.
            In the first two and last two slots of the day, the home has a probability of at least 20/21 in
            the visit distribution, which the walk approaches.
        only_seen
            Give transitions and visits that do not occur in training the smallest count (φ), as the contest's
            generator does. The training traces then exclude moves that the factors would allow, which fits
            the data better and is less private.
        walk
            A day that differs from the learned one: additional hours before it, home time in instants instead
            of slots, and a pace. With the same seed, its random numbers differ from those of the learned day.
        seed
            Another seed gives other users.

        References
        ----------
        [contest] appendices A and D.

        Notes
        -----
        Feature vectors are drawn from the normal distribution (μ_A, Λ_A) of the last iteration. With
        ``shared_factors=False`` there are two distributions, and a virtual user has two independent vectors.
        """
        model = self.trace_model_
        if (homes or walk is not None) and self.clock_.slots is not None:
            raise ParameterError(
                "homes need slots of equal length, because people are at home in the first and last slot"
            )
        priors = self.transition_factors_.psi.A, self.visit_factors_.psi.A
        seen = self.seen_ if only_seen else None
        root, interval_s = seed_sequence(seed), self.clock_.interval_s
        drawn = sample_virtual_model(model, priors, n, root)
        return build_virtual_users(drawn, root, interval_s=interval_s, homes=homes, seen=seen, walk=walk)

    def sample_users(
        self, n: int, days: int = 1, *, homes: bool = False, only_seen: bool = False, seed: SeedLike = None
    ) -> Traces:
        """Return whole days of n virtual users, numbered from 1 (see `virtual_users`)."""
        require_whole("days", days, at_least=1, at_most=LARGEST_COUNT)
        users = self.virtual_users(n, homes=homes, only_seen=only_seen, seed=seed)
        table = users.draw(days)
        return build_day_traces(table, self.places_, self.clock_, np.arange(1, n + 1))

    def log_likelihoods(self, traces: Traces) -> NDArray[np.float64]:
        """Return the running log-likelihood of each event, from the start of its day.

        Parameters
        ----------
        traces
            Complete traces of whole days, such as those from `synthesize`. The traces of a user are evaluated
            under the model of the training user with that id.

        Returns
        -------
        NDArray
            One value per event; the last of a day is the log-likelihood of the trace.
        """
        table, users = self.days_of(traces)
        found = np.empty(table.shape)
        for model, rows in self.trace_model_.split_by_day_kind(self.day_numbers(traces)):
            found[rows] = model.log_likelihoods(table[rows], users[rows])
        return found.ravel()

    def day_numbers(self, traces: Traces) -> NDArray[np.int64]:
        """Return the number of each whole day, in the order of `days_of`."""
        return traces.clock.day_of(traces.instants)[:: self.clock_.instants_per_day]

    def days_of(self, traces: Traces) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the places of each day (days × instants), and the training user of each day."""
        require_fitted(self, "transition_factors_")
        require_kind(self, traces, Traces)
        known = {user: row for row, user in enumerate(self.user_ids_.tolist())}
        unknown = [user for user in traces.user_ids.tolist() if user not in known]
        if unknown:
            raise DataError(f"user {unknown[0]!r} is not one of the {len(known)} users of the model")
        length = self.clock_.instants_per_day
        if len(traces.places) != len(self.places_):
            raise DataError(
                f"the traces have {len(traces.places)} places, but the model has {len(self.places_)}"
            )
        if traces.n_events % length or not traces.is_regular:
            raise DataError(f"log-likelihoods need whole days of {length} events each")
        day = traces.clock.day_of(traces.instants).reshape(-1, length)
        owner = traces.user_index.reshape(-1, length)
        if (
            traces.clock.instants_per_day != length
            or (day != day[:, :1]).any()
            or (owner != owner[:, :1]).any()
        ):
            raise DataError(f"log-likelihoods need whole days of {length} events each")
        users = np.array([known[user] for user in traces.user_ids.tolist()], np.int64)
        return traces.place_index.reshape(-1, length), users[owner[:, 0]]

    def convergence(self) -> Convergence:
        """Return whether the error has converged."""
        require_fitted(self, "error_")
        return Convergence.of(self.error_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, finished or not, to one file (`.npz`)."""
        require_fitted(self, "transition_factors_")
        model_io.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PPMTF:
        """Read a model that `save` wrote."""
        return model_io.load(path)

    def export_parameters(self, folder: str | PathLike[str]) -> None:
        """Write the factors as the PPMTF tools' files ``modelparameter_Itr<t>_*.csv`` (6 decimals)."""
        model_io.export_parameters(self, folder)

    @classmethod
    def import_parameters(
        cls,
        folder: str | PathLike[str],
        training: Traces | PartitionedTraces,
        *,
        iteration: int = 100,
        **parameters: Any,
    ) -> PPMTF:
        """Read the PPMTF tools' files into a model.

        Parameters
        ----------
        folder
            Where ``modelparameter_Itr<t>_*.csv`` are.
        training
            The training traces, which define the users, places and clock of the rows.
        iteration
            Iteration of the files.
        **parameters
            Parameters of the training that matter later (such as ``alpha``). The number of factors follows
            from the files; another number is an error.
        """
        return model_io.import_parameters(folder, training, iteration, parameters)


# What the columns of the factors stand for: clusters of users, and where and when they are.


@dataclass(frozen=True, eq=False)
class ClusterFeatures:
    """Clusters of a model; cluster c belongs to column c of the factor matrices.

    Attributes
    ----------
    populations
        Users of each cluster, and their distributions over places in training and in synthetic traces.
    everybody
        Distribution of all training events over places.
    places, next_places, slots
        Clusters × places, places and slots: the columns of B, C and D with a square sum of 1.
    """

    populations: ClusterPopulations
    everybody: NDArray[np.float64]
    places: NDArray[np.float64]
    next_places: NDArray[np.float64]
    slots: NDArray[np.float64]

    def most_distinct(self, count: int) -> NDArray[np.int64]:
        """Return the clusters whose training users differ most from everybody, the most different first."""
        distance = np.abs(self.populations.training - self.everybody).sum(axis=1)
        return np.argsort(-distance, kind="stable")[:count]

    def names(self, places: Places, count: int = 2) -> list[str]:
        """Name each cluster by the categories in which its training users are more often than everybody.

        Parameters
        ----------
        places
            Of the training traces, with categories; the part of a category before the first slash counts.
        count
            At most this many categories, those with the largest difference first, at least 1.

        References
        ----------
        [ppmtf] Figure 12, which names two clusters by looking at their places.
        """
        require_whole("count", count, at_least=1)
        if places.categories is None:
            raise DataError("clusters are named by the categories of their places, which have none")
        kinds, of = np.unique(
            [str(name).partition("/")[0] for name in places.categories], return_inverse=True
        )
        more = (self.populations.training - self.everybody) @ np.eye(len(kinds))[of]
        order = np.argsort(-more, axis=1, kind="stable")[:, :count]
        return [
            ", ".join(str(kinds[kind]) for kind in row if excess[kind] > 0)
            for row, excess in zip(order, more, strict=True)
        ]


def cluster_features(
    model: PPMTF, training: Traces, synthetic: Traces, *, share: float = 0.1
) -> ClusterFeatures:
    """Return the clusters of a model, with their users, places and times.

    Parameters
    ----------
    model
        Trained on the training traces, with shared factors.
    training, synthetic
        Traces of the training users, and traces made from them under their ids; users whose traces
        are not released may have no events.
    share
        Share of the users that form a cluster, those with the largest values in a column of A.

    References
    ----------
    [ppmtf] section 4.3 (d).

    Notes
    -----
    Changing the sign of a column in B, C and D together changes no reconstructed count. Here it is
    chosen so that the column of D has a sum of at least 0: a large value in B is then a place where
    the cluster is often.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> training = Traces.from_dense([[0, 0, 0], [1, 1, 1]] * 10, places, clock)
    >>> model = PPMTF(factors=2, iterations=5).fit(training, seed=1)
    >>> found = cluster_features(model, training, model.synthesize(seed=2))
    >>> found.places.shape, found.slots.shape, found.populations.users.shape
    ((2, 2), (2, 3), (2, 2))
    """
    if not model.shared_factors:
        raise ParameterError(
            "clusters need shared factors: without them the columns of C and D do not correspond"
        )
    factors = model.trace_model_
    populations = cluster_populations(factors.users, training, synthetic, share=share)
    visits = np.bincount(training.place_index, minlength=len(training.places))
    sign = np.where(factors.slots.sum(axis=0) < 0, -1.0, 1.0)
    matrices = [sign * matrix for matrix in (factors.places, factors.next_places, factors.slots)]
    columns = [(matrix / np.sqrt((matrix**2).sum(axis=0, keepdims=True))).T for matrix in matrices]
    return ClusterFeatures(populations, visits / max(visits.sum(), 1), *columns)
