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

from tracearena.errors import DataError, FileError
from tracearena.files.atomic import make_folder, replacing_all
from tracearena.files.io import replacing
from tracearena.formats.ppmtf._columns import read_bare_table, write_table

FACTORS = ("A", "B", "C", "D")


@dataclass(frozen=True, eq=False)
class Parameters:
    """Factor matrices of both tensors, in the paper's letters, with the same number of columns z.

    Attributes
    ----------
    A, B, C, D
        Users, places left from (and visited), places gone to, and slots, each × z.
    mu, Lambda
        For each of the four letters the mean (z) and precision (z × z) of its rows' prior; empty
        where they are not known.
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
    """Read ``modelparameter_Itr<t>_*.csv``; the hyperparameters may be missing, as a whole."""
    stem = Path(folder) / f"modelparameter_Itr{iteration}"
    if not Path(f"{stem}_A.csv").exists():
        others = [re.fullmatch(r"modelparameter_Itr(\d+)_A\.csv", one.name) for one in Path(folder).iterdir()]
        there = sorted(int(found[1]) for found in others if found)
        said = f"; there are those of iteration {', '.join(map(str, there))}" if there else ""
        raise FileError.whole(f"{stem}_A.csv", f"there is no such file{said}", "missing")
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
    """Write ``modelparameter_Itr<t>_*.csv`` with 6 decimals, making the folder if need be."""
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
