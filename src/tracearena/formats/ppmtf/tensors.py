"""Files of count tensors: how often each user went from place to place, and visited a place in a slot."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.formats.ppmtf._columns import Table, read_table, write_table
from tracearena.mobility.transitions import SparseTensor

_TRANSITIONS = ("user_index", "poi_index_from", "poi_index_to", "count", "prob")
_VISITS = ("user_index", "poi_index_from", "time_slot", "count", "prob")


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
