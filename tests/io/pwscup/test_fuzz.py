"""Strings nobody would write: each is accepted or refused with a typed error, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.io.pwscup.small_contest import VALID, Reader

from tracearena.errors import Fault, FileError
from tracearena.io.pwscup import VERDICTS
from tracearena.io.pwscup import checker as sheet_module

PIECES = [
    *(bytes([byte]) for byte in b"0123456789, *\n\r\t\"'+-._eE\x00\xff\xef"),
    *(b"\r\n", b"\n\n", b"  ", b"* ", b" *", b"0", b"01", b"1025", b"1024", b"\xef\xbc\x95", b"\xef\xbb\xbf"),
    *(b"99999999999999999999", b"1 2 3 4", b"nan", b"reg_id", b"user_id", b"ref", b"org", b"34.5"),
]


def mutated(valid: bytes, rng: np.random.Generator) -> bytes:
    """Cut, double, swap and insert pieces, mostly below the header."""
    text = valid
    for _ in range(int(rng.integers(1, 4))):
        body = text.find(b"\n") + 1 if rng.random() < 0.9 else 0
        a, b = sorted(rng.integers(body, len(text) + 1, 2).tolist())
        piece = PIECES[rng.integers(len(PIECES))]
        act = rng.integers(5)
        if act == 0:
            text = text[:a] + piece + text[a:]
        elif act == 1:
            text = text[:a] + piece + text[min(a + 1, len(text)) :]
        elif act == 2:
            text = text[:a] + text[a + 1 :]
        elif act == 3:
            text = text[:a] + text[b:]
        else:
            text = text[:b] + text[a:b] + text[b:]
    return text


def strings(valid: bytes, count: int, seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    noise = [rng.bytes(int(rng.integers(0, 80))) for _ in range(count // 20)]
    header = valid[: valid.index(b"\n") + 1]
    return [
        *(mutated(valid, rng) for _ in range(count - 2 * len(noise))),
        *noise,
        *(header + some for some in noise),
    ]


class Fuzz(NamedTuple):
    """Lets a reader of one kind see strings, and its writer write what it made of them."""

    readers: dict[str, Reader]
    writers: dict[str, Callable[[Any, Path], None]]
    folder: Path

    def require_answers(self, kind: str, count: int) -> None:
        content = b""
        unexplained = Fault(None, None, None, "an error must have a fault", "unexplained")
        accepted = {}
        refused = set()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sheet_module, "read_bytes", lambda path, **limits: content)
            for content in strings(VALID[kind], count, seed=list(VALID).index(kind)):
                try:
                    accepted[content] = self.readers[kind](self.folder / "fuzz")
                except FileError as error:
                    refused.update(fault.code for fault in error.faults or [unexplained])
        assert refused <= set(VERDICTS)
        assert len(refused) > 10
        assert accepted
        for number, got in enumerate(accepted.values()):
            again = self.folder / str(number) / "again"
            again.parent.mkdir()
            self.writers[kind](got, again)
            assert self.readers[kind](again) == got


@pytest.fixture
def fuzz(readers: dict[str, Reader], writers: dict[str, Callable[[Any, Path], None]], tmp_path: Path) -> Fuzz:
    return Fuzz(readers, writers, tmp_path)


@pytest.mark.parametrize("kind", VALID)
def test_strings_are_accepted_or_refused_and_the_accepted_come_back(kind: str, fuzz: Fuzz) -> None:
    fuzz.require_answers(kind, 400)


@pytest.mark.long
@pytest.mark.parametrize("kind", VALID)
def test_ten_thousand_strings_are_accepted_or_refused_and_the_accepted_come_back(
    kind: str, fuzz: Fuzz
) -> None:
    fuzz.require_answers(kind, 10_000)
