"""T27: files that unpack to very much are refused, in less than 2 s of processor time and 300 MB."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from tests.server.uploads import FRAME, GOOD

from tracearena.contest.rules import Rules
from tracearena.files.io import InMemoryFile
from tracearena.server.sandbox.child import check_file
from tracearena.server.sandbox.messages import Verdict
from tracearena.server.sandbox.parent import FORK_SERVER, ChildDied, Usage, check_upload

RULES = Rules()
CPU_S, RSS_MB = 2.0, 300.0
LARGEST = 64 * 2**20
GIGABYTE = 2**30


def packed(piece: bytes, size: int) -> bytes:
    """Return a gzip file of several members that unpacks to a piece over and over."""
    member = gzip.compress(piece * (2**20 // len(piece)), mtime=0)
    return member * (size // 2**20)


def parquet(cells: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"reg_id": cells}).write_parquet(file, **options)
    return file.getvalue()


def lying(data: bytes, size: int) -> bytes:
    """Return a Parquet file one of whose pages claims to be small; the number keeps its length."""
    before = size << 1
    digits = [before >> shift & 127 for shift in range(0, 35, 7)]
    written = bytes([digit | 128 for digit in digits[:-1]] + [digits[-1]])
    assert data.count(written) >= 1
    return data.replace(written, b"\xd0\x8f\x80\x80\x00")


def long_cells(length: int) -> list[str]:
    """Return as many cells as there are rows, one of them very long."""
    return ["1 " * (length // 2), "2", "3", "4", "5", "6"]


def repeated_prefixes() -> bytes:
    """Return a Parquet file each of whose cells repeats the long one before, in a few bytes."""
    arrow = pytest.importorskip("pyarrow")
    file = io.BytesIO()
    cells = ["1 " * 2**20 + str(number) for number in range(6)]
    writer = pytest.importorskip("pyarrow.parquet").write_table
    writer(
        arrow.table({"reg_id": cells}),
        file,
        use_dictionary=False,
        column_encoding={"reg_id": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    )
    return file.getvalue()


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "gzip, a gigabyte of rows": (lambda: packed(b"5\n", GIGABYTE), "too-large"),
    "gzip, a gigabyte without a line": (lambda: packed(b"5", GIGABYTE), "too-large"),
    "gzip, a gigabyte of NUL": (lambda: packed(b"\0", GIGABYTE), "too-large"),
    "gzip within the limit, one line": (lambda: packed(b"5 ", LARGEST), "long-line"),
    "Parquet, fifty million rows": (
        lambda: parquet(pl.repeat(5, 50_000_000, dtype=pl.Int8, eager=True)),
        "row-count",
    ),
    "Parquet, a cell of 256 MB": (lambda: parquet(long_cells(2**28), compression="zstd"), "too-large"),
    "Parquet, a page that lies": (
        lambda: lying(parquet(long_cells(2**28), compression="zstd"), 2**28 + 6 * 4 + 5),
        "bad-parquet",
    ),
    "Parquet, cells that repeat the one before": (repeated_prefixes, "bad-parquet"),
}


def verdict_and_cost(content: bytes) -> tuple[str, Usage]:
    """Return the verdict on a file, and what the child used."""
    try:
        result = check_upload(content, FRAME, "obfuscated", RULES, file_name="bomb")
    except ChildDied as error:
        return f"died of {error.reason}: {error.said}", FORK_SERVER.usage
    return result.code if isinstance(result, Verdict) else "good", FORK_SERVER.usage


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_two_seconds_and_300_mb(bomb: str) -> None:
    """T27."""
    make, code = BOMBS[bomb]
    content = make()
    assert len(content) < LARGEST / 8
    verdict, cost = verdict_and_cost(content)
    assert verdict == code
    assert cost.cpu_s < CPU_S
    assert cost.rss_mb < RSS_MB


@pytest.mark.slow
def test_the_cost_of_a_child_is_really_measured() -> None:
    """T27: A file that may be large costs more than one that is small."""
    _, small = verdict_and_cost(GOOD["obfuscated"])
    _, large = verdict_and_cost(b"reg_id\n" + b"5 6\n" * (2**22))
    assert large.rss_mb > small.rss_mb + 16


def test_a_small_bomb_is_refused_by_the_same_limits() -> None:
    """T27: The everyday form: limits of 1 MB, so that nothing has to be large."""
    for data, code in (
        (packed(b"5\n", 2 * 2**20), "too-large"),
        (parquet(pl.repeat(5, 100_000, eager=True)), "row-count"),
        (parquet(long_cells(2**21), compression="zstd"), "too-large"),
        (parquet(["1 " * 2**19] * 6, compression="zstd"), "too-large"),
    ):
        verdict = check_file(InMemoryFile("bomb", data), FRAME, "obfuscated", 2**20, 10**6)
        assert isinstance(verdict, Verdict)
        assert verdict.code == code
