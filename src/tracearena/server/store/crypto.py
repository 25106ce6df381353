"""Files that only the holder of a private key can open, in the manner of age; keys, secrets, passwords.

A sealed file is made for one X25519 public key. Sealing needs no secret, so the web process can
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
import os
import re
import secrets
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tracearena.errors import FileError, ParameterError, TracearenaError
from tracearena.files import digest_values, replacing

KEY_BYTES = 32
CHUNK_BYTES = 65_536
_TAG_BYTES = 16
_FORMAT_NAME = b"tracearena sealed 1"
_MAGIC = _FORMAT_NAME + b"\n"


class SealError(TracearenaError):
    """Something sealed or wrapped that this key does not open, or that was changed."""


def make_key_pair() -> tuple[bytes, bytes]:
    """Return a new private key and its public key, 32 bytes each."""
    private = X25519PrivateKey.generate().private_bytes_raw()
    return private, derive_public_key(private)


def derive_public_key(private: bytes) -> bytes:
    """Return the public key of a private one."""
    return _parse_private_key(private).public_key().public_bytes_raw()


def seal(public: bytes, clear: bytes) -> bytes:
    """Return bytes that only the owner of a public key can read.

    >>> private, public = make_key_pair()
    >>> unseal(private, seal(public, b"who is who"))
    b'who is who'
    """
    file = io.BytesIO()
    sealer = Sealer(public, file)
    sealer.write(clear)
    sealer.finish()
    return file.getvalue()


def unseal(private: bytes, sealed: bytes) -> bytes:
    """Return the content that was sealed to the public key of this private key."""
    return b"".join(unseal_chunks(private, io.BytesIO(sealed)))


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
        self._cipher = _make_seal_cipher(own, _parse_public_key(public), share + bytes(public))
        self._file = file
        self._waiting = bytearray()
        self._chunks = 0
        self._is_finished = False
        file.write(_MAGIC + share)

    def write(self, chunk: bytes) -> None:
        """Seal some more bytes."""
        if self._is_finished:
            raise SealError("nothing can be written after the last chunk")
        self._waiting += chunk
        # A full chunk waits until more comes, since it may be the last, which has a nonce of its own.
        stop = max(len(self._waiting) - 1, 0) // CHUNK_BYTES * CHUNK_BYTES
        for start in range(0, stop, CHUNK_BYTES):
            self._write_chunk(bytes(self._waiting[start : start + CHUNK_BYTES]), is_last=False)
        del self._waiting[:stop]

    def finish(self) -> None:
        """Write the last chunk; without it, the file counts as truncated."""
        if self._is_finished:
            raise SealError("the last chunk was already written")
        self._write_chunk(bytes(self._waiting), is_last=True)
        self._waiting.clear()
        self._is_finished = True

    def _write_chunk(self, clear: bytes, is_last: bool) -> None:
        self._file.write(self._cipher.encrypt(_make_nonce(self._chunks, is_last), clear, None))
        self._chunks += 1


def unseal_chunks(private: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the clear chunks of a sealed file, each as soon as it is proven to be the sealer's.

    The file is known to be complete only if the iterator ends without an error.
    """
    key = _parse_private_key(private)
    header = _read_full(file, len(_MAGIC) + KEY_BYTES)
    if len(header) < len(_MAGIC) + KEY_BYTES or not header.startswith(_MAGIC):
        raise SealError("this is not a sealed file")
    share = header[len(_MAGIC) :]
    cipher = _make_seal_cipher(key, _parse_public_key(share), share + key.public_key().public_bytes_raw())
    number, chunk = 0, _read_full(file, CHUNK_BYTES + _TAG_BYTES)
    while True:
        following = _read_full(file, CHUNK_BYTES + _TAG_BYTES)
        try:
            clear = cipher.decrypt(_make_nonce(number, not following), chunk, None)
        except InvalidTag:
            raise SealError("the file was sealed for another key, or it was changed or truncated") from None
        if number > 0 and not clear:
            raise SealError("the sealed file ends in an empty chunk")
        yield clear
        if not following:
            return
        number, chunk = number + 1, following


def _make_seal_cipher(own: X25519PrivateKey, other: X25519PublicKey, salt: bytes) -> ChaCha20Poly1305:
    try:
        agreed = own.exchange(other)
    except ValueError:  # a point of low order, which would agree on zero with everybody
        raise SealError("this is not a public key") from None
    return ChaCha20Poly1305(HKDF(SHA256(), KEY_BYTES, salt=salt, info=_FORMAT_NAME).derive(agreed))


def _make_nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _read_full(file: IO[bytes], size: int) -> bytes:
    """Read as many bytes as there are, up to a size, from files that give less at a time too."""
    pieces, missing = [], size
    while missing and (piece := file.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _parse_private_key(private: bytes) -> X25519PrivateKey:
    if len(private) != KEY_BYTES:
        raise SealError(f"a private key has {KEY_BYTES} bytes")
    return X25519PrivateKey.from_private_bytes(bytes(private))


def _parse_public_key(public: bytes) -> X25519PublicKey:
    if len(public) != KEY_BYTES:
        raise SealError(f"a public key has {KEY_BYTES} bytes")
    return X25519PublicKey.from_public_bytes(bytes(public))


# Secrets that open other secrets: links, tokens, passwords, and the judge's key in its file.


_NONCE_BYTES, _SALT_BYTES = 12, 16
_MEMORY_KIB, _PASSES, _LANES = 19 * 1024, 2, 1
_BY_PASSWORD = "password"
_JUDGE_KEY = re.compile(
    r"tracearena judge key 1\npublic ([0-9a-f]{64})\n(?:private ([0-9a-f]{64})|locked ([0-9a-f]{152}))\n",
    re.ASCII,
)
_LONGEST_KEY_FILE = 1_000


def wrap(secret: bytes, key: bytes, purpose: str) -> bytes:
    """Return a secret that only the same key, for the same purpose, unwraps.

    >>> key = derive_secret_key(make_secret())
    >>> unwrap(wrap(b"a team's private key", key, "link"), key, "link")
    b"a team's private key"
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + _make_wrap_cipher(key, purpose).encrypt(nonce, secret, None)


def unwrap(wrapped: bytes, key: bytes, purpose: str) -> bytes:
    """Return what `wrap` wrapped."""
    try:
        return _make_wrap_cipher(key, purpose).decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        raise SealError(f"this key does not open what is wrapped for {purpose}") from None


def derive_password_key(password: str, salt: bytes) -> bytes:
    """Return the key of a password, by Argon2id: 19 MiB, two passes, one lane.

    A letter with its accent counts the same, however the keyboard puts it together.
    """
    written = unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
    return hash_secret_raw(written, salt, _PASSES, _MEMORY_KIB, _LANES, KEY_BYTES, Type.ID)


def wrap_by_password(secret: bytes, password: str) -> bytes:
    """Return a secret that only the password unwraps."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return salt + wrap(secret, derive_password_key(password, salt), _BY_PASSWORD)


def unwrap_by_password(wrapped: bytes, password: str) -> bytes:
    """Return what `wrap_by_password` wrapped."""
    if len(wrapped) < _SALT_BYTES:
        raise SealError("this is not a key that a password wraps")
    return unwrap(wrapped[_SALT_BYTES:], derive_password_key(password, wrapped[:_SALT_BYTES]), _BY_PASSWORD)


def make_secret() -> str:
    """Return 256 random bits as text for a link, a token or a cookie."""
    return secrets.token_urlsafe(KEY_BYTES)


def derive_secret_key(text: str) -> bytes:
    """Return the key of a secret text.

    It does not follow from `hash_secret`, which the database holds.
    """
    return _derive_key(text.encode("utf-8", "surrogatepass"), "key of a secret text")


def hash_secret(text: str) -> str:
    """Return what the database keeps of a secret text: SHA-256 in hexadecimal digits.

    A text of 256 random bits cannot be found by trying, so no slow hash is needed.
    """
    return digest_values(text.encode("utf-8", "surrogatepass"))


def derive_signing_key(judge_key: bytes) -> bytes:
    """Return the Ed25519 private key by which a judge signs; its own key does not follow from it."""
    return _derive_key(judge_key, "signature of the judge")


def write_judge_key(path: str | PathLike[str], passphrase: str | None) -> bytes:
    """Make the judge's pair, write it to a new file for its owner alone, and return the public key."""
    if passphrase == "":
        raise ParameterError.of("passphrase", passphrase, "at least one character long")
    if os.path.lexists(path):
        raise FileError.whole(path, "already exists; a judge's key is never overwritten", "exists")
    private, public = make_key_pair()
    if passphrase is None:
        last = f"private {private.hex()}"
    else:
        last = f"locked {wrap_by_password(private, passphrase).hex()}"
    with replacing(path, private=True) as file:
        file.write(f"tracearena judge key 1\npublic {public.hex()}\n{last}\n".encode())
    return public


def needs_passphrase(path: str | PathLike[str]) -> bool:
    """Whether a judge's key file is under a passphrase."""
    return _read_key_file(path)[2] is not None


def read_judge_key(path: str | PathLike[str], passphrase: str | None = None) -> bytes:
    """Return the judge's private key; a passphrase counts only where the file is under one."""
    public, private, locked = _read_key_file(path)
    if private is None:
        private = _unlock_private_key(path, bytes.fromhex(locked or ""), passphrase).hex()
    if derive_public_key(bytes.fromhex(private)).hex() != public:
        raise FileError.whole(path, "holds a private key that does not fit its public key", "other-key")
    return bytes.fromhex(private)


def _unlock_private_key(path: str | PathLike[str], locked: bytes, passphrase: str | None) -> bytes:
    if passphrase is None:
        raise ParameterError(f"{path} is protected by a passphrase, and none was given")
    try:
        return unwrap_by_password(locked, passphrase)
    except SealError:
        raise ParameterError(f"the passphrase given is not the one of {path}") from None


def _read_key_file(path: str | PathLike[str]) -> tuple[str, str | None, str | None]:
    """Return public key, private key and locked private key of a file that only its owner may read."""
    with Path(path).open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        content = file.read(_LONGEST_KEY_FILE)
    match = _JUDGE_KEY.fullmatch(content.decode("ascii", "replace"))
    if match is None:
        raise FileError.whole(path, "is not a judge's key file", "not-a-judge-key")
    if mode & 0o077:
        problem = f"can be read or changed by others (mode {mode:04o}); run: chmod 600 {path}"
        raise FileError.whole(path, problem, "not-private")
    return match[1], match[2], match[3]


def _make_wrap_cipher(key: bytes, purpose: str) -> ChaCha20Poly1305:
    if len(key) != KEY_BYTES:
        raise SealError(f"a key has {KEY_BYTES} bytes")
    return ChaCha20Poly1305(_derive_key(key, purpose))


def _derive_key(material: bytes, purpose: str) -> bytes:
    info = f"tracearena 1 {purpose}".encode()
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(material)


# A temporary file of which the disk sees nothing: enciphered by a key that only this process has.


_BLOCK = 16


class CipherFile(io.RawIOBase):
    """A file without a name, written from its begin to its end, and read at any place.

    What lies on the disk is enciphered by AES-256 in counter mode, with a key that is drawn for this file
    and is nowhere but in memory. It is gone when it is closed, or when the process ends in any way.

    Parameters
    ----------
    folder
        Where there is space for it.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._key = secrets.token_bytes(KEY_BYTES)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any, /) -> int:
        at = self._file.tell()
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = self._encipher(at, piece)
        return len(piece)

    def write(self, piece: Any, /) -> int:
        left = memoryview(self._encipher(self._file.tell(), bytes(piece)))
        while left:
            left = left[self._file.write(left) :]
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _encipher(self, at: int, piece: bytes) -> bytes:
        """Return what stands at a place for some bytes; doing it twice gives them back."""
        block, skipped = divmod(at, _BLOCK)
        stream = Cipher(AES(self._key), CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        stream.update(bytes(skipped))
        return stream.update(piece)
