"""The numbers behind a picture, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.files.whole import replacing


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write one line a row; the first row names the columns."""
    text = io.StringIO()
    table = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())
    return path
