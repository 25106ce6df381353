"""The table of digests, and how to write it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

Known: TypeAlias = Callable[[str, str], None]
TABLE = Path(__file__).with_name("digests.json")


def digest(*arrays: Any) -> str:
    """Return a digest of arrays: whole numbers and text as they are, other numbers to nine digits."""
    found = hashlib.sha256()
    for array in map(np.asarray, arrays):
        if array.dtype.kind == "f":
            text = " ".join(f"{value:.9g}" for value in array.ravel())
        elif array.dtype == np.uint8:
            found.update(array.tobytes())
            continue
        else:
            text = " ".join(map(str, array.ravel().tolist()))
        found.update(f"{array.shape} {text}\n".encode())
    return found.hexdigest()[:16]


@pytest.fixture
def known(request: pytest.FixtureRequest) -> Known:
    """Compare a digest with the table's, or write it there if asked for."""

    def compare(name: str, found: str) -> None:
        table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        if request.config.getoption("--update-digests"):
            TABLE.write_text(json.dumps(table | {name: found}, indent=1, sort_keys=True) + "\n")
            return
        assert name in table, f"{name} is new: add it to the table with --update-digests"
        assert found == table[name]

    return compare
