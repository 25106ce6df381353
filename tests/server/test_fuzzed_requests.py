"""T31: 10,000 strings for each new parser are accepted or refused by a typed error, nothing else."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from tests.server.uploads import FRAME, GOOD

from tracearena.contest.rules import Rules
from tracearena.errors import DataError, TracearenaError
from tracearena.files.io import InMemoryFile
from tracearena.io.pwscup import VERDICTS
from tracearena.server.sandbox.child import check_file
from tracearena.server.sandbox.messages import Frame, UploadArrays, Verdict
from tracearena.server.store.crypto import SealError, make_key_pair, seal, unseal

STRINGS = 10_000
PRIVATE, PUBLIC = make_key_pair()


def mutated(valid: bytes, rng: np.random.Generator) -> bytes:
    """Change, flip, cut out and insert a few bytes; something is always changed."""
    data = bytearray(valid)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(data) + 1))
        act = int(rng.integers(4))
        if act == 0:
            data[at : at + 1] = rng.bytes(1)
        elif act == 1 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif act == 2:
            del data[at : at + int(rng.integers(1, 8))]
        else:
            data[at:at] = rng.bytes(int(rng.integers(1, 8)))
    return bytes(data) if data != valid else mutated(valid, rng)


def outcomes(parse: Callable[[bytes], str], valid: list[bytes], strings: int = STRINGS) -> Counter[str]:
    """Count what becomes of strings near to valid ones; whatever is not a typed error is raised."""
    rng = np.random.default_rng(0)
    counted: Counter[str] = Counter()
    for number in range(strings):
        noise = number % 20 == 0
        data = rng.bytes(int(rng.integers(0, 200))) if noise else mutated(valid[number % len(valid)], rng)
        try:
            counted[parse(data)] += 1
        except TracearenaError as error:
            counted[type(error).__name__] += 1
    return counted


def parquet(cells: list[str] | list[int], compression: str) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"reg_id": cells}).write_parquet(file, compression=compression)  # type: ignore[arg-type]
    return file.getvalue()


def checked_code(data: bytes) -> str:
    said = check_file(InMemoryFile("fuzz", data), FRAME, "obfuscated", 10**6, Rules().largest_listed_ids)
    return said.code if isinstance(said, Verdict) else "good"


def frame_of(data: bytes) -> str:
    frame = Frame.from_bytes(data)
    if len(frame.users) * frame.n_instants < 10**6:
        assert frame.traces().n_events == len(frame.users) * frame.n_instants
    return "good"


def arrays_of(data: bytes) -> str:
    UploadArrays.from_bytes(data).to_obfuscated(FRAME.traces())
    return "good"


def opened(data: bytes) -> str:
    unseal(PRIVATE, data)
    return "good"


def parquet_files() -> list[bytes]:
    cells = GOOD["obfuscated"].decode().splitlines()[1:]
    files = [parquet(cells, compression) for compression in ("uncompressed", "zstd", "snappy", "lz4")]
    return [*files, parquet([1, 2, 3, 4, 5, 6], "uncompressed")]


@pytest.mark.long
def test_parquet_files(capfd: pytest.CaptureFixture[str]) -> None:
    """T31."""
    counted = outcomes(checked_code, parquet_files())
    assert set(counted) - {"good"} <= set(VERDICTS) | {"long-line"}
    assert counted["good"] > 0
    assert counted["bad-parquet"] > STRINGS / 2


@pytest.mark.slow
def test_five_hundred_parquet_files(capfd: pytest.CaptureFixture[str]) -> None:
    """T31."""
    counted = outcomes(checked_code, parquet_files(), 500)
    assert set(counted) - {"good"} <= set(VERDICTS) | {"long-line"}
    assert counted["good"] > 0
    assert counted["bad-parquet"] > 250


@pytest.mark.slow
def test_frames() -> None:
    """T31."""
    small = Frame.of(FRAME.traces().take_users([0, 1]), pseudonyms=[3, 4])
    counted = outcomes(frame_of, [small.to_bytes(), FRAME.to_bytes()])
    assert set(counted) == {"good", DataError.__name__}


@pytest.mark.slow
def test_arrays_of_an_upload() -> None:
    """T31."""
    good = check_file(InMemoryFile("good", GOOD["obfuscated"]), FRAME, "obfuscated", 10**6, 10**6)
    assert isinstance(good, UploadArrays)
    counted = outcomes(arrays_of, [good.arrays])
    assert set(counted) == {"good", DataError.__name__}


@pytest.mark.slow
def test_sealed_files() -> None:
    """T31."""
    counted = outcomes(opened, [seal(PUBLIC, b""), seal(PUBLIC, b"who is who")])
    assert set(counted) == {SealError.__name__}


@pytest.mark.slow
def test_sealed_headers() -> None:
    """T31."""
    sealed = seal(PUBLIC, b"who is who")
    headers = outcomes(lambda data: opened(data + sealed[52:]), [sealed[:52]])
    assert set(headers) == {SealError.__name__}


@pytest.mark.slow
def test_wrapped_secrets() -> None:
    """T31."""
    from tracearena.server.store.crypto import unwrap, wrap

    key = bytes(range(32))
    counted = outcomes(lambda data: str(unwrap(data, key, "link")), [wrap(b"secret", key, "link")])
    assert set(counted) == {SealError.__name__}
