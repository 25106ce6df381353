"""Count tensors: how often each user went from place to place, and visited a place in a slot."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.formats.ppmtf._columns import Table, read_table, write_table

_TRANSITIONS = ("user_index", "poi_index_from", "poi_index_to", "count", "prob")
_VISITS = ("user_index", "poi_index_from", "time_slot", "count", "prob")


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """The positive cells of a users × i × j tensor of counts, sorted by user, i and j.

    Attributes
    ----------
    shape
        Users, places, and places (transitions) or slots (visits).
    users, i, j
        Where each cell stands.
    counts
        What it holds, at least 1.
    """

    shape: tuple[int, int, int]
    users: NDArray[np.int32]
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensor):
            return NotImplemented
        return self.shape == other.shape and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("users", "i", "j", "counts")
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Cells of user ``u`` are ``offsets[u]:offsets[u + 1]``."""
        return np.searchsorted(self.users, np.arange(self.shape[0] + 1)).astype(np.int64)

    @classmethod
    def from_cells(
        cls,
        shape: tuple[int, int, int],
        users: NDArray[np.integer],
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        counts: NDArray[np.integer] | None = None,
    ) -> SparseTensor:
        """Sum cells given in any order, each counting once unless `counts` says otherwise.

        >>> SparseTensor.from_cells((1, 2, 2), np.array([0, 0]), np.array([1, 1]), np.array([0, 0])).counts
        array([2], dtype=int32)
        """
        for name, values, size in (("users", users, shape[0]), ("i", i, shape[1]), ("j", j, shape[2])):
            if len(values) and not (values.min() >= 0 and values.max() < size):
                raise DataError(f"{name} of a tensor of shape {shape} must be from 0 to {size - 1}")
        key = (np.asarray(users, np.int64) * shape[1] + i) * shape[2] + j
        cells, index = np.unique(key, return_inverse=True)
        weight = None if counts is None else np.asarray(counts, np.float64)
        total = np.bincount(index, weights=weight, minlength=len(cells))
        rest, at_j = np.divmod(cells, shape[2])
        user, at_i = np.divmod(rest, shape[1])
        arrays = (array.astype(np.int32) for array in (user, at_i, at_j, total))
        return cls(shape, *(_read_only(array) for array in arrays))


def _read_only(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array


def read_transition_tensor(path: str | PathLike[str], n_users: int, n_places: int) -> SparseTensor:
    """Read ``traintranstensor_<city>_mnt<λ>.csv``; its column ``prob`` follows from the counts."""
    table = read_table(path, _TRANSITIONS)
    return _tensor(table, "poi_index_to", (n_users, n_places, n_places))


def read_visit_tensor(path: str | PathLike[str], n_users: int, n_places: int, n_slots: int) -> SparseTensor:
    """Read ``trainvisittensor_<city>_mnv<λ>.csv``; its column ``prob`` follows from the counts."""
    table = read_table(path, _VISITS)
    return _tensor(table, "time_slot", (n_users, n_places, n_slots))


def _tensor(table: Table, last: str, shape: tuple[int, int, int]) -> SparseTensor:
    users = table.whole("user_index", 0, max(shape[0] - 1, 0))
    i = table.whole("poi_index_from", 0, max(shape[1] - 1, 0))
    j = table.whole(last, 0, max(shape[2] - 1, 0))
    counts = table.whole("count", 1)
    key = (users * shape[1] + i) * shape[2] + j
    _, first = np.unique(key, return_index=True)
    seen = np.zeros(len(key), bool)
    seen[first] = True
    table.require(last, seen, "names a cell that an earlier row has already", "repeated-cell")
    table.close()
    return SparseTensor.from_cells(shape, users, i, j, counts)


def write_transition_tensor(tensor: SparseTensor, path: str | PathLike[str]) -> None:
    """Write a transition tensor; ``prob`` is the share of the user's transitions from that place."""
    _write(path, tensor, _TRANSITIONS, tensor.i, tensor.shape[1])


def write_visit_tensor(tensor: SparseTensor, path: str | PathLike[str]) -> None:
    """Write a visit tensor; ``prob`` is the share of the user's visits in that slot."""
    _write(path, tensor, _VISITS, tensor.j, tensor.shape[2])


def _write(
    path: str | PathLike[str],
    tensor: SparseTensor,
    names: tuple[str, ...],
    within: NDArray[np.int32],
    size: int,
) -> None:
    row = tensor.users.astype(np.int64) * size + within
    _, index = np.unique(row, return_inverse=True)
    share = tensor.counts / np.bincount(index, weights=tensor.counts)[index]
    columns = (tensor.users, tensor.i, tensor.j, tensor.counts, share)
    write_table(path, dict(zip(names, columns, strict=True)))
