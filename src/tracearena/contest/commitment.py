"""The judge's promise not to change an ID table: a salted hash, published before the attacks.

The hash is SHA-256 of one text: the salt as 64 hexadecimal digits, a line feed, and the ID table as
its CSV file (header ``pse_id,user_id``, line feeds, ascending by pseudonym). So anybody can check
it with a shell::

    (echo SALT; cat ptable.csv) | sha256sum
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError, ParameterError
from tracearena.traces import IdTable

_SALT_BYTES = 32
_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Commitment:
    """A published digest and the salt that opens it, both as 64 hexadecimal digits.

    The salt stays secret, like the table, until the attack phase is over.
    """

    digest: str
    salt: str = field(repr=False)


def commit(id_table: IdTable, *, seed: SeedLike = None) -> Commitment:
    """Fix an ID table with a fresh salt of 32 bytes.

    Without the salt the digest says nothing about the table, however few users there are.

    Parameters
    ----------
    id_table
        The judge's table.
    seed
        None, for a real release, takes the salt from the operating system's cryptographic source.
        A seed is for experiments.

    Examples
    --------
    >>> table = IdTable([2001, 2002, 2003], [2, 3, 1])
    >>> commitment = commit(table)
    >>> verify(commitment.digest, table, commitment.salt)
    True
    >>> verify(commitment.digest, IdTable([2001, 2002, 2003], [2, 1, 3]), commitment.salt)
    False
    """
    if not id_table.is_one_to_one:
        raise DataError("an ID table with a user named twice cannot be the judge's")
    salt = secrets.token_hex(_SALT_BYTES) if seed is None else generator(seed).bytes(_SALT_BYTES).hex()
    return Commitment(_digest(id_table, salt), salt)


def verify(digest: str, id_table: IdTable, salt: str) -> bool:
    """Whether an opened table and salt are those of the published digest."""
    _check_hex("digest", digest)
    _check_hex("salt", salt)
    return hmac.compare_digest(digest, _digest(id_table, salt))


def id_table_text(id_table: IdTable) -> str:
    """Return an ID table as its CSV file, whatever its ids; this is what `commit` fixes.

    >>> id_table_text(IdTable(["P3", "P4"], ["bob", "a,b"]))
    'pse_id,user_id\\nP3,bob\\nP4,"a,b"\\n'
    """
    rows = zip(_written(id_table.pseudonyms), _written(id_table.user_ids), strict=True)
    return "".join(["pse_id,user_id\n", *(f"{pseudonym},{user}\n" for pseudonym, user in rows)])


def _digest(id_table: IdTable, salt: str) -> str:
    return hashlib.sha256(f"{salt}\n{id_table_text(id_table)}".encode()).hexdigest()


def _written(identifiers: NDArray[Any]) -> list[str]:
    if identifiers.dtype.kind == "i":
        return [str(number) for number in identifiers.tolist()]
    return [_quoted(text) for text in identifiers.tolist()]


def _quoted(text: str) -> str:
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _check_hex(name: str, value: str) -> None:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise ParameterError.of(name, value, "64 hexadecimal digits in lower case")
