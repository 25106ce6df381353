"""Gibbs sampling: one iteration after the other, each in the order Ψ, A, B, C, D ([ppmtf] section 3.3).

Model. Each seen count r of a user n at a place i, and of a next place j or a slot l, is normal about the
product of factors, with precision α:

    transitions  r ~ N(Σ_k A_nk B_ik C_jk, 1/α)        visits  r ~ N(Σ_k A_nk B_ik D_lk, 1/α)

Rows of A are N(μ_A, Λ_A⁻¹), and Ψ = (μ, Λ) has a normal-Wishart prior; B, C and D likewise.

Conditionals. Ψ of a matrix depends on its rows alone (`Hyperprior.draw`). A row x of a matrix, given all
other matrices, is normal (`draw_rows`). With v the elementwise product of the two other rows of a seen cell:

    P = Λ + α Σ v vᵀ        P x̄ = Λ μ + α Σ r v        x ~ N(x̄, P⁻¹)

A cell of weight w, such as a zero cell where all zeros are weighed, counts w times in both sums: its
precision is αw.

`run_iteration` is one iteration. Rows of A depend on the user's own cells, B, C, D and Ψ, and on no other
row, so blocks of users can be held anywhere: by this process (`LocalUsers`), or by the workers of a cluster
(`distributed.RemoteUsers`). B, C and D need sums over all blocks (`RowStatistics`). `tensors` arranges the
cells, and `_gibbs_kernels` adds them up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import PairwiseSum, block_ranges, fold_blocks, run_blocks, stream, sum_blocks
from tracearena.io.ppmtf import Parameters
from tracearena.synthesis.ppmtf.tensors import USERS_PER_BLOCK, CellArrangement, Cells, LeanCells
from tracearena.traces import Traces

Matrix = NDArray[np.float64]
_ITERATION_STREAM, _USER_STREAM = 2, 3
_PRIORS, _PLACES, _TARGETS = range(3)


class UserBlocks(Protocol):
    """Blocks of users, wherever they are held.

    What one step of an iteration hands to the next is a value in this process, and a future of it in a
    cluster.
    """

    weight: float
    users_per_block: int

    def apply(self, step: Callable[..., Any], *given: Any) -> Any:
        """Take a step that needs no block."""

    def draw_users(self, begun: Any, psi: Any) -> Any:
        """Draw A, whose rows stay with the blocks, and return their sums (`UserSums`)."""

    def sum_targets(self, begun: Any, B: Any) -> Any:
        """Return what C and D need to know (`RowStatistics`), in one pass through the cells."""

    def run(self, iteration: Iteration) -> IterationResult:
        """Run an iteration, and return all that it draws but A."""

    def rows_of(self, iteration: Iteration) -> Matrix:
        """Return the A that an iteration draws."""


def run_iteration(blocks: UserBlocks, begun: Any) -> Any:
    """Run an iteration and return its result; `begun` holds B, C and D of the one before."""
    psi = blocks.apply(Iteration.draw_psi, begun)  # Ψ given A, B, C, D
    A = blocks.draw_users(begun, psi)  # A given Ψ, B, C, D
    B = blocks.apply(Iteration.draw_places, begun, psi, A)  # B given Ψ, A, C, D
    sums = blocks.sum_targets(begun, B)  # for C and D, which are independent given A and B
    C = blocks.apply(Iteration.draw_next_places, begun, psi, sums)  # C given Ψ, A, B
    D = blocks.apply(Iteration.draw_slots, begun, psi, sums)  # D given Ψ, A, B
    return blocks.apply(IterationResult.of, psi, A, B, C, D)


@dataclass(frozen=True, eq=False)
class Iteration:
    """What an iteration begins with, and the draws of Ψ, B, C and D.

    Attributes
    ----------
    number, root
        Draws depend on the number of the iteration, from 0 (the paper's t counts from 1), and on the seed of
        the chain.
    alpha
        Precision of the counts (α).
    hyperprior
        Prior of Ψ.
    user_moments
        Moments of the rows of A before it.
    places, next_places, slots
        B, C and D before it.
    """

    number: int
    root: np.random.SeedSequence
    alpha: float
    hyperprior: Hyperprior
    user_moments: Moments
    places: Matrix
    next_places: Matrix
    slots: Matrix

    def draw_psi(self) -> Psi:
        """Draw Ψ, given the rows of all matrices."""
        rng = stream(self.root, _ITERATION_STREAM, self.number, _PRIORS)
        return Psi(
            A=self.hyperprior.draw(self.user_moments, rng),
            B=self.hyperprior.draw(Moments.of(self.places), rng),
            C=self.hyperprior.draw(Moments.of(self.next_places), rng),
            D=self.hyperprior.draw(Moments.of(self.slots), rng),
        )

    def draw_places(self, psi: Psi, sums: UserSums) -> Matrix:
        """Draw B, given the sums of all blocks."""
        rng = stream(self.root, _ITERATION_STREAM, self.number, _PLACES)
        noise = rng.standard_normal(self.places.shape)
        places, _ = draw_rows(sums.place_statistics, self.alpha, psi.B, noise)
        return places

    def draw_next_places(self, psi: Psi, sums: RowStatistics) -> Matrix:
        """Draw C, given the sums of all blocks for the rows of C and then of D."""
        n = len(self.next_places)
        next_places, _ = draw_rows(sums.rows(slice(n)), self.alpha, psi.C, self._target_noise[:n])
        return next_places

    def draw_slots(self, psi: Psi, sums: RowStatistics) -> Matrix:
        """Draw D, given the same sums."""
        n = len(self.next_places)
        slots, _ = draw_rows(sums.rows(slice(n, None)), self.alpha, psi.D, self._target_noise[n:])
        return slots

    @property
    def _target_noise(self) -> Matrix:
        """The noise of the rows of C and then of D, which come from one stream."""
        rng = stream(self.root, _ITERATION_STREAM, self.number, _TARGETS)
        return rng.standard_normal(self.targets.shape)

    @cached_property
    def targets(self) -> Matrix:
        """C and D before it as one matrix: the targets of cells are next places and then slots."""
        return np.vstack([self.next_places, self.slots])

    def is_same(self, other: Iteration) -> bool:
        """Whether both draw the same."""
        return self.number == other.number and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("places", "next_places", "slots")
        )

    def next(self, drawn: IterationResult) -> Iteration:
        """Return the next iteration, given what this one has drawn."""
        return replace(
            self,
            number=self.number + 1,
            user_moments=drawn.user_moments,
            places=drawn.places,
            next_places=drawn.next_places,
            slots=drawn.slots,
        )


@dataclass(frozen=True, eq=False)
class IterationResult:
    """What an iteration has drawn, apart from A.

    Attributes
    ----------
    psi
        Ψ of A, B, C and D.
    places, next_places, slots
        B, C and D.
    user_moments
        Moments of the rows of A.
    squared_error
        Of the seen cells, with the new A and the B, C and D before.
    """

    psi: Psi
    places: Matrix
    next_places: Matrix
    slots: Matrix
    user_moments: Moments
    squared_error: float

    @classmethod
    def of(cls, psi: Psi, A: UserSums, B: Matrix, C: Matrix, D: Matrix) -> IterationResult:
        """Put together what was drawn, and the sums of the new A."""
        return cls(psi, B, C, D, A.user_moments, A.squared_error)


class LocalUsers:
    """Blocks of users in this process.

    Parameters
    ----------
    cells
        The cells, a block of users each.
    number
        Number of the first block.
    """

    def __init__(self, cells: Sequence[Cells], *, number: int = 0) -> None:
        self.cells = cells
        self.number = number

        def work(block: int, *_: int) -> tuple[int, float]:
            mine = cells[block]
            return mine.n_users, mine.weight

        each = run_blocks(work, block_ranges(len(cells), 1))
        self.weights = [weight for _, weight in each]
        ends = np.cumsum([size for size, _ in each]).tolist()
        self._ranges = list(zip([0, *ends[:-1]], ends, strict=True))
        self.users_per_block = int(ends[0])
        self.weight = sum(self.weights)
        self._latest: tuple[Iteration, Matrix] | None = None

    @classmethod
    def of(
        cls, parts: Sequence[Traces], arrangement: CellArrangement, *, number: int = 0, lean: bool = False
    ) -> LocalUsers:
        """Arrange the cells of some traces, whose first block has a number."""
        blocks = LeanCells(parts, arrangement, number)
        cells: Sequence[Cells] = blocks
        if not lean:
            cells = run_blocks(lambda block, *_: blocks[block], block_ranges(len(blocks), 1))
        return cls(cells, number=number)

    def __sizeof__(self) -> int:
        """Return the bytes that a scheduler would have to move."""
        if isinstance(self.cells, LeanCells):
            return sum(part.instants.nbytes + part.place_index.nbytes for part in self.cells.parts)
        return sum(block.nbytes for block in self.cells)

    def run(self, iteration: Iteration) -> IterationResult:
        """Run an iteration here."""
        result: IterationResult = run_iteration(self, iteration)
        return result

    def apply(self, step: Callable[..., Any], *given: Any) -> Any:
        """Take a step here."""
        return step(*given)

    def draw_users(self, begun: Iteration, psi: Psi) -> UserSums:
        """Draw the rows of these blocks."""
        return self.draw_user_blocks(begun, psi).total()

    def sum_targets(self, begun: Iteration, B: Matrix) -> RowStatistics:
        """Sum up what C and D need to know."""
        return self.sum_target_blocks(begun, B).total()

    def draw_user_blocks(self, begun: Iteration, psi: Psi) -> PairwiseSum[UserSums]:
        """Draw and keep the rows of these blocks, and sum up what B needs to know."""
        rows = np.empty((self._ranges[-1][1], begun.places.shape[1]))
        given = (begun.places, begun.targets, begun.alpha, psi.A)

        def work(block: int, first: int, stop: int) -> UserSums:
            cells = self.cells[block - self.number]
            rng = stream(begun.root, _USER_STREAM, begun.number, block)
            rows[first:stop], sums = draw_block(cells, *given, rng)
            return sums

        sums = sum_blocks(work, self._ranges, number=self.number)
        self._latest = begun, rows
        return sums

    def sum_target_blocks(self, begun: Iteration, places: Matrix) -> PairwiseSum[RowStatistics]:
        """Sum up what C and D need to know of these blocks, given the new A and B."""
        rows = self.rows_of(begun)

        def work(block: int, first: int, stop: int) -> RowStatistics:
            return sum_target_statistics(self.cells[block - self.number], rows[first:stop], places)

        return sum_blocks(work, self._ranges, number=self.number)

    def rows_of(self, iteration: Iteration) -> Matrix:
        """Return the rows that an iteration draws, those at hand or drawn again."""
        if self._latest is None or not self._latest[0].is_same(iteration):
            self.draw_user_blocks(iteration, iteration.draw_psi())
        assert self._latest is not None
        return self._latest[1]


@dataclass(frozen=True, eq=False)
class ChainState:
    """Where a chain is after a whole iteration.

    Attributes
    ----------
    factors
        All matrices, but A only at the start.
    drawn_by
        The iteration that drew the rows of A, if any has.
    """

    factors: Factors
    drawn_by: Iteration | None


class GibbsChain:
    """One Markov chain over (A, B, C, D).

    Parameters
    ----------
    users
        Who holds the cells and draws the rows of A.
    factors
        Where the chain starts.
    alpha
        Precision of the counts (α).
    hyperprior
        Prior of the factor matrices' means and precisions.
    root
        Seed of all draws; those of iteration t depend on nothing but root, t and the block.
    """

    def __init__(
        self,
        users: UserBlocks,
        factors: Factors,
        alpha: float,
        hyperprior: Hyperprior,
        root: np.random.SeedSequence,
    ) -> None:
        self.users = users
        self.alpha = alpha
        self.hyperprior = hyperprior
        self.root = root
        self.state = ChainState(factors, None)

        def work(block: int, first: int, stop: int) -> Moments:
            return Moments.of(factors.users[first:stop])

        self._user_moments = fold_blocks(work, block_ranges(len(factors.users), users.users_per_block))

    @property
    def factors(self) -> Factors:
        """The matrices after the last whole iteration."""
        return self.factors_of(self.state)

    def factors_of(self, state: ChainState) -> Factors:
        """Return the matrices of a state, the rows of A from who holds them."""
        if state.drawn_by is None:
            return state.factors
        return replace(state.factors, users=self.users.rows_of(state.drawn_by))

    def step(self, iteration: int) -> float:
        """Run one iteration, and return the mean squared error of the seen cells.

        The error is that of the new A with the B, C and D it was drawn with.
        """
        old = self.state.factors
        begun = Iteration(
            iteration,
            self.root,
            self.alpha,
            self.hyperprior,
            self._user_moments,
            old.places,
            old.next_places,
            old.slots,
        )
        drawn = self.users.run(begun)
        self._user_moments = drawn.user_moments
        nobody = old.users[:0].copy()
        factors = Factors(nobody, drawn.places, drawn.next_places, drawn.slots, drawn.psi)
        self.state = ChainState(factors, begun)
        return max(drawn.squared_error, 0.0) / max(self.users.weight, 1)


# The factor matrices, and the conditional distributions that Gibbs sampling draws them from.

Scatter = Literal["centred", "uncentred"]
_INITIAL_STREAM = 1


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean and precision of the rows of a factor matrix (Ψ of [ppmtf] section 3.3)."""

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]

    @property
    def shift(self) -> NDArray[np.float64]:
        """Precision times mean: the prior's part in the system whose solution is the mean of a row."""
        return self.precision @ self.mean


class Psi(NamedTuple):
    """Ψ: the mean and the precision of the rows of each factor matrix."""

    A: Gaussian
    B: Gaussian
    C: Gaussian
    D: Gaussian


@dataclass(eq=False)
class Factors:
    """The factor matrices after an iteration, and the Ψ they were drawn with.

    Attributes
    ----------
    users, places, next_places, slots
        A, B, C and D; rows × factors.
    psi
        (μ, Λ) of A, B, C and D.
    """

    users: Matrix
    places: Matrix
    next_places: Matrix
    slots: Matrix
    psi: Psi

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Factors:
        """Build from the files of the PPMTF tools; Ψ is standard normal if they have none."""
        z = parameters.n_factors
        psi = Psi(
            *(
                Gaussian(parameters.mu.get(name, np.zeros(z)), parameters.Lambda.get(name, np.eye(z)))
                for name in Psi._fields
            )
        )
        return cls(parameters.A, parameters.B, parameters.C, parameters.D, psi)

    def to_parameters(self) -> Parameters:
        """Return the matrices under the paper's letters."""
        drawn = self.psi._asdict()
        means = {name: each.mean for name, each in drawn.items()}
        precisions = {name: each.precision for name, each in drawn.items()}
        return Parameters(self.users, self.places, self.next_places, self.slots, means, precisions)

    @property
    def n_factors(self) -> int:
        """Number of columns (z)."""
        return int(self.users.shape[1])


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C and D from independent uniform numbers in [0, 1]; `rows` is the size of each."""
    users = np.empty((rows[0], factors))
    for block, (first, stop) in enumerate(block_ranges(rows[0], USERS_PER_BLOCK), start=1):
        stream(root, _INITIAL_STREAM, block).random(out=users[first:stop])
    rng = stream(root, _INITIAL_STREAM, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(users, places, next_places, slots, Psi(blank, blank, blank, blank))


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of rows, their sum, and the sum of their outer products: all that Ψ needs to know."""

    count: int
    total: NDArray[np.float64]
    outer: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Moments:
        """Sum over the rows of a factor matrix."""
        return cls(len(rows), rows.sum(axis=0), rows.T @ rows)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.count + other.count, self.total + other.total, self.outer + other.outer)


@dataclass(frozen=True)
class Hyperprior:
    """Normal-Wishart: Λ ~ Wishart(scale · I, nu), μ ~ Normal(mean, (beta Λ)⁻¹).

    Parameters
    ----------
    mean, beta, nu, scale
        μ0 (of every component), β0, ν0 (at least the number of factors), W0 = scale · identity.
    scatter
        "centred" is the exact conditional. "uncentred" leaves the mean in the scatter matrix, as
        the authors' program does; the draws of Λ are then smaller.
    """

    mean: float
    beta: float
    nu: float
    scale: float
    scatter: Scatter = "centred"

    def draw(self, rows: Moments, rng: np.random.Generator) -> Gaussian:
        """Draw (μ, Λ) given the rows of a factor matrix.

        References
        ----------
        R. Salakhutdinov and A. Mnih, Bayesian probabilistic matrix factorization using Markov chain
        Monte Carlo, ICML 2008, equation 14, with the scatter about the mean.
        """
        n, z = rows.count, len(rows.total)
        prior_mean = np.full(z, self.mean)
        average = rows.total / n if n else prior_mean
        scatter = rows.outer - (n * np.outer(average, average) if self.scatter == "centred" else 0)
        away = prior_mean - average
        inverse = np.eye(z) / self.scale + scatter + self.beta * n / (self.beta + n) * np.outer(away, away)
        precision = draw_wishart(np.asarray(np.linalg.inv(inverse), np.float64), self.nu + n, rng)
        centre = (self.beta * prior_mean + n * average) / (self.beta + n)
        lower = np.linalg.cholesky((self.beta + n) * precision)
        return Gaussian(centre + np.linalg.solve(lower.T, rng.standard_normal(z)), precision)


def draw_wishart(scale: NDArray[np.float64], degrees: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the Wishart distribution by Bartlett's decomposition."""
    z = len(scale)
    factor = np.tril(rng.standard_normal((z, z)), -1)
    factor[np.diag_indices(z)] = np.sqrt(rng.chisquare(degrees - np.arange(z)))
    root = np.linalg.cholesky((scale + scale.T) / 2) @ factor
    return np.asarray(root @ root.T)


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Sums over the cells that the conditional of each row of a factor matrix needs.

    Attributes
    ----------
    gram
        Σ v vᵀ for each row: rows × factors × factors.
    weighted
        Σ r v for each row: rows × factors.
    """

    gram: NDArray[np.float64]
    weighted: Matrix

    def rows(self, chosen: slice) -> RowStatistics:
        """Return what some rows need to know."""
        return RowStatistics(self.gram[chosen], self.weighted[chosen])

    def __add__(self, other: RowStatistics) -> RowStatistics:
        return RowStatistics(self.gram + other.gram, self.weighted + other.weighted)

    def __iadd__(self, other: RowStatistics) -> RowStatistics:
        np.add(self.gram, other.gram, out=self.gram)
        np.add(self.weighted, other.weighted, out=self.weighted)
        return self


def draw_rows(
    statistics: RowStatistics, alpha: float, prior: Gaussian, noise: Matrix
) -> tuple[Matrix, float]:
    """Draw every row from its normal conditional, by standard normal `noise` of the same shape.

    Also return Σ (xᵀ G x − 2 xᵀ h) over the rows, G and h the sums of a row: the squared residuals of the
    cells up to a constant.
    """
    from tracearena.synthesis.ppmtf import _gibbs_kernels

    rows = np.empty_like(statistics.weighted)
    gram, weighted = statistics.gram, statistics.weighted
    error = _gibbs_kernels.draw_rows(gram, weighted, alpha, prior.precision, prior.shift, noise, rows)
    return rows, float(error)


@dataclass(frozen=True, eq=False)
class UserSums:
    """Sums over the new rows of A of a block of users, or of all.

    Attributes
    ----------
    place_statistics
        Sums over the block's cells that B needs.
    user_moments
        Moments of the block's rows of A, which the next Ψ needs.
    squared_error
        Of the block's seen cells, with the new rows of A.
    """

    place_statistics: RowStatistics
    user_moments: Moments
    squared_error: float

    def __add__(self, other: UserSums) -> UserSums:
        return UserSums(
            self.place_statistics + other.place_statistics,
            self.user_moments + other.user_moments,
            self.squared_error + other.squared_error,
        )

    def __iadd__(self, other: UserSums) -> UserSums:
        statistics = self.place_statistics
        statistics += other.place_statistics
        return UserSums(
            statistics, self.user_moments + other.user_moments, self.squared_error + other.squared_error
        )


def draw_block(
    cells: Cells,
    places: Matrix,
    targets: Matrix,
    alpha: float,
    prior: Gaussian,
    rng: np.random.Generator,
) -> tuple[Matrix, UserSums]:
    """Draw the block's rows of A given B, C and D, and sum up what B needs to know."""
    from tracearena.synthesis.ppmtf._gibbs_kernels import add_weighted_products

    z = places.shape[1]
    mine = np.zeros((cells.n_users, z))
    add_weighted_products(places, targets, cells.place, cells.target, cells.user, cells.value, mine)
    own = RowStatistics(cells.user_gram(places, targets), mine)
    users, error = draw_rows(own, alpha, prior, rng.standard_normal(mine.shape))
    weighted = np.zeros_like(places)
    add_weighted_products(users, targets, cells.user, cells.target, cells.place, cells.value, weighted)
    statistics = RowStatistics(cells.place_gram(users, targets), weighted)
    return users, UserSums(statistics, Moments.of(users), error + cells.sum_of_squares)


def sum_target_statistics(cells: Cells, users: Matrix, places: Matrix) -> RowStatistics:
    """Sum up what C and D need to know of a block, given its rows of A and the new B."""
    from tracearena.synthesis.ppmtf._gibbs_kernels import add_weighted_products

    gram = cells.target_gram(users, places)
    weighted = np.zeros((len(gram), users.shape[1]))
    add_weighted_products(users, places, cells.user, cells.place, cells.target, cells.value, weighted)
    return RowStatistics(gram, weighted)
