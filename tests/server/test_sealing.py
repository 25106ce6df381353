"""What is sealed opens with its key, whole and unchanged, or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.server.store.crypto import (
    CHUNK_BYTES,
    Sealer,
    SealError,
    derive_public_key,
    make_key_pair,
    seal,
    unseal,
    unseal_chunks,
)

PRIVATE, PUBLIC = make_key_pair()
HEADER, TAG = 52, 16
SEALED_CHUNK = CHUNK_BYTES + TAG

AROUND_A_CHUNK = st.one_of(
    st.integers(0, 40),
    st.integers(CHUNK_BYTES - 2, CHUNK_BYTES + 2),
    st.integers(2 * CHUNK_BYTES - 2, 2 * CHUNK_BYTES + 2),
)


class Trickle(io.BytesIO):
    """A file that gives at most 1,000 bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, 1_000))


@pytest.mark.parametrize("key", [b"", b"x" * 31, b"x" * 33])
def test_keys_of_another_length_are_refused(key: bytes) -> None:
    for use in (derive_public_key, lambda key: seal(key, b""), lambda key: unseal(key, seal(PUBLIC, b""))):
        with pytest.raises(SealError, match="has 32 bytes"):
            use(key)


def test_a_public_key_that_agrees_on_zero_with_everybody_is_refused() -> None:
    with pytest.raises(SealError):
        seal(bytes(32), b"secret")
    with pytest.raises(SealError):
        unseal(PRIVATE, seal(PUBLIC, b"secret")[:20] + bytes(32) + b"x" * 22)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
def test_a_sealed_file_has_the_published_size(size: int) -> None:
    clear = os.urandom(size)
    sealed = seal(PUBLIC, clear)
    chunks = max(-(-size // CHUNK_BYTES), 1)
    assert len(sealed) == HEADER + size + chunks * TAG
    assert sealed.startswith(b"tracearena sealed 1\n")
    assert unseal(PRIVATE, sealed) == clear


def test_the_format_is_the_one_written_down() -> None:
    """The last chunk of a file, opened with the primitives alone."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    sealed = seal(PUBLIC, b"a" * CHUNK_BYTES + b"the end")
    share = sealed[20:52]
    agreed = X25519PrivateKey.from_private_bytes(PRIVATE).exchange(X25519PublicKey.from_public_bytes(share))
    key = HKDF(SHA256(), 32, salt=share + PUBLIC, info=b"tracearena sealed 1").derive(agreed)
    last = ChaCha20Poly1305(key).decrypt(bytes(10) + b"\x01\x01", sealed[HEADER + SEALED_CHUNK :], None)
    assert last == b"the end"


@given(st.lists(AROUND_A_CHUNK, max_size=4), st.integers(0, 255))
def test_pieces_of_any_size_come_back(sizes: list[int], letter: int) -> None:
    pieces = [bytes([(letter + number) % 256]) * size for number, size in enumerate(sizes)]
    file = io.BytesIO()
    sealer = Sealer(PUBLIC, file)
    for piece in pieces:
        sealer.write(piece)
    sealer.finish()
    assert not file.closed
    chunks = list(unseal_chunks(PRIVATE, Trickle(file.getvalue())))
    assert b"".join(chunks) == b"".join(pieces)
    assert all(len(chunk) == CHUNK_BYTES for chunk in chunks[:-1])


def test_the_same_bytes_are_never_sealed_alike() -> None:
    assert seal(PUBLIC, b"the same") != seal(PUBLIC, b"the same")


def test_the_clear_text_is_not_in_the_file() -> None:
    clear = b"2001,17\n" * 20_000
    assert clear[:16] not in seal(PUBLIC, clear)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(SealError):
        unseal(make_key_pair()[0], seal(PUBLIC, b"secret"))


TWO_AND_A_BIT = os.urandom(2 * CHUNK_BYTES + 100)
FIRST, SECOND = HEADER, HEADER + SEALED_CHUNK
THIRD = SECOND + SEALED_CHUNK

TAMPERING: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda sealed: b"",
    "header alone": lambda sealed: sealed[:HEADER],
    "header cut": lambda sealed: sealed[: HEADER - 1],
    "another version": lambda sealed: sealed.replace(b"sealed 1", b"sealed 2", 1),
    "the clear text itself": lambda sealed: TWO_AND_A_BIT,
    "last byte missing": lambda sealed: sealed[:-1],
    "last chunk missing": lambda sealed: sealed[:THIRD],
    "all but one chunk missing": lambda sealed: sealed[:SECOND],
    "first chunk missing": lambda sealed: sealed[:FIRST] + sealed[SECOND:],
    "middle chunk missing": lambda sealed: sealed[:SECOND] + sealed[THIRD:],
    "two chunks exchanged": lambda sealed: (
        sealed[:FIRST] + sealed[SECOND:THIRD] + sealed[FIRST:SECOND] + sealed[THIRD:]
    ),
    "a chunk twice": lambda sealed: sealed[:SECOND] + sealed[FIRST:],
    "last chunk twice": lambda sealed: sealed + sealed[THIRD:],
    "one byte appended": lambda sealed: sealed + b"\0",
    "another sealed file appended": lambda sealed: sealed + seal(PUBLIC, b"more"),
    "the chunks of another file": lambda sealed: sealed[:HEADER] + seal(PUBLIC, TWO_AND_A_BIT)[HEADER:],
}


@pytest.mark.parametrize("how", TAMPERING)
def test_what_was_tampered_with_is_refused(how: str) -> None:
    with pytest.raises(SealError):
        unseal(PRIVATE, TAMPERING[how](seal(PUBLIC, TWO_AND_A_BIT)))


def test_every_bit_counts() -> None:
    sealed = seal(PUBLIC, b"three")
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SealError):
            unseal(PRIVATE, bytes(changed))


def test_an_empty_chunk_ends_only_an_empty_file() -> None:
    class Careless(Sealer):
        def close_at_a_chunk(self) -> None:
            self._write_chunk(bytes(CHUNK_BYTES), is_last=False)
            self._write_chunk(b"", is_last=True)

    file = io.BytesIO()
    Careless(PUBLIC, file).close_at_a_chunk()
    with pytest.raises(SealError, match="empty chunk"):
        unseal(PRIVATE, file.getvalue())


def test_chunks_before_the_damage_are_given_and_then_the_error() -> None:
    sealed = seal(PUBLIC, TWO_AND_A_BIT)
    chunks = unseal_chunks(PRIVATE, io.BytesIO(sealed[:-1]))
    assert next(chunks) + next(chunks) == TWO_AND_A_BIT[: 2 * CHUNK_BYTES]
    with pytest.raises(SealError):
        next(chunks)


def test_nothing_is_written_after_the_last_chunk() -> None:
    sealer = Sealer(PUBLIC, io.BytesIO())
    sealer.finish()
    with pytest.raises(SealError):
        sealer.write(b"more")
    with pytest.raises(SealError):
        sealer.finish()


def test_a_file_that_was_not_finished_is_refused() -> None:
    file = io.BytesIO()
    Sealer(PUBLIC, file).write(bytes(3 * CHUNK_BYTES))
    with pytest.raises(SealError):
        unseal(PRIVATE, file.getvalue())
