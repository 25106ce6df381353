"""The judge's promise not to change an ID table: a salted hash, published before the attacks.

The hash is SHA-256 of one text: the salt as 64 hexadecimal digits, a line feed, and the ID table as
its CSV file (header ``pse_id,user_id``, line feeds, ascending by pseudonym). So anybody can check
it with a shell::

    (echo SALT; cat ptable.csv) | sha256sum

In a contest with a live board the users of the board are fixed as well: a second table follows in the
same text, its header ``live_user_id``, its ids ascending, one a line::

    (echo SALT; cat ptable.csv live.csv) | sha256sum
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError, ParameterError
from tracearena.traces import IdTable
from tracearena.traces._arrays import positions

LIVE_HEADER = "live_user_id"
_SALT_BYTES = 32
_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Commitment:
    """A published digest and the salt that opens it, both as 64 hexadecimal digits.

    The salt stays secret, like the table, until the attack phase is over.
    """

    digest: str
    salt: str = field(repr=False)


def commit(
    id_table: IdTable, *, live: Any = None, salt: str | None = None, seed: SeedLike = None
) -> Commitment:
    """Fix an ID table, and the users of the live board if there is one, with a salt of 32 bytes.

    Without the salt the digest says nothing about the table, however few users there are.

    Parameters
    ----------
    id_table
        The judge's table.
    live
        Ids of the users of the live board; None where there is no such board.
    salt
        The salt of a commitment that was made before, to say the same again; a fresh one if omitted.
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
    if salt is None:
        salt = secrets.token_hex(_SALT_BYTES) if seed is None else generator(seed).bytes(_SALT_BYTES).hex()
    _check_hex("salt", salt)
    if live is not None:
        _require_users(live, id_table)
    return Commitment(_digest(id_table, salt, live), salt)


def verify(digest: str, id_table: IdTable, salt: str, live: Any = None) -> bool:
    """Whether an opened table, salt and users of the live board are those of the published digest."""
    _check_hex("digest", digest)
    _check_hex("salt", salt)
    return hmac.compare_digest(digest, _digest(id_table, salt, live))


def id_table_text(id_table: IdTable) -> str:
    """Return an ID table as its CSV file, whatever its ids; this is what `commit` fixes.

    >>> id_table_text(IdTable(["P3", "P4"], ["bob", "a,b"]))
    'pse_id,user_id\\nP3,bob\\nP4,"a,b"\\n'
    """
    rows = zip(_written(id_table.pseudonyms), _written(id_table.user_ids), strict=True)
    return "".join(["pse_id,user_id\n", *(f"{pseudonym},{user}\n" for pseudonym, user in rows)])


def live_text(live: Any) -> str:
    """Return the users of a live board as their CSV file, ascending.

    >>> live_text([7, 2])
    'live_user_id\\n2\\n7\\n'
    """
    return "".join([f"{LIVE_HEADER}\n", *(f"{user}\n" for user in _written(np.sort(np.asarray(live))))])


def _digest(id_table: IdTable, salt: str, live: Any) -> str:
    tables = id_table_text(id_table) + ("" if live is None else live_text(live))
    return hashlib.sha256(f"{salt}\n{tables}".encode()).hexdigest()


def _require_users(live: Any, id_table: IdTable) -> None:
    users = np.asarray(live)
    at = positions(users, id_table.user_ids)
    if not 0 < len(np.unique(at)) == len(at) < len(id_table) or (at < 0).any():
        raise DataError("the users of a live board are some of the users of the ID table, and not all")


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
