"""Secrets that open other secrets, and the judge's key in its file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import FileError, ParameterError
from tracearena.server.store.crypto import (
    SealError,
    derive_password_key,
    derive_public_key,
    derive_secret_key,
    hash_secret,
    make_secret,
    needs_passphrase,
    read_judge_key,
    unwrap,
    unwrap_by_password,
    wrap,
    wrap_by_password,
    write_judge_key,
)

KEY = bytes(range(32))


@pytest.mark.parametrize("key", [b"", b"x" * 31, b"x" * 33])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(SealError):
        wrap(b"secret", key, "link")
    with pytest.raises(SealError):
        unwrap(wrap(b"secret", KEY, "link"), key, "link")


@given(st.binary(max_size=200), st.binary(min_size=32, max_size=32), st.text(max_size=20))
def test_what_is_wrapped_comes_back(secret: bytes, key: bytes, purpose: str) -> None:
    purpose = purpose.encode("utf-8", "replace").decode()
    assert unwrap(wrap(secret, key, purpose), key, purpose) == secret


def test_a_wrapped_secret_opens_for_its_key_and_purpose_alone() -> None:
    wrapped = wrap(b"secret", KEY, "link")
    with pytest.raises(SealError):
        unwrap(wrapped, KEY[::-1], "link")
    with pytest.raises(SealError):
        unwrap(wrapped, KEY, "token")


def test_every_bit_of_a_wrapped_secret_counts() -> None:
    wrapped = wrap(b"secret", KEY, "link")
    for bit in range(8 * len(wrapped)):
        changed = bytearray(wrapped)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SealError):
            unwrap(bytes(changed), KEY, "link")
    for length in range(len(wrapped)):
        with pytest.raises(SealError):
            unwrap(wrapped[:length], KEY, "link")
    with pytest.raises(SealError):
        unwrap(wrapped + b"\0", KEY, "link")


def test_the_same_secret_is_never_wrapped_alike() -> None:
    assert wrap(b"secret", KEY, "link") != wrap(b"secret", KEY, "link")
    assert wrap_by_password(b"secret", "one") != wrap_by_password(b"secret", "one")


@pytest.mark.parametrize("password", ["", "correct horse", "пароль 密码", "x" * 1_000, "\ud800"])
def test_a_password_opens_what_it_wrapped(password: str) -> None:
    wrapped = wrap_by_password(b"secret", password)
    assert unwrap_by_password(wrapped, password) == b"secret"
    with pytest.raises(SealError):
        unwrap_by_password(wrapped, password + "!")


def test_what_no_password_wrapped_is_refused() -> None:
    for wrapped in (b"", b"x" * 15, b"x" * 16, b"x" * 60):
        with pytest.raises(SealError):
            unwrap_by_password(wrapped, "password")


def test_an_accent_counts_the_same_however_it_is_typed() -> None:
    salt = bytes(16)
    assert derive_password_key("caf\u00e9", salt) == derive_password_key("cafe\u0301", salt)
    assert derive_password_key("cafe", salt) != derive_password_key("caf\u00e9", salt)


def test_passwords_cost_19_mib_and_two_passes() -> None:
    from argon2.low_level import Type, hash_secret_raw

    expected = hash_secret_raw(b"password", b"s" * 16, 2, 19 * 1024, 1, 32, Type.ID)
    assert derive_password_key("password", b"s" * 16) == expected


def test_secret_texts_have_256_bits_and_fit_a_link() -> None:
    texts = {make_secret() for _ in range(100)}
    assert len(texts) == 100
    assert all(len(text) == 43 and text.replace("-", "").replace("_", "").isalnum() for text in texts)


def test_the_digest_in_the_database_is_not_the_key() -> None:
    text = make_secret()
    assert len(derive_secret_key(text)) == 32
    assert derive_secret_key(text) == derive_secret_key(text)
    assert derive_secret_key(text) != bytes.fromhex(hash_secret(text))
    assert hash_secret("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_the_judges_key_comes_back_from_its_file(tmp_path: Path, passphrase: str | None) -> None:
    path = tmp_path / "judge-key"
    public = write_judge_key(path, passphrase)
    private = read_judge_key(path, passphrase)
    assert derive_public_key(private) == public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert needs_passphrase(path) == (passphrase is not None)
    assert (private.hex() in path.read_text()) == (passphrase is None)


def test_the_umask_cannot_open_the_judges_key(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_judge_key(tmp_path / "judge-key", None)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "judge-key").stat().st_mode) == 0o600


def test_a_judges_key_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "judge-key"
    write_judge_key(path, None)
    before = path.read_bytes()
    with pytest.raises(FileError, match="already exists"):
        write_judge_key(path, None)
    assert path.read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match="already exists"):
        write_judge_key(tmp_path / "link", None)


def test_an_empty_passphrase_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        write_judge_key(tmp_path / "judge-key", "")
    assert not list(tmp_path.iterdir())


def test_a_passphrase_that_is_missing_or_wrong_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "judge-key"
    write_judge_key(path, "right")
    with pytest.raises(ParameterError, match="none was given"):
        read_judge_key(path)
    with pytest.raises(ParameterError, match="not the one of"):
        read_judge_key(path, "wrong")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o660])
def test_a_key_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "judge-key"
    write_judge_key(path, None)
    path.chmod(mode)
    with pytest.raises(FileError, match="chmod 600"):
        read_judge_key(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n",
        b"tracearena judge key 1\n",
        b"tracearena judge key 2\npublic " + b"0" * 64 + b"\nprivate " + b"0" * 64 + b"\n",
        b"tracearena judge key 1\npublic " + b"0" * 64 + b"\nprivate " + b"0" * 62 + b"\n",
        b"tracearena judge key 1\npublic " + b"0" * 64 + b"\nprivate " + b"0" * 64 + b"\n\n",
        b"\xff" * 2_000,
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "judge-key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FileError, match="not a judge's key file"):
        read_judge_key(path)


def test_a_private_key_must_fit_its_public_key(tmp_path: Path) -> None:
    path = tmp_path / "judge-key"
    write_judge_key(path, None)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "public " + "1" * 64, lines[2], ""]))
    with pytest.raises(FileError, match="does not fit"):
        read_judge_key(path)


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="judge-key"):
        read_judge_key(tmp_path / "judge-key")
