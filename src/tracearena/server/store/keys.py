"""Secrets that open other secrets: links, tokens, passwords, and the judge's key in its file.

A small secret is *wrapped* by a key of 32 bytes: 12 random bytes of nonce, then the secret enciphered by
ChaCha20-Poly1305 under a key that HKDF-SHA256 derives for the purpose. What a password wraps begins with
16 random bytes of salt for Argon2id. The database holds what is wrapped, and digests; what unwraps stands
in links, cookies and heads alone.

The judge's key file is text, for its owner alone to read::

    tracearena judge key 1
    public 64 hexadecimal digits
    private 64 hexadecimal digits                      or, under a passphrase:  locked 152 digits
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import unicodedata
from os import PathLike
from pathlib import Path

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tracearena.errors import FileError, ParameterError
from tracearena.files import replacing
from tracearena.server.store.sealing import KEY_BYTES, SealError, new_pair, public_of

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

    >>> key = secret_key(new_secret())
    >>> unwrap(wrap(b"a team's private key", key, "link"), key, "link")
    b"a team's private key"
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + _cipher(key, purpose).encrypt(nonce, secret, None)


def unwrap(wrapped: bytes, key: bytes, purpose: str) -> bytes:
    """Return what `wrap` wrapped."""
    try:
        return _cipher(key, purpose).decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        raise SealError(f"this key does not open what is wrapped for {purpose}") from None


def password_key(password: str, salt: bytes) -> bytes:
    """Return the key of a password, by Argon2id: 19 MiB, two passes, one lane.

    A letter with its accent counts the same, however the keyboard puts it together.
    """
    written = unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
    return hash_secret_raw(written, salt, _PASSES, _MEMORY_KIB, _LANES, KEY_BYTES, Type.ID)


def wrap_by_password(secret: bytes, password: str) -> bytes:
    """Return a secret that only the password unwraps."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return salt + wrap(secret, password_key(password, salt), _BY_PASSWORD)


def unwrap_by_password(wrapped: bytes, password: str) -> bytes:
    """Return what `wrap_by_password` wrapped."""
    if len(wrapped) < _SALT_BYTES:
        raise SealError("this is nothing that a password wraps")
    return unwrap(wrapped[_SALT_BYTES:], password_key(password, wrapped[:_SALT_BYTES]), _BY_PASSWORD)


def new_secret() -> str:
    """Return 256 random bits as text for a link, a token or a cookie."""
    return secrets.token_urlsafe(KEY_BYTES)


def secret_key(text: str) -> bytes:
    """Return the key of a secret text.

    It does not follow from `digest`, which the database holds.
    """
    return _derived(text.encode("utf-8", "surrogatepass"), "key of a secret text")


def digest(text: str) -> str:
    """Return what the database keeps of a secret text: SHA-256 in hexadecimal digits.

    A text of 256 random bits cannot be found by trying, so no slow hash is needed.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def derived_signing_key(judge_key: bytes) -> bytes:
    """Return the Ed25519 private key by which a judge signs; its own key does not follow from it."""
    return _derived(judge_key, "signature of the judge")


def write_judge_key(path: str | PathLike[str], passphrase: str | None) -> bytes:
    """Make the judge's pair, write it to a new file for its owner alone, and return the public key."""
    if passphrase == "":
        raise ParameterError.of("passphrase", passphrase, "at least one character long")
    if os.path.lexists(path):
        raise FileError.whole(path, "is there already; a judge's key is never written over", "exists")
    private, public = new_pair()
    if passphrase is None:
        last = f"private {private.hex()}"
    else:
        last = f"locked {wrap_by_password(private, passphrase).hex()}"
    with replacing(path, private=True) as file:
        file.write(f"tracearena judge key 1\npublic {public.hex()}\n{last}\n".encode())
    return public


def needs_passphrase(path: str | PathLike[str]) -> bool:
    """Whether a judge's key file is under a passphrase."""
    return _read_parts(path)[2] is not None


def read_judge_key(path: str | PathLike[str], passphrase: str | None = None) -> bytes:
    """Return the judge's private key; a passphrase counts only where the file is under one."""
    public, private, locked = _read_parts(path)
    if private is None:
        private = _unlocked(path, bytes.fromhex(locked or ""), passphrase).hex()
    if public_of(bytes.fromhex(private)).hex() != public:
        raise FileError.whole(path, "holds a private key that does not fit its public key", "other-key")
    return bytes.fromhex(private)


def _unlocked(path: str | PathLike[str], locked: bytes, passphrase: str | None) -> bytes:
    if passphrase is None:
        raise ParameterError(f"{path} is under a passphrase, and none was given")
    try:
        return unwrap_by_password(locked, passphrase)
    except SealError:
        raise ParameterError(f"the passphrase given is not the one of {path}") from None


def _read_parts(path: str | PathLike[str]) -> tuple[str, str | None, str | None]:
    """Return public key, private key and locked private key of a file that only its owner may read."""
    with Path(path).open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        content = file.read(_LONGEST_KEY_FILE)
    match = _JUDGE_KEY.fullmatch(content.decode("ascii", "replace"))
    if match is None:
        raise FileError.whole(path, "is not a judge's key file", "not-a-judge-key")
    if mode & 0o077:
        problem = f"can be read or changed by others (mode {mode:04o}); say: chmod 600 {path}"
        raise FileError.whole(path, problem, "not-private")
    return match[1], match[2], match[3]


def _cipher(key: bytes, purpose: str) -> ChaCha20Poly1305:
    if len(key) != KEY_BYTES:
        raise SealError(f"a key has {KEY_BYTES} bytes")
    return ChaCha20Poly1305(_derived(key, purpose))


def _derived(material: bytes, purpose: str) -> bytes:
    info = f"tracearena 1 {purpose}".encode()
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(material)
