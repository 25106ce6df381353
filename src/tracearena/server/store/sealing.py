"""Files that only the holder of a private key can open, in the manner of age.

A sealed file is made for one X25519 public key. Whoever seals needs no secret, so the web process can
seal what streams in and open nothing of it. Byte by byte::

    bytes 0 to 19    "tracearena sealed 1" and a line feed
    bytes 20 to 51   the public half of an X25519 pair drawn for this file alone
    from byte 52     chunks: each 65,536 bytes of the clear text, enciphered by ChaCha20-Poly1305, and
                     16 bytes of tag; the last one shorter, or as long, and empty only in an empty file

    key of the chunks     HKDF-SHA256 of the secret that X25519 agrees on; salt: the file's public half,
                          then the recipient's; info: the first 19 bytes of the file
    nonce of chunk i      i as 11 bytes, the highest first; then 1 for the last chunk, 0 for the others

This is age's X25519 recipient and its STREAM of chunks, for one recipient, so that the agreed secret
gives the key of the chunks at once. Nothing of the header can be changed without changing the key, no
chunk can be changed, moved, left out or added: each of that is a `SealError`.

References
----------
[1] https://c2sp.org/age. [2] V. T. Hoang, R. Reyhanitabar, P. Rogaway, D. Vizár, "Online
authenticated-encryption and its nonce-reuse misuse-resistance", CRYPTO 2015 (STREAM).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tracearena.errors import TracearenaError

KEY_BYTES = 32
CHUNK_BYTES = 65_536
_TAG_BYTES = 16
_NAME = b"tracearena sealed 1"
_MAGIC = _NAME + b"\n"


class SealError(TracearenaError):
    """Something sealed or wrapped that this key does not open, or that was changed."""


def new_pair() -> tuple[bytes, bytes]:
    """Return a new private key and its public key, 32 bytes each."""
    private = X25519PrivateKey.generate().private_bytes_raw()
    return private, public_of(private)


def public_of(private: bytes) -> bytes:
    """Return the public key of a private one."""
    return _private_key(private).public_key().public_bytes_raw()


def seal(public: bytes, clear: bytes) -> bytes:
    """Return bytes that only the owner of a public key can read.

    >>> private, public = new_pair()
    >>> unseal(private, seal(public, b"who is who"))
    b'who is who'
    """
    file = io.BytesIO()
    sealer = Sealer(public, file)
    sealer.write(clear)
    sealer.finish()
    return file.getvalue()


def unseal(private: bytes, sealed: bytes) -> bytes:
    """Return what was sealed to the public key of this private one."""
    return b"".join(unsealed_chunks(private, io.BytesIO(sealed)))


class Sealer:
    """Seals to a file what comes in pieces of any size; the clear text is never in the file.

    Parameters
    ----------
    public
        The key of who may read it.
    file
        Open for writing bytes; it is not closed here.
    """

    def __init__(self, public: bytes, file: IO[bytes]) -> None:
        own = X25519PrivateKey.generate()
        share = own.public_key().public_bytes_raw()
        self._cipher = _cipher(own, _public_key(public), share + bytes(public))
        self._file = file
        self._waiting = bytearray()
        self._chunks = 0
        self._is_finished = False
        file.write(_MAGIC + share)

    def write(self, chunk: bytes) -> None:
        """Seal some more bytes."""
        if self._is_finished:
            raise SealError("nothing can be sealed after the last chunk")
        self._waiting += chunk
        # A full chunk waits until more comes, since it may be the last, which has a nonce of its own.
        stop = max(len(self._waiting) - 1, 0) // CHUNK_BYTES * CHUNK_BYTES
        for start in range(0, stop, CHUNK_BYTES):
            self._put(bytes(self._waiting[start : start + CHUNK_BYTES]), is_last=False)
        del self._waiting[:stop]

    def finish(self) -> None:
        """Write the last chunk; without it nobody takes the file for whole."""
        if self._is_finished:
            raise SealError("the last chunk is written already")
        self._put(bytes(self._waiting), is_last=True)
        self._waiting.clear()
        self._is_finished = True

    def _put(self, clear: bytes, is_last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._chunks, is_last), clear, None))
        self._chunks += 1


def unsealed_chunks(private: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the clear chunks of a sealed file, each as soon as it is proven to be the sealer's.

    Only when the iterator ends without an error is the file known to be whole.
    """
    key = _private_key(private)
    header = _read(file, len(_MAGIC) + KEY_BYTES)
    if len(header) < len(_MAGIC) + KEY_BYTES or not header.startswith(_MAGIC):
        raise SealError("this is not a sealed file")
    share = header[len(_MAGIC) :]
    cipher = _cipher(key, _public_key(share), share + key.public_key().public_bytes_raw())
    number, chunk = 0, _read(file, CHUNK_BYTES + _TAG_BYTES)
    while True:
        following = _read(file, CHUNK_BYTES + _TAG_BYTES)
        yield _opened(cipher, number, chunk, is_last=not following)
        if not following:
            return
        number, chunk = number + 1, following


def _opened(cipher: ChaCha20Poly1305, number: int, chunk: bytes, is_last: bool) -> bytes:
    try:
        clear = cipher.decrypt(_nonce(number, is_last), chunk, None)
    except InvalidTag:
        raise SealError("what is sealed was made for another key, or was changed or cut") from None
    if number > 0 and not clear:
        raise SealError("what is sealed ends in an empty chunk")
    return clear


def _cipher(own: X25519PrivateKey, other: X25519PublicKey, salt: bytes) -> ChaCha20Poly1305:
    try:
        agreed = own.exchange(other)
    except ValueError:  # a point of low order, which would agree on zero with everybody
        raise SealError("this public key is none") from None
    return ChaCha20Poly1305(HKDF(SHA256(), KEY_BYTES, salt=salt, info=_NAME).derive(agreed))


def _nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _read(file: IO[bytes], size: int) -> bytes:
    """Read as many bytes as there are, up to a size, from files that give less at a time too."""
    pieces, missing = [], size
    while missing and (piece := file.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _private_key(private: bytes) -> X25519PrivateKey:
    if len(private) != KEY_BYTES:
        raise SealError(f"a private key has {KEY_BYTES} bytes")
    return X25519PrivateKey.from_private_bytes(bytes(private))


def _public_key(public: bytes) -> X25519PublicKey:
    if len(public) != KEY_BYTES:
        raise SealError(f"a public key has {KEY_BYTES} bytes")
    return X25519PublicKey.from_public_bytes(bytes(public))
