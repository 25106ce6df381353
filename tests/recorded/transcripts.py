"""Transcripts: command lines, what they say, and a digest of every file that they write.

A line ``$ describe a.csv`` is a command; what follows it is its record: two blanks before a line of stdout,
``! `` before one of stderr, ``= 2`` for an exit status other than 0, ``+ file digest`` for what was written
and ``- file`` for what is gone. Lines that begin with ``#`` are for readers.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import re
import shlex
import zipfile
from functools import cache
from pathlib import Path

import polars as pl
from tests.command_line import tracearena

_SECONDS = re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min)\b(?! apart)")
_FRESH_SEED = re.compile(r"^seed \d+$", re.MULTILINE)
_COMMITMENT = re.compile(r"\b[0-9a-f]{64}\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{7,}(?:e-?\d+)?")
_DIGEST = 12


def replay(text: str, folder: Path) -> str:
    """Run the commands of a transcript in a folder, and return the transcript with what they do now."""
    lines = []
    for line in text.splitlines():
        if line.startswith("$ "):
            lines += ["", line, *_run(line[2:], folder)]
        elif line.startswith("#"):
            lines += ["", line]
    return "\n".join(lines).strip() + "\n"


def _run(command: str, folder: Path) -> list[str]:
    before = _digests(folder)
    done = tracearena(*shlex.split(command), folder=folder)
    after = _digests(folder)
    said = [f"  {line}".rstrip() for line in _plain(done.out, folder).splitlines()]
    said += [f"! {line}".rstrip() for line in _plain(done.err, folder).splitlines()]
    said += [f"= {done.status}"] if done.status else []
    said += [f"+ {name} {found}" for name, found in after.items() if before.get(name) != found]
    return said + [f"- {name}" for name in before if name not in after]


def _plain(text: str, folder: Path) -> str:
    """Leave out what differs from run to run: where it ran, how long, what is drawn, last bits of numbers."""
    text = _FRESH_SEED.sub("seed N", text.replace(str(folder), "FOLDER"))
    text = _COMMITMENT.sub("COMMITMENT", text)
    return _NUMBER.sub(lambda found: f"{float(found[0]):.6g}", _SECONDS.sub("T s", text))


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): _digest(path, folder, _version(path)) for path in files}


def _version(path: Path) -> tuple[int, ...]:
    """Return what tells that a file was written again: most files are read by many commands."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@cache
def _digest(path: Path, folder: Path, version: tuple[int, ...]) -> str:
    """Return a digest of what a file says: numbers to six digits, columns of tables, members of archives."""
    if path.suffix == ".salt":
        return "secret"
    content = path.read_bytes()
    if content[:4] == b"\x89PNG":
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        return f"picture of {width} x {height}"
    if content[:4] == b"PAR1" and path.suffix == ".parquet":
        content = _rows(path)
    elif content[:2] == b"\x1f\x8b":
        content = _unpacked(content)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return "archive of " + ", ".join(sorted(archive.namelist()))
    elif content[:6] == b"SQLite":
        return "database"
    with contextlib.suppress(UnicodeDecodeError):
        content = _plain(content.decode(), folder).encode()
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _rows(path: Path) -> bytes:
    try:
        return pl.read_parquet(path).write_json().encode()
    except pl.exceptions.PolarsError:
        return path.read_bytes()


def _unpacked(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (EOFError, OSError):
        return content
