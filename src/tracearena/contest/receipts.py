"""The judge's signed lists of receipts: nobody can add, drop or change an upload after its phase.

When a phase is closed the judge publishes one line per receipt, in the order of their numbers::

    receipt,received,commitment
    17,2026-05-08T11:59:59.999000+00:00,9f86d081…

The commitment is a salted hash, for whose salt see the receipt. The plain SHA-256 of obfuscated traces would
give too much away: released traces are these very rows under pseudonyms, so an attacker who is sure of all
people but ten could try every order of the ten until the hash fits. Anybody who has a receipt checks its line
with a shell::

    printf '%s\\n%s\\n' SALT SHA256 | sha256sum

Beside each list lies its signature, two lines of hexadecimal digits: the contest's public key and the Ed25519
signature of the list's name, a line feed and the list. When the contest is over its archive has all receipts
with salt and SHA-256, and its manifest is signed in the same way.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tracearena.errors import Fault, FileError
from tracearena.files import csv_text, read_bytes

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
    def listed(self) -> ListedReceipt:
        """The line of the published list."""
        return ListedReceipt(self.receipt, self.received, receipt_commitment(self.sha256, self.salt))


def receipt_commitment(sha256: str, salt: str) -> str:
    """Return what a published list has of a file: a hash that says nothing without the salt.

    >>> receipt_commitment(64 * "0", "salt")[:16]
    '104c4cfaafc0c4bb'
    """
    return hashlib.sha256(f"{salt}\n{sha256}\n".encode()).hexdigest()


def list_text(receipts: Iterable[ListedReceipt]) -> str:
    """Return a list as its file, in the order of the receipts."""
    rows = sorted((one.receipt, one.received, one.commitment) for one in receipts)
    return csv_text(list(LIST_HEADER), ([str(number), *rest] for number, *rest in rows))


def read_list(path: Path) -> dict[int, ListedReceipt]:
    """Read a published list, by the number of the receipt."""
    return {int(row[0]): ListedReceipt(int(row[0]), *row[1:]) for row in _rows(path, LIST_HEADER)}


def read_receipts(path: Path) -> dict[int, OpenedReceipt]:
    """Read all receipts of a contest that is over, by their numbers."""
    return {int(row[0]): OpenedReceipt(int(row[0]), *row[1:]) for row in _rows(path, RECEIPTS_HEADER)}


def signature_file(path: Path) -> Path:
    """Return where the signature of a file lies.

    >>> signature_file(Path("receipts_attack.csv")).name
    'receipts_attack.csv.sig'
    """
    return path.with_name(f"{path.name}.sig")


def sign(private_key: bytes, name: str, content: bytes) -> str:
    """Return the text of a signature file: the public key, and the signature of a named file."""
    key = Ed25519PrivateKey.from_private_bytes(private_key)
    signature = key.sign(_signed(name, content))
    return f"{key.public_key().public_bytes_raw().hex()}\n{signature.hex()}\n"


def public_signing_key(private_key: bytes) -> str:
    """Return the public key of a private one, as 64 hexadecimal digits."""
    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw().hex()


def signer_of(path: Path) -> str:
    """Return the public key by which a file was signed; a wrong or missing signature is an error."""
    signed_in = signature_file(path)
    if not signed_in.is_file():
        raise FileError.whole(path, f"is not signed: {signed_in.name} is not there", "not-signed")
    match = _SIGNATURE.fullmatch(read_bytes(signed_in, max_bytes=1_000).decode("ascii", "replace"))
    if match is None:
        raise FileError.whole(signed_in, "is no signature: a public key and 128 digits", "not-signed")
    key, signature = match.groups()
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), _signed(path.name, read_bytes(path)))
    except (InvalidSignature, ValueError):
        raise FileError.whole(path, f"is not what {signed_in.name} signs", "wrong-signature") from None
    return key


def _signed(name: str, content: bytes) -> bytes:
    return name.encode() + b"\n" + content


def _rows(path: Path, header: tuple[str, ...]) -> list[list[str]]:
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
