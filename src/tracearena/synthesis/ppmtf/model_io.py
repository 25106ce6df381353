"""Models as files: whole or half-trained ones in one file, and the PPMTF tools' parameters in several."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_fitted, require_number, require_whole
from tracearena.engine import SeedLike, is_secret, seed_sequence
from tracearena.errors import DataError, FileError, ParameterError, TracearenaError
from tracearena.files.io import read_bytes, replacing
from tracearena.io.ppmtf import read_parameters, write_parameters
from tracearena.synthesis.ppmtf.gibbs import Factors, Gaussian, Psi
from tracearena.synthesis.ppmtf.training import SeenCells
from tracearena.traces import Clock, Grid, Places, Traces
from tracearena.traces._arrays import to_id_array

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.distributed import PartitionedTraces
    from tracearena.synthesis.ppmtf.model import PPMTF


FORMAT = "tracearena-ppmtf"
VERSION = 3
_MATRICES = ("users", "places", "next_places", "slots")
_PLACE_COLUMNS = ("latitude", "longitude", "ids", "sensitive", "categories")


def save(model: PPMTF, path: str | PathLike[str]) -> None:
    """Write a model to one ``.npz`` file: a JSON header and the arrays, no pickles.

    It is for its owner alone: the seed of all draws is in it.
    """
    day = model.clock_.first_day
    clock = {field.name: getattr(model.clock_, field.name) for field in fields(Clock) if field.compare}
    clock["first_day"] = day.isoformat() if day else None
    if model.clock_.slots is None:
        del clock["slots"]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": model.get_params(deep=False),
        "iteration": model.iteration_,
        "error": model.error_,
        "seed": _seed_to_json(model._root),
        "training_data": model._fingerprint,
        "clock": clock,
        "grid": None if model.places_.grid is None else asdict(model.places_.grid),
        "km_per_degree": model.places_.km_per_degree,
    }
    arrays: dict[str, NDArray[Any]] = {
        "user_ids": model.user_ids_,
        "seen_moves": model.seen_.moves,
        "seen_visits": model.seen_.visits,
    }
    for column in _PLACE_COLUMNS:
        values = getattr(model.places_, column)
        if values is not None:
            arrays[f"places_{column}"] = values
    for number, factors in enumerate(_list_chains(model)):
        for matrix, prior in zip(_MATRICES, factors.psi, strict=True):
            arrays[f"{number}_{matrix}"] = getattr(factors, matrix)
            arrays[f"{number}_{matrix}_mean"] = prior.mean
            arrays[f"{number}_{matrix}_precision"] = prior.precision
    with replacing(path, private=True) as out:
        np.savez(out, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]


def load(path: str | PathLike[str]) -> PPMTF:
    """Read a model file, checking that it holds together."""
    from tracearena.synthesis.ppmtf.model import PPMTF

    header, arrays = _read_arrays(path)
    with _blame_field(path, "parameters"):
        model = PPMTF(**header["parameters"])
    with _blame_field(path, "iteration"):
        model.iteration_ = header["iteration"]
        require_whole("iterations done", model.iteration_, at_least=0, at_most=model.iterations)
    with _blame_field(path, "error"):
        if not isinstance(header["error"], list):
            raise DataError("it must be a list of numbers")
        for error in header["error"]:
            require_number("one of them", error, at_least=0)
        model.error_ = [float(error) for error in header["error"]]
    with _blame_field(path, "seed"):
        model._root = seed_sequence(None)
        if (seed := header["seed"]) is not None:
            model._root = np.random.SeedSequence(seed["entropy"], spawn_key=tuple(seed["spawn_key"]))
    with _blame_field(path, "training_data"):
        model._fingerprint = header["training_data"]
        if not isinstance(model._fingerprint, str):
            raise DataError("it must be a text")
    with _blame_field(path, "clock"):
        values = header["clock"]
        first_day = values["first_day"]
        if values.get("slots") is not None:
            values = values | {"slots": tuple(values["slots"])}
        model.clock_ = Clock(**(values | {"first_day": date.fromisoformat(first_day) if first_day else None}))
    with _blame_field(path, "grid, km_per_degree or an array of the places"):
        model.places_ = _build_places(header, arrays)
    with _blame_field(path, "user_ids"):
        model.user_ids_ = to_id_array(arrays["user_ids"], "user_ids")
        if arrays["user_ids"].dtype.kind not in "iuU":
            raise DataError("ids are whole numbers or texts")
        if len(np.unique(model.user_ids_)) != len(model.user_ids_):
            raise DataError("two users have the same id")
    with _blame_field(path, "seen_moves or seen_visits"):
        frame = len(model.places_), model.clock_.slots_per_day
        model.seen_ = SeenCells.from_arrays(*frame, arrays["seen_moves"], arrays["seen_visits"])
    with _blame_field(path, "factors"):
        factors = [_build_factors(arrays, number) for number in range(1 if model.shared_factors else 2)]
        _check_factors(model, factors)
    model._set_factors(factors)
    return model


@contextmanager
def _blame_field(path: str | PathLike[str], name: str) -> Iterator[None]:
    """Return which part of the file cannot be read; whatever goes wrong there is the file's fault."""
    try:
        yield
    except KeyError as error:
        raise FileError.whole(
            path, f"is not a complete model file: {error} is missing", "bad-model"
        ) from None
    except (TracearenaError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        problem = " ".join(str(error).split())
        raise FileError.whole(path, f"is not a complete model file: {name}: {problem}", "bad-model") from None


def resume(model: PPMTF, path: str | PathLike[str], fingerprint: str, seed: SeedLike) -> None:
    """Put a half-trained state into `model`; refuse one of other data, parameters or seed."""
    saved = load(path)
    ours, theirs = model.get_params(deep=False), saved.get_params(deep=False)
    for name in ours:
        if name != "iterations" and ours[name] != theirs[name]:
            raise ParameterError(f"{path} was trained with {name} = {theirs[name]!r}, not {ours[name]!r}")
    if saved.iteration_ > model.iterations:
        raise ParameterError(
            f"{path} already has {saved.iteration_} iterations, more than {model.iterations}"
        )
    if saved._fingerprint != fingerprint:
        raise DataError(f"{path} was trained on other traces; remove it to start again")
    if seed is not None and _seed_to_json(seed_sequence(seed)) != _seed_to_json(saved._root):
        raise ParameterError(f"{path} has another seed; leave out the seed to resume the training")
    model._root = saved._root
    model.error_ = saved.error_
    model.iteration_ = saved.iteration_
    model._set_factors(_list_chains(saved))


def _list_chains(model: PPMTF) -> list[Factors]:
    if model.shared_factors:
        return [model.transition_factors_]
    return [model.transition_factors_, model.visit_factors_]


def _read_arrays(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    content = io.BytesIO(read_bytes(path, line_end=None))
    try:
        # The sizes are checked before anything is unpacked; np.savez does not compress.
        with zipfile.ZipFile(content) as packed:
            entries = packed.infolist()
            if sum(entry.file_size for entry in entries) > 2 * len(content.getbuffer()):
                raise FileError.whole(path, "is too large, unpacked, for a model file", "too-large")
            arrays = {
                entry.filename.removesuffix(".npy"): _read_array(packed.read(entry), entry.filename)
                for entry in entries
            }
        header = json.loads(str(arrays.pop("header")))
    except FileError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        LookupError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        problem = "its header is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FileError.whole(path, f"is not a model file: {problem}", "bad-model") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileError.whole(path, f"is not a {FORMAT} file", "bad-model")
    if header.get("version") != VERSION:
        problem = f"has format version {header.get('version')}; this program reads version {VERSION}"
        raise FileError.whole(path, problem, "bad-version")
    return header, arrays


def _read_array(content: bytes, name: str) -> NDArray[Any]:
    """Read one array of a model: numbers or texts, never objects, of the size that its bytes have."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise DataError(f"{name} has the array format {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject or dtype.kind not in "biufU":
        raise DataError(f"{name} has type {dtype}; it must be numbers or texts")
    values = content[file.tell() :]
    if math.prod(shape) * dtype.itemsize != len(values):
        raise DataError(f"{name} has the shape {shape} but {len(values):,} bytes")
    array: NDArray[Any] = np.frombuffer(values, dtype) if dtype.itemsize else np.zeros(shape, dtype)
    return array.reshape(shape, order="F" if fortran else "C").copy()


def _check_factors(model: PPMTF, factors: list[Factors]) -> None:
    users, places, slots = len(model.user_ids_), len(model.places_), model.clock_.slots_per_day
    for number, chain in enumerate(factors):
        has_moves, has_visits = model.shared_factors or number == 0, model.shared_factors or number == 1
        rows = (users, places, places if has_moves else 0, slots if has_visits else 0)
        for name, count in zip(_MATRICES, rows, strict=True):
            matrix = getattr(chain, name)
            if matrix.shape != (count, model.factors) or not np.isfinite(matrix).all():
                raise DataError(f"matrix {name} has shape {matrix.shape} or values that are not numbers")
        for name, prior in zip(_MATRICES, chain.psi, strict=True):
            if prior.mean.shape != (model.factors,) or prior.precision.shape != (model.factors,) * 2:
                raise DataError(f"mean and precision of {name} do not fit {model.factors} factors")
            _check_prior(name, prior)
    if len(model.error_) > model.iteration_:
        raise DataError(f"{model.iteration_} iterations but {len(model.error_)} errors")


def _check_prior(name: str, prior: Gaussian) -> None:
    """Refuse a prior from which nothing can be drawn."""
    if not (np.isfinite(prior.mean).all() and np.isfinite(prior.precision).all()):
        raise DataError(f"mean or precision of {name} has values that are not numbers")
    try:
        np.linalg.cholesky(prior.precision)
    except np.linalg.LinAlgError:
        raise DataError(f"the precision of {name} is not positive definite") from None


def _build_factors(arrays: dict[str, NDArray[Any]], number: int) -> Factors:
    def matrix(name: str) -> NDArray[np.float64]:
        values = arrays[f"{number}_{name}"]
        if values.dtype.kind != "f":
            raise DataError(f"{number}_{name} has type {values.dtype}; it must be floating-point numbers")
        return np.ascontiguousarray(values, np.float64)

    a, b, c, d = (matrix(name) for name in _MATRICES)
    psi = Psi(*(Gaussian(matrix(f"{name}_mean"), matrix(f"{name}_precision")) for name in _MATRICES))
    return Factors(a, b, c, d, psi)


def _build_places(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Places:
    columns = {name: arrays.get(f"places_{name}") for name in _PLACE_COLUMNS}
    grid = None if header["grid"] is None else Grid(**header["grid"])
    scale = header["km_per_degree"]
    if scale is not None:
        if not isinstance(scale, list) or len(scale) != 2:
            raise DataError(f"km_per_degree = {scale!r} must be two numbers, or none")
        for one in scale:
            require_number("km_per_degree", one, above=0, at_most=1_000)
    return Places(
        columns["latitude"],
        columns["longitude"],
        ids=columns["ids"],
        sensitive=columns["sensitive"],
        categories=columns["categories"],
        grid=grid,
        km_per_degree=None if scale is None else (float(scale[0]), float(scale[1])),
    )


def _seed_to_json(root: np.random.SeedSequence) -> dict[str, Any] | None:
    """Return the seed; a secret root is not written down, and training continues from another."""
    if is_secret(root):
        return None
    entropy = root.entropy
    words = int(entropy) if isinstance(entropy, (int, np.integer)) else [int(w) for w in entropy or ()]
    return {"entropy": words, "spawn_key": [int(word) for word in root.spawn_key]}


def export_parameters(model: PPMTF, folder: str | PathLike[str]) -> None:
    """Write the factors as the PPMTF tools do, which know one set of them."""
    if not model.shared_factors:
        raise ParameterError(
            "files of the PPMTF tools have one set of factors for both tensors; with "
            "shared_factors=False there are two"
        )
    require_fitted(model, "transition_factors_")
    write_parameters(model.transition_factors_.to_parameters(), folder, model.iteration_)


def import_parameters(
    folder: str | PathLike[str],
    traces: Traces | PartitionedTraces,
    iteration: int,
    parameters: dict[str, Any],
) -> PPMTF:
    """Read the PPMTF tools' files of an iteration into a model of the traces it was trained on."""
    from tracearena.synthesis.ppmtf.model import MOST, PPMTF

    require_whole("iteration", iteration, at_least=1, at_most=MOST["iterations"])
    read = read_parameters(folder, iteration)
    asked = parameters.pop("factors", read.n_factors)
    if asked != read.n_factors:
        raise ParameterError(
            f"{folder}: the model has {read.n_factors} factors, not {asked}: use the same number"
        )
    if not parameters.get("shared_factors", True):
        raise ParameterError(
            f"{folder}: the model shares its factors, which contradicts shared_factors=False"
        )
    model = PPMTF(**(parameters | {"factors": read.n_factors, "iterations": iteration}))
    frame = model._set_frame(traces)
    expected = (frame.n_users, len(frame.places), frame.clock.slots_per_day)
    if read.shape != expected:
        raise DataError(
            f"{folder}: parameters of {read.shape[0]} users, {read.shape[1]} places and {read.shape[2]} "
            f"slots do not fit traces of {expected[0]}, {expected[1]} and {expected[2]}"
        )
    factors = Factors.from_parameters(read)
    for name, prior in factors.psi._asdict().items():
        try:
            _check_prior(name, prior)
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None
    model._set_factors([factors])
    model._root = seed_sequence(0)
    model.iteration_, model.error_ = iteration, []
    return model
