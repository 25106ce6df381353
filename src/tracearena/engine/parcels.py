"""Values on their way between processes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np


def packed(value: Any) -> bytes:
    """Pickle, functions included, so that a scheduler has bytes to keep and nothing to understand."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value))


def unpacked(data: bytes) -> Any:
    """Undo `packed`; arrays get memory of their own."""
    return pickle.loads(data)


class Parcel:
    """A value whose arrays arrive in memory of their own.

    Left to itself Dask would leave them wherever their bytes arrive: often at odd addresses, where
    sums come out differently and compiled loops are compiled again.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        import cloudpickle

        if protocol < 5:
            return _parcel, (packed(self.value),)
        buffers: list[Any] = []
        data = cloudpickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        return _parcel, (bytes(data), *buffers)

    def __sizeof__(self) -> int:
        from dask.sizeof import sizeof

        return int(sizeof(self.value))


def _parcel(data: bytes, *buffers: Any) -> Parcel:
    return Parcel(pickle.loads(data, buffers=[np.array(np.frombuffer(one, np.uint8)) for one in buffers]))
