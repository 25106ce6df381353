"""Trained parameters of PPMTF: the four factor matrices and the hyperparameters drawn with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, FileError
from tracearena.files import read_bytes, write_csv
from tracearena.files.atomic import make_folder, replacing_all
from tracearena.files.io import replacing
from tracearena.io.ppmtf._columns import UNKNOWN, CellTable, read_bare_table, read_table, write_table
from tracearena.mobility.transitions import SparseTensor
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

FACTORS = ("A", "B", "C", "D")


@dataclass(frozen=True, eq=False)
class Parameters:
    """Factor matrices of both tensors, in the paper's letters, with the same number of columns z.

    Attributes
    ----------
    A, B, C, D
        Users, places, next places and slots, each × z.
    mu, Lambda
        For each matrix, the mean (z) and precision (z × z) of the prior of its rows; empty if not known.
    """

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]
    mu: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    Lambda: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        z = self.n_factors
        for name in FACTORS:
            matrix = getattr(self, name)
            if matrix.ndim != 2 or matrix.shape[1] != z:
                raise DataError(f"{name} has the shape {matrix.shape}; it must have {z} columns, as A has")
        if len(self.B) != len(self.C):
            raise DataError(f"B has {len(self.B)} places but C has {len(self.C)}")
        for name, vector in self.mu.items():
            if vector.shape != (z,):
                raise DataError(f"mu_{name} has the shape {vector.shape}; it must be ({z},)")
        for name, matrix in self.Lambda.items():
            if matrix.shape != (z, z):
                raise DataError(f"Lambda_{name} has the shape {matrix.shape}; it must be ({z}, {z})")

    @property
    def n_factors(self) -> int:
        """Number of columns, z."""
        return int(self.A.shape[1])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Users, places, slots."""
        return len(self.A), len(self.B), len(self.D)


def read_parameters(folder: str | PathLike[str], iteration: int = 100) -> Parameters:
    """Read ``modelparameter_Itr<t>_*.csv``; the hyperparameters may be missing together."""
    stem = Path(folder) / f"modelparameter_Itr{iteration}"
    if not Path(f"{stem}_A.csv").exists():
        others = [re.fullmatch(r"modelparameter_Itr(\d+)_A\.csv", one.name) for one in Path(folder).iterdir()]
        there = sorted(int(found[1]) for found in others if found)
        said = f"; there are files of iteration {', '.join(map(str, there))}" if there else ""
        raise FileError.whole(f"{stem}_A.csv", f"this file does not exist{said}", "missing")
    matrices = {name: read_matrix(f"{stem}_{name}.csv") for name in FACTORS}
    mu: dict[str, Any] = {}
    precision: dict[str, Any] = {}
    if any(Path(f"{stem}_{kind}_{name}.csv").exists() for kind in ("mu", "Lam") for name in FACTORS):
        mu = {name: read_matrix(f"{stem}_mu_{name}.csv").ravel() for name in FACTORS}
        precision = {name: read_matrix(f"{stem}_Lam_{name}.csv") for name in FACTORS}
    try:
        return Parameters(**matrices, mu=mu, Lambda=precision)
    except DataError as error:
        raise FileError.whole(f"{stem}_*.csv", f"do not fit together: {error}", "bad-shape") from None


def write_parameters(parameters: Parameters, folder: str | PathLike[str], iteration: int = 100) -> None:
    """Write ``modelparameter_Itr<t>_*.csv`` with 6 decimals, making the folder if necessary."""
    stem = Path(folder) / f"modelparameter_Itr{iteration}"
    with replacing_all():
        make_folder(folder)
        for name in FACTORS:
            _write_matrix(f"{stem}_{name}.csv", getattr(parameters, name))
        for name, vector in parameters.mu.items():
            _write_matrix(f"{stem}_mu_{name}.csv", vector[:, None])
        for name, matrix in parameters.Lambda.items():
            _write_matrix(f"{stem}_Lam_{name}.csv", matrix)


def read_matrix(path: str | PathLike[str]) -> NDArray[np.float64]:
    """Read a matrix of numbers without header, such as the sampled users ``…_SmplA<team>.csv``."""
    table = read_bare_table(path)
    if not len(table):
        raise FileError.whole(path, "has no row", "empty")
    matrix = table.matrix()
    table.close()
    matrix.flags.writeable = False
    return matrix


def _write_matrix(path: str | PathLike[str], matrix: NDArray[np.float64]) -> None:
    columns = {str(column): matrix[:, column] for column in range(matrix.shape[1])}
    write_table(path, columns, header=False, decimals=6)


def write_sampled_users(A: NDArray[np.float64], path: str | PathLike[str]) -> None:
    """Write virtual users' rows as ``…_SmplA<team>.csv``: scientific notation, 18 decimals."""
    with replacing(path) as file:
        np.savetxt(file, A, delimiter=",", fmt="%.18e")


# Files of count tensors: how often each user went from place to place, and visited a place in a slot.

_TRANSITIONS = ("user_index", "poi_index_from", "poi_index_to", "count", "prob")
_VISITS = ("user_index", "poi_index_from", "time_slot", "count", "prob")


def read_transition_tensor(path: str | PathLike[str], n_users: int, n_places: int) -> SparseTensor:
    """Read ``traintranstensor_<city>_mnt<λ>.csv``; its column ``prob`` follows from the counts."""
    table = read_table(path, _TRANSITIONS)
    return _build_tensor(table, "poi_index_to", (n_users, n_places, n_places))


def read_visit_tensor(path: str | PathLike[str], n_users: int, n_places: int, n_slots: int) -> SparseTensor:
    """Read ``trainvisittensor_<city>_mnv<λ>.csv``; its column ``prob`` follows from the counts."""
    table = read_table(path, _VISITS)
    return _build_tensor(table, "time_slot", (n_users, n_places, n_slots))


def _build_tensor(table: CellTable, last: str, shape: tuple[int, int, int]) -> SparseTensor:
    users = table.whole("user_index", 0, max(shape[0] - 1, 0))
    i = table.whole("poi_index_from", 0, max(shape[1] - 1, 0))
    j = table.whole(last, 0, max(shape[2] - 1, 0))
    counts = table.whole("count", 1)
    key = (users * shape[1] + i) * shape[2] + j
    _, first = np.unique(key, return_index=True)
    seen = np.zeros(len(key), bool)
    seen[first] = True
    table.require(last, seen, "names a cell that an earlier row already has", "repeated-cell")
    table.close()
    return SparseTensor.from_cells(shape, users, i, j, counts)


def write_transition_tensor(tensor: SparseTensor, path: str | PathLike[str]) -> None:
    """Write a transition tensor; ``prob`` is the share of the user's transitions from that place."""
    _write_tensor(path, tensor, _TRANSITIONS, tensor.i, tensor.shape[1])


def write_visit_tensor(tensor: SparseTensor, path: str | PathLike[str]) -> None:
    """Write a visit tensor; ``prob`` is the share of the user's visits in that slot."""
    _write_tensor(path, tensor, _VISITS, tensor.j, tensor.shape[2])


def _write_tensor(
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


# Tables of results: the plausible-deniability test, and utility next to privacy.

_COUNT = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class DeniabilityResults:
    """Results of the plausible-deniability test.

    Attributes
    ----------
    counts
        For each trace (in the order of users and of their traces), the number k' of users who could have been
        its input.
    passed
        Whether k' reached k.
    """

    counts: NDArray[np.int64]
    passed: NDArray[np.bool_]

    @property
    def rate(self) -> float:
        """Share of the traces that passed."""
        return float(self.passed.mean()) if len(self.passed) else 0.0


def read_deniability(path: str | PathLike[str]) -> DeniabilityResults:
    """Read ``pdtest_res_Itr<t>.csv``."""
    lines = read_bytes(path).decode("utf-8", "replace").split()
    rows = [line.split(",") for line in lines]
    if not rows or rows[-1][:2] != [UNKNOWN, UNKNOWN]:
        raise FileError.whole(path, "must end with a line -,-,passed,total,rate", "no-summary")
    faults = [
        Fault(number, None, ",".join(row), "must be a count and 0 or 1", "bad-row", header_lines=0)
        for number, row in enumerate(rows[:-1], start=1)
        if len(row) != 2 or not _COUNT.fullmatch(row[0]) or row[1] not in ("0", "1")
    ]
    if faults:
        raise FileError(path, faults, len(faults))
    counts = np.array([int(row[0]) for row in rows[:-1]], np.int64)
    passed = np.array([row[1] == "1" for row in rows[:-1]], bool)
    return DeniabilityResults(counts, passed)


def write_deniability(results: DeniabilityResults, path: str | PathLike[str]) -> None:
    """Write ``pdtest_res_Itr<t>.csv``, one line per trace and the summary."""
    rows = zip(results.counts.tolist(), results.passed.astype(int).tolist(), strict=True)
    totals = ("-", "-", int(results.passed.sum()), len(results.passed), results.rate)
    write_csv(path, None, [*rows, totals])


def read_utility_and_privacy(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read ``utilpriv_<algorithm>_<city>.csv``, of PPMTF or PPMTF+.

    Returns
    -------
    list of dict
        For each line its values by column name: text for ``tracedir`` and ``tracefile``, numbers
        otherwise, None where the table has a dash.
    """
    lines = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    if names[:2] != ["tracedir", "tracefile"]:
        header = lines[0] if lines else ""
        raise FileError(path, [Fault(0, None, header, "must begin with tracedir, tracefile", "bad-header")])
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[1:] if line]
    faults: list[Fault] = []
    results: list[dict[str, Any]] = []
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            problem = f"has {len(row)} cells; {len(names)} are needed"
            faults.append(Fault(number, None, ",".join(row), problem, "bad-row"))
            continue
        values: dict[str, Any] = dict(zip(names[:2], row[:2], strict=True))
        for name, cell in zip(names[2:], row[2:], strict=True):
            try:
                value = None if cell == UNKNOWN else float(cell)
            except ValueError:
                value = np.nan
            if value is not None and not np.isfinite(value):
                problem = "must be a finite number or a dash"
                faults.append(Fault(number, name, cell, problem, "bad-number"))
            if name != UNKNOWN:
                values[name] = value
        results.append(values)
    if faults:
        raise FileError(path, faults, len(faults))
    return results


# What the SGLT program reads: traces, mobility and locations, all counted from 1.


def read_sglt_traces(path: str | PathLike[str], places: Places, clock: Clock) -> Traces:
    """Read ``input.trace``: user, time and location of each event, without header."""
    table = read_bare_table(path, ("user", "time", "location"))
    users, times = table.whole("user", 1), table.whole("time", 1)
    location = table.whole("location", 1, max(len(places), 1))
    table.close()
    return Traces.from_events(users - 1, times - 1, location - 1, places, clock)


def write_sglt_traces(traces: Traces, path: str | PathLike[str]) -> None:
    """Write ``input.trace``; users are counted in their order."""
    columns = {
        "user": traces.user_index + 1,
        "time": traces.instants - traces.span[0] + 1,
        "location": traces.place_index + 1,
    }
    write_table(path, columns, header=False)


def write_sglt_mobility(n_places: int, path: str | PathLike[str]) -> None:
    """Write ``input.mobility``: every place can be reached from every other."""
    line = (", ".join(["1"] * n_places) + "\n").encode()
    with replacing(path) as file:
        file.write(line * n_places)


def read_sglt_mobility(path: str | PathLike[str]) -> NDArray[np.bool_]:
    """Read ``input.mobility``: places × places, true where one can be reached from the other."""
    table = read_bare_table(path)
    reachable = np.column_stack([table.number(column, 0, 1) for column in table.columns]) > 0
    table.close()
    if reachable.shape[0] != reachable.shape[1]:
        raise DataError(f"{path}: {reachable.shape[0]} rows of {reachable.shape[1]} places are not square")
    return reachable


def locations_km(places: Places) -> NDArray[np.float64]:
    """Return x and y in km of each cell's lower-left corner, at 111 and 91 km per degree.

    For places that are not cells of a grid, their own coordinates are returned.
    """
    grid = places.grid
    half = (0.0, 0.0) if grid is None else (grid.cell_width / 2, grid.cell_height / 2)
    x = (places.longitude - half[0]) * CONTEST_KM_PER_DEGREE[1]
    y = (places.latitude - half[1]) * CONTEST_KM_PER_DEGREE[0]
    return np.column_stack([x, y])


def write_sglt_locations(places: Places, path: str | PathLike[str]) -> None:
    """Write ``locations``: x and y in km, one line per place."""
    lines = "".join(f"{x!r}, {y!r}\n" for x, y in locations_km(places).tolist())
    with replacing(path) as file:
        file.write(lines.encode())


def read_sglt_locations(path: str | PathLike[str]) -> NDArray[np.float64]:
    """Read ``locations``: x and y in km of each place."""
    table = read_bare_table(path, ("x", "y"))
    points = table.matrix()
    table.close()
    return points
