"""What only the judge can open: originals, references, ID tables, uploads, the answers of its own attacks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from tracearena.contest import Commitment, id_table_text
from tracearena.contest.commitments import others
from tracearena.contest.data import official
from tracearena.errors import DataError
from tracearena.files.io import Held
from tracearena.formats import pwscup
from tracearena.server.models import DataSet, Submission, UploadKind
from tracearena.server.sandbox.frames import Frame
from tracearena.server.store.folder import Folder
from tracearena.server.store.grids import grid_of
from tracearena.server.store.keys import derived_signing_key
from tracearena.server.store.sealing import public_of, seal, unseal
from tracearena.traces import IdTable, Traces

_MOST_KEPT = 6


@dataclass(frozen=True, eq=False)
class Secret:
    """What was drawn for one data set when it was released.

    Attributes
    ----------
    table
        Who is who.
    live
        The users of the live board; None where there is none.
    commitment
        Hash and salt that fix both.
    upload
        SHA-256 of the obfuscated traces that were released; empty for the pseudonymised team.
    """

    table: IdTable
    live: NDArray[Any] | None
    commitment: Commitment
    upload: str

    @property
    def among(self) -> NDArray[Any] | None:
        """The users who decide the final scores; None for all."""
        return None if self.live is None else others(self.table.user_ids, self.live)

    def to_bytes(self) -> bytes:
        """Return the secret as it is sealed."""
        said = {
            "table": id_table_text(self.table),
            "live": None if self.live is None else self.live.tolist(),
            "digest": self.commitment.digest,
            "salt": self.commitment.salt,
            "upload": self.upload,
        }
        return json.dumps(said).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Secret:
        """Return what `to_bytes` wrote."""
        said = json.loads(content)
        table = pwscup.read_id_table(Held("ptable", said["table"].encode()))
        live = None if said["live"] is None else np.array(said["live"])
        return cls(table, live, Commitment(said["digest"], said["salt"]), said["upload"])


@dataclass(frozen=True, eq=False)
class Bench:
    """The judge's own place: the contest's folder, and the key that opens what is sealed in it."""

    folder: Folder
    private_key: bytes = field(repr=False)
    _kept: dict[str, Traces] = field(default_factory=dict, repr=False)

    @property
    def public_key(self) -> bytes:
        """To whom the judge's own secrets are sealed."""
        return public_of(self.private_key)

    @property
    def signing_key(self) -> bytes:
        """By which the judge signs what it publishes."""
        return derived_signing_key(self.private_key)

    def sealed(self, content: bytes) -> bytes:
        """Return bytes that only the judge can read."""
        return seal(self.public_key, content)

    def opened(self, path: Path) -> bytes:
        """Return what is sealed in a file."""
        return unseal(self.private_key, path.read_bytes())

    def original(self, data_set: DataSet) -> Traces:
        """Return the traces that are defended."""
        return self._traces("orgtraces", data_set)

    def reference(self, data_set: DataSet) -> Traces:
        """Return the traces that every attacker knows."""
        return self._traces("reftraces", data_set)

    def secret(self, data_set: DataSet) -> Secret:
        """Return what was drawn at the release."""
        return Secret.from_bytes(self.opened(self.secret_path(data_set)))

    def secret_path(self, data_set: DataSet) -> Path:
        """Return where it lies, sealed."""
        return self.folder.for_judge(file_name("ptable", data_set))

    def answer_path(self, attack: str, data_set: DataSet, kind: str) -> Path:
        """Return where the answer of one of the judge's own attacks lies, sealed."""
        name = official(kind, int(data_set.team.number), data_set.number, attacker=0)
        return self.folder.for_judge(f"{quote(attack, safe='()=,-_')}_{name}")

    def upload(self, submission: Submission) -> bytes:
        """Return the very bytes that were handed in; others, whatever their name, are an error."""
        content = self.opened(self.folder.upload(submission.sha256))
        if hashlib.sha256(content).hexdigest() != submission.sha256 or len(content) != submission.size:
            raise DataError(f"the file of upload {submission.pk} is not the one that was received")
        return content

    def frame(self, submission: Submission) -> Frame:
        """Return what an upload is held against; there is nothing secret in it."""
        original = self.original(submission.data_set)
        if submission.kind != UploadKind.INFERRED_TABLE:
            return Frame.of(original)
        users = self.reference(submission.data_set).user_ids
        pseudonyms = self.secret(submission.data_set).table.pseudonyms
        return Frame.of(original, users=users, pseudonyms=np.sort(pseudonyms))

    def _traces(self, kind: str, data_set: DataSet) -> Traces:
        """Return traces of the judge; the last few are kept, since many uploads are about the same ones."""
        name = file_name(kind, data_set)
        if name not in self._kept:
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[name] = self._read(name)
        return self._kept[name]

    def _read(self, name: str) -> Traces:
        content = self.opened(self.folder.for_judge(name))
        return pwscup.read_traces(Held(name, content), *grid_of(self.folder))


def file_name(kind: str, data_set: DataSet) -> str:
    """Return the official name of a file about a data set."""
    return str(official(kind, int(data_set.team.number), data_set.number))
