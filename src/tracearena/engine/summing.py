"""Sums of numbered pieces that do not depend on who added what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from tracearena.engine.blocks import Shared, in_order, numbered
from tracearena.engine.surroundings import current_cluster, thread_count
from tracearena.errors import ParameterError


class Summable(Protocol):
    """Anything that can be added to its like."""

    def __add__(self, other: Any, /) -> Any:
        """Return the sum."""


S = TypeVar("S", bound=Summable)


class Node(NamedTuple, Generic[S]):
    """The sum of pieces ``first`` up to but not including ``first + size``."""

    first: int
    size: int
    value: S


class PairwiseSum(Generic[S]):
    """Adds pieces pairwise, in a tree that the numbers of the pieces alone decide.

    Floating-point sums depend on the order of the additions. Here pieces 2i and 2i + 1 make a pair,
    two neighbouring pairs make four, and so on; so any range of pieces can be added anywhere, by a
    thread or by another machine, and joined later with the same bits. At most about log₂ n sums are
    held at a time.

    Parameters
    ----------
    nodes
        Sums to start with, in ascending order; they are not changed.

    Examples
    --------
    >>> here, there = PairwiseSum(), PairwiseSum()
    >>> for number, value in enumerate([0.1, 0.2, 0.3, 0.4]):
    ...     (here if number < 3 else there).add(number, value)
    >>> [(node.first, node.size) for node in here.nodes]
    [(0, 2), (2, 1)]
    >>> PairwiseSum([*here.nodes, *there.nodes]).total() == (0.1 + 0.2) + (0.3 + 0.4)
    True
    """

    def __init__(self, nodes: Iterable[Node[S]] = ()) -> None:
        self._nodes: list[Node[S]] = []
        self._are_ours: list[bool] = []
        self.join(nodes)

    @property
    def nodes(self) -> list[Node[S]]:
        """The sums that wait for a neighbour."""
        return list(self._nodes)

    def add(self, number: int, value: S) -> None:
        """Add a piece; pieces come in ascending order, without gaps. The value is the sum's to change."""
        self._push(Node(number, 1, value), is_ours=True)

    def join(self, nodes: Iterable[Node[S]]) -> None:
        """Add the sums of others, which are not changed."""
        for node in nodes:
            self._push(node, is_ours=False)

    def _push(self, node: Node[S], *, is_ours: bool) -> None:
        nodes, ours = self._nodes, self._are_ours
        if nodes and nodes[-1].first + nodes[-1].size != node.first:
            raise ParameterError(
                f"piece {node.first} does not follow piece {nodes[-1].first + nodes[-1].size - 1}"
            )
        nodes.append(node)
        ours.append(is_ours)
        while len(nodes) > 1 and nodes[-2].size == nodes[-1].size and _begins_pair(nodes[-2]):
            right, left = nodes.pop(), nodes.pop()
            ours.pop()
            if ours[-1]:
                both = left.value
                both += right.value
            else:
                both = left.value + right.value
            ours[-1] = True
            nodes.append(Node(left.first, 2 * left.size, both))

    def total(self) -> S:
        """Return the sum of all; the ends that found no neighbour are added from the right."""
        if not self._nodes:
            raise ParameterError("there is no block to sum")
        total = self._nodes[-1].value
        for node in reversed(self._nodes[:-1]):
            total = node.value + total
        return total


def _begins_pair(node: Node[Any]) -> bool:
    return node.first % (2 * node.size) == 0


def fold_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    given: Sequence[Shared[Any]] = (),
    anywhere: bool = False,
    report: bool = False,
) -> S:
    """Call ``work(block, first, stop, *its_rows, *given)`` for every range and return the sum.

    The results are added in a fixed tree (`PairwiseSum`), and only few are held at a time, whatever
    the number of blocks. Parameters are those of `run_blocks`, and `given`: what all blocks need in
    several calls, which a cluster is sent once.
    """
    cluster = current_cluster() if anywhere else None
    if cluster is not None:
        return cluster.fold(work, ranges, rows=rows, given=given, report=report)
    values = [one.value for one in given]
    return sum_blocks(lambda *piece: work(*piece, *values), ranges, rows=rows, report=report).total()


def sum_blocks(
    work: Callable[..., S],
    ranges: Sequence[tuple[int, int]],
    *,
    rows: Sequence[NDArray[Any]] = (),
    number: int = 0,
    origin: int = 0,
    report: bool = False,
) -> PairwiseSum[S]:
    """Do what `fold_blocks` does for the blocks from `number` on; return sums that can be joined.

    Row 0 of `rows` is that of `origin`.
    """
    sums: PairwiseSum[S] = PairwiseSum()
    pieces = list(numbered(ranges, rows, number, origin))
    for done, result in enumerate(in_order(work, pieces, report, ahead=thread_count() + 1)):
        sums.add(number + done, result)
    return sums
