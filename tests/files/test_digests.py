"""One digest of files, texts and arrays: SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracearena.files import digest_file, digest_values


@pytest.mark.parametrize(
    "array",
    [
        np.arange(5),
        np.arange(10)[::2],
        np.arange(6.0).reshape(2, 3).T,
        np.array(["a", "é"]),
        np.zeros(0),
        np.array([True, False])[::-1],
    ],
)
def test_arrays_count_by_their_bytes_whatever_their_layout_in_memory(array: Any) -> None:
    expected = hashlib.sha256(b"before" + array.tobytes() + "ü".encode()).hexdigest()
    assert digest_values(b"before", array, "ü") == expected


def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc\n")
    assert digest_file(tmp_path / "a") == digest_values("abc\n")
