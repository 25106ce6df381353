"""A temporary file of which the disk sees nothing: enciphered by a key that only this process has."""

from __future__ import annotations

import io
import secrets
import tempfile
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

_BLOCK = 16
_KEY_BYTES = 32


class EncipheredFile(io.RawIOBase):
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
        self._key = secrets.token_bytes(_KEY_BYTES)

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
        buffer[: len(piece)] = self._enciphered(at, piece)
        return len(piece)

    def write(self, piece: Any, /) -> int:
        left = memoryview(self._enciphered(self._file.tell(), bytes(piece)))
        while left:
            left = left[self._file.write(left) :]
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _enciphered(self, at: int, piece: bytes) -> bytes:
        """Return what stands at a place for some bytes; doing it twice gives them back."""
        block, skipped = divmod(at, _BLOCK)
        stream = Cipher(AES(self._key), CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        stream.update(bytes(skipped))
        return stream.update(piece)
