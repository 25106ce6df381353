"""Arrays and a few plain values as bytes, on their way to and from a child; never a pickle.

Four bytes give the length of a JSON text, which holds the values and lists the arrays; their ``.npy``
files follow one after the other. Whoever unpacks trusts nothing: an array is a list of one of a few types,
as long as the bytes that are there.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tracearena.errors import DataError

Arrays = dict[str, NDArray[Any]]

_LENGTH_BYTES = 4
_LONGEST_TEXT = 2**20
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '(\|b1|<i4|<i8|<f8|<U[1-9][0-9]{0,4})', "
    rb"'fortran_order': False, 'shape': \(([0-9]{1,12}),\), \} *\n",
    re.DOTALL,
)
"""What stands at the beginning of a list of whole numbers, decimals, switches or short texts."""


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
    # NumPy's own reader evaluates the header, and makes room for whatever it claims.
    head = _HEADER.match(data)
    if head is None:
        raise DataError("a packed array has no header, or a type or shape that is not accepted")
    dtype, size = np.dtype(head[1].decode()), int(head[2])
    if size * dtype.itemsize != len(data) - head.end():
        raise DataError("a packed array is not as long as its header says")
    return np.frombuffer(data, dtype, count=size, offset=head.end()).copy()
