"""Arrays and a few plain values as bytes, on their way to and from a child; never a pickle.

Four bytes give the length of a JSON text, which holds the values and lists the arrays; their ``.npy``
files follow one after the other. Whoever unpacks trusts nothing: an array has one of a few types and is
as long as the bytes that are there.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tracearena.errors import DataError

Arrays = dict[str, NDArray[Any]]

_LENGTH_BYTES = 4
_LONGEST_TEXT = 2**20
_KINDS = "biufU"


def pack(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None) -> bytes:
    """Return values and arrays as bytes.

    >>> values, arrays = unpack(pack({"rows": 2}, {"codes": np.array([5, -1])}))
    >>> values["rows"], arrays["codes"].tolist()
    (2, [5, -1])
    """
    files = {name: _npy(array) for name, array in (arrays or {}).items()}
    listed = [[name, len(file)] for name, file in files.items()]
    text = json.dumps({"values": dict(values), "arrays": listed}).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text + b"".join(files.values())


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the values and arrays, or raise `DataError`."""
    values, listed, at = _head(data)
    if at + sum(listed.values()) != len(data):
        raise DataError("packed arrays are cut, or something stands after them")
    arrays: Arrays = {}
    for name, size in listed.items():
        arrays[name] = _array(data[at : at + size])
        at += size
    return values, arrays


def unpack_values(data: bytes) -> dict[str, Any]:
    """Return the values alone, without looking at the arrays."""
    return _head(data)[0]


def _head(data: bytes) -> tuple[dict[str, Any], dict[str, int], int]:
    stop = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    if not _LENGTH_BYTES < stop <= min(len(data), _LENGTH_BYTES + _LONGEST_TEXT):
        raise DataError("these are no packed arrays")
    try:
        head = json.loads(data[_LENGTH_BYTES:stop])
        values, listed = head["values"], {str(name): size for name, size in head["arrays"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError("the list of packed arrays cannot be read") from None
    if not isinstance(values, dict) or not all(type(n) is int and n >= 0 for n in listed.values()):
        raise DataError("the list of packed arrays is none")
    return values, listed, stop


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _array(data: bytes) -> NDArray[Any]:
    """Return the array of an ``.npy`` file, in memory of its own."""
    # NumPy's own reader makes room for whatever the header claims before it looks for the bytes.
    file = io.BytesIO(data)
    try:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("another version")
        shape, is_fortran, dtype = npy.read_array_header_1_0(file)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError):
        raise DataError("a packed array has no header") from None
    size = math.prod(shape)
    if is_fortran or dtype.kind not in _KINDS or not dtype.isnative or dtype.itemsize == 0:
        raise DataError(f"a packed array has the type {dtype}")
    if min(shape, default=0) < 0 or size * dtype.itemsize != len(data) - file.tell():
        raise DataError("a packed array is not as long as its header says")
    return np.frombuffer(data, dtype, count=size, offset=file.tell()).reshape(shape).copy()
