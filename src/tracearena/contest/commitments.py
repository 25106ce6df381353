"""Commitments to ID tables: salted hashes that the judge publishes before the attacks.

The hash is SHA-256 of one text: the salt as 64 hexadecimal digits, a line feed, and the ID table as
its CSV file (header ``pse_id,user_id``, line feeds, ascending by pseudonym). So anybody can check
it with a shell::

    (echo SALT; cat ptable.csv) | sha256sum

In a contest with a live board the users of the board are fixed as well: a second table follows in the
same text, its header ``live_user_id``, its ids ascending, one per line::

    (echo SALT; cat ptable.csv live.csv) | sha256sum
"""

from __future__ import annotations

import csv
import hmac
import io
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.pseudonyms import Release, pseudonymise, random_order
from tracearena.checks import require_number
from tracearena.contest.phases import require_utc
from tracearena.contest.rules import Rules
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.files import csv_text, digest_values, read_bytes, replacing
from tracearena.traces import IdTable, ObfuscatedTraces
from tracearena.traces._arrays import find_positions, to_comparable_ids

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
    """Return the commitment to an ID table, and to the users of the live board if there is one.

    Without the salt, the digest reveals nothing about the table, even if there are only a few users.

    Parameters
    ----------
    id_table
        The judge's table.
    live
        Ids of the users of the live board; None if there is no such board.
    salt
        The salt of an earlier commitment, to compute it again; a new one if omitted.
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
        raise DataError("an ID table of the judge must not name a user twice")
    if salt is None:
        salt = secrets.token_hex(_SALT_BYTES) if seed is None else generator(seed).bytes(_SALT_BYTES).hex()
    _check_hex("salt", salt)
    if live is not None:
        at = find_positions(np.asarray(live), id_table.user_ids)
        if not 0 < len(np.unique(at)) == len(at) < len(id_table) or (at < 0).any():
            raise DataError("the users of a live board must be some, but not all, users of the ID table")
    return Commitment(_compute_digest(id_table, salt, live), salt)


def verify(digest: str, id_table: IdTable, salt: str, live: Any = None) -> bool:
    """Whether an opened table, its salt and the users of the live board match the published digest."""
    _check_hex("digest", digest)
    _check_hex("salt", salt)
    return hmac.compare_digest(digest, _compute_digest(id_table, salt, live))


def id_table_text(id_table: IdTable) -> str:
    """Return an ID table as CSV text; `commit` hashes this text.

    >>> id_table_text(IdTable(["P3", "P4"], ["bob", "a,b"]))
    'pse_id,user_id\\nP3,bob\\nP4,"a,b"\\n'
    """
    rows = zip(_format_ids(id_table.pseudonyms), _format_ids(id_table.user_ids), strict=True)
    return "".join(["pse_id,user_id\n", *(f"{pseudonym},{user}\n" for pseudonym, user in rows)])


def format_live_users(live: Any) -> str:
    """Return the users of a live board as their CSV file, ascending.

    >>> format_live_users([7, 2])
    'live_user_id\\n2\\n7\\n'
    """
    return "".join([f"{LIVE_HEADER}\n", *(f"{user}\n" for user in _format_ids(np.sort(np.asarray(live))))])


def _compute_digest(id_table: IdTable, salt: str, live: Any) -> str:
    tables = id_table_text(id_table) + ("" if live is None else format_live_users(live))
    return digest_values(f"{salt}\n{tables}")


def _format_ids(identifiers: NDArray[Any]) -> list[str]:
    if identifiers.dtype.kind == "i":
        return [str(number) for number in identifiers.tolist()]
    return [
        '"' + text.replace('"', '""') + '"' if any(letter in text for letter in ',"\r\n') else text
        for text in identifiers.tolist()
    ]


def _check_hex(name: str, value: str) -> None:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise ParameterError.of(name, value, "64 hexadecimal digits in lower case")


# The live board: which users it is computed from, when it changes, how much of a score it shows.


def draw_live_users(user_ids: Any, share: float, *, seed: SeedLike = None) -> NDArray[Any]:
    """Draw the users of a target's live board, and return their ids, ascending.

    Their number is the share of all users, rounded; at least one is drawn and at least one is left.

    Parameters
    ----------
    user_ids
        All users of the target, at least two.
    share
        Share of the users, between 0 and 1.
    seed
        None, for a real contest, draws by the operating system's cryptographic source and cannot be
        repeated. A seed is for experiments.

    Examples
    --------
    >>> len(draw_live_users(range(1, 11), 0.3))
    3
    """
    require_number("share", share, above=0, below=1)
    users = np.asarray(user_ids)
    if len(users) < 2:
        raise DataError(
            f"a live board needs at least two users, not {len(users)}: one for the "
            "board and one for the final scores"
        )
    count = min(max(round(share * len(users)), 1), len(users) - 1)
    return np.sort(users[random_order(len(users), seed)[:count]])


def live_users(rules: Rules, user_ids: Any, *, seed: SeedLike = None) -> NDArray[Any] | None:
    """Draw the users of the live board of a target by the rules; None if there is no live board."""
    return draw_live_users(user_ids, rules.live_share, seed=seed) if rules.mode == "live" else None


def select_final_users(user_ids: Any, live: Any) -> NDArray[Any]:
    """Return the users who are not on the live board, and so decide the final scores.

    >>> select_final_users([1, 2, 3, 4], [3]).tolist()
    [1, 2, 4]
    """
    users = np.asarray(user_ids)
    return np.asarray(users[~np.isin(*to_comparable_ids(users, np.asarray(live)))])


def release_one(
    obfuscated: ObfuscatedTraces, rules: Rules, *, seeds: Sequence[SeedLike] = (None, None, None)
) -> tuple[Release[ObfuscatedTraces], NDArray[Any] | None, Commitment]:
    """Draw pseudonyms and the users of the live board of one data set, once, and commit to both.

    Parameters
    ----------
    seeds
        Of the shuffle, the salt and the live users, for experiments. None, for a real contest, draws by
        the operating system's cryptographic source.
    """
    release = pseudonymise(obfuscated, seed=seeds[0])
    live = live_users(rules, release.id_table.user_ids, seed=seeds[2])
    return release, live, commit(release.id_table, live=live, seed=seeds[1])


def refresh_at(rules: Rules, now: datetime) -> datetime:
    """Return when the current live board was computed: the last refresh hour until now.

    >>> refresh_at(Rules(), datetime(2026, 5, 9, 14, 30, tzinfo=UTC)).isoformat()
    '2026-05-09T12:00:00+00:00'
    """
    moment = require_utc(now, "now")
    hours = rules.live_refresh_hours
    passed = [hour for hour in hours if hour <= moment.hour]
    day = moment.date() if passed else moment.date() - timedelta(days=1)
    return datetime.combine(day, time(passed[-1] if passed else hours[-1]), UTC)


def live_day(now: datetime) -> date:
    """Return the day (UTC) to whose limit an answer counts that the live board scores now."""
    return require_utc(now, "now").date()


def round_score(score: float, rules: Rules) -> float:
    """Return a score as the board shows it.

    >>> round_score(0.4567, Rules())
    0.46
    """
    return round(score, rules.live_decimals)


def write_live_users(path: Path, live: Any) -> None:
    """Write the users of a live board, for their owner's eyes alone; these bytes are fixed with the table."""
    with replacing(path, private=True) as file:
        file.write(format_live_users(live).encode())


def read_live_users(path: Path) -> NDArray[np.int32]:
    """Read the users of a live board (``live_user_id``): whole numbers, ascending."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    if not lines or lines[0] != LIVE_HEADER:
        raise FileError.whole(path, f"the header is not {LIVE_HEADER}", "wrong-header")
    if len(lines) == 1:
        raise FileError.whole(path, "has no user", "empty-file")
    last = 0
    for row, cell in enumerate(lines[1:], 1):
        user = int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= 10 else 0
        if not last < user < 2**31 or cell != str(user):
            problem = "it must be a whole number, larger than the one before"
            raise FileError(path, [Fault(row, LIVE_HEADER, cell, problem, "not-a-number")])
        last = user
    return np.array(lines[1:], np.int32)


# Signed lists of receipts: nobody can add, drop or change an upload after its phase.

LISTS = {"anonymization": "receipts_anonymization.csv", "attack": "receipts_attack.csv"}
"""The list of each phase, among everybody's files."""
RECEIPTS = "receipts.csv"
"""All receipts of a contest that is over, among what was handed in."""
LIST_HEADER = ("receipt", "received", "commitment")
RECEIPTS_HEADER = ("receipt", "team", "received", "sha256", "salt", "state")
_SIGNATURE = re.compile(r"([0-9a-f]{64})\n([0-9a-f]{128})\n", re.ASCII)


@dataclass(frozen=True)
class ListedReceipt:
    """One line of a published list."""

    receipt: int
    received: str
    commitment: str


@dataclass(frozen=True)
class OpenedReceipt:
    """One upload of a contest that is over, whether it counts or not.

    Attributes
    ----------
    receipt, team, received, sha256
        As its receipt says.
    salt
        What opens the commitment of the published list.
    state
        What became of it.
    """

    receipt: int
    team: str
    received: str
    sha256: str
    salt: str
    state: str

    @property
    def list_entry(self) -> ListedReceipt:
        """The line of the published list."""
        return ListedReceipt(self.receipt, self.received, receipt_commitment(self.sha256, self.salt))


def receipt_commitment(sha256: str, salt: str) -> str:
    """Return what a published list has of a file: a hash that says nothing without the salt.

    >>> receipt_commitment(64 * "0", "salt")[:16]
    '104c4cfaafc0c4bb'
    """
    return digest_values(f"{salt}\n{sha256}\n")


def format_receipt_list(receipts: Iterable[ListedReceipt]) -> str:
    """Return a list as its file, in the order of the receipts."""
    rows = sorted((one.receipt, one.received, one.commitment) for one in receipts)
    return csv_text(list(LIST_HEADER), ([str(number), *rest] for number, *rest in rows))


def read_receipt_list(path: Path) -> dict[int, ListedReceipt]:
    """Read a published list, by the number of the receipt."""
    return {int(row[0]): ListedReceipt(int(row[0]), *row[1:]) for row in _read_rows(path, LIST_HEADER)}


def read_receipts(path: Path) -> dict[int, OpenedReceipt]:
    """Read all receipts of a contest that is over, by their numbers."""
    return {int(row[0]): OpenedReceipt(int(row[0]), *row[1:]) for row in _read_rows(path, RECEIPTS_HEADER)}


def signature_path(path: Path) -> Path:
    """Return where the signature of a file lies.

    >>> signature_path(Path("receipts_attack.csv")).name
    'receipts_attack.csv.sig'
    """
    return path.with_name(f"{path.name}.sig")


def sign(private_key: bytes, name: str, content: bytes) -> str:
    """Return the text of a signature file: the public key, and the signature of a named file."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(private_key)
    signature = key.sign(_build_signed_message(name, content))
    return f"{key.public_key().public_bytes_raw().hex()}\n{signature.hex()}\n"


def public_signing_key(private_key: bytes) -> str:
    """Return the public key of a private one, as 64 hexadecimal digits."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw().hex()


def read_signer(path: Path) -> str:
    """Return the public key by which a file was signed; a wrong or missing signature is an error."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed_in = signature_path(path)
    if not signed_in.is_file():
        raise FileError.whole(path, f"is not signed: {signed_in.name} is missing", "not-signed")
    match = _SIGNATURE.fullmatch(read_bytes(signed_in, max_bytes=1_000).decode("ascii", "replace"))
    if match is None:
        raise FileError.whole(
            signed_in, "is not a signature: it must have a public key and 128 digits", "not-signed"
        )
    key, signature = match.groups()
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), _build_signed_message(path.name, read_bytes(path)))
    except (InvalidSignature, ValueError):
        raise FileError.whole(
            path, f"does not match its signature in {signed_in.name}", "wrong-signature"
        ) from None
    return key


def _build_signed_message(name: str, content: bytes) -> bytes:
    return name.encode() + b"\n" + content


def _read_rows(path: Path, header: tuple[str, ...]) -> list[list[str]]:
    text = read_bytes(path).decode("utf-8", "replace")
    lines = list(csv.reader(io.StringIO(text, newline="")))
    if not lines or lines[0] != list(header):
        raise FileError.whole(path, f"the header is not {','.join(header)}", "wrong-header")
    seen = set()
    for row, cells in enumerate(lines[1:], 1):
        is_number = bool(cells) and cells[0].isascii() and cells[0].isdigit() and len(cells[0]) < 19
        if len(cells) != len(header) or not is_number or int(cells[0]) in seen:
            problem = f"it must be {','.join(header)}, each receipt once"
            raise FileError(path, [Fault(row, None, ",".join(cells), problem, "not-a-receipt")])
        seen.add(int(cells[0]))
    return lines[1:]
