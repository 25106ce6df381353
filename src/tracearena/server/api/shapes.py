"""What the API answers with."""

from __future__ import annotations

from typing import Any

from ninja import Field, Schema


class ContestInfo(Schema):
    """The contest: its rules as values and as sentences, and its schedule."""

    name: str
    mode: str
    rules: dict[str, Any]
    sentences: list[str]
    schedule: dict[str, str]
    extra_time: dict[str, dict[str, str]] = Field(description="Ends that come later for a team, by number")
    version: str = Field(description="Version of tracearena that checks and scores")
    signing_key: str = Field(description="Public key (Ed25519) of the lists of receipts; empty at first")


class PhaseNow(Schema):
    """The phase, and what happens to a file that arrives now: early, open or late."""

    now: str
    clock_is_driven: bool
    phase: str | None
    registration: str
    obfuscated: str
    attacks: str
    next_change: str | None
    time_left_s: float | None


class Me(Schema):
    """Whose token this is."""

    team: str
    name: str
    token: str = Field(description="The label of the token")
    member: str | None


class File(Schema):
    """A file to download."""

    name: str
    size: int
    sha256: str


class Data(Schema):
    """What can be downloaded: the team's own bundle, and everybody's files."""

    bundle: str = Field(description="Where the team's own traces are, as a ZIP archive")
    files: list[File]


class DataSetState(Schema):
    """A data set that the team defends."""

    number: int
    utility: float | None = Field(description="Of the upload that counts")
    valid: bool | None
    counts: int | None = Field(description="Id of the upload that counts")
    threshold: float
    uploads_left: int
    released_at: str | None


class TargetState(Schema):
    """A data set to attack, with the names of its files."""

    team: str
    name: str
    data_set: int
    reference: str
    anonymized: str
    commitment: str = Field(description="Salted hash of the ID table, opened after the attack phase")
    uploads_left: int


class Receipt(Schema):
    """The file is safe: it is on the disk under its SHA-256, and its row is committed."""

    id: int
    kind: str
    target: str | None = Field(description="The team attacked; null for obfuscated traces")
    data_set: int
    sha256: str
    salt: str = Field(description="Opens the line of this receipt in the list that is published")
    size: int
    received_at: str
    state: str
    late: bool = Field(description="Kept, but came after the end and does not count")


class SubmissionState(Receipt):
    """A receipt and what has become of the file."""

    file_name: str
    verdict: dict[str, Any] | None = Field(description="Why the checker refused the file, with rows")
    reason: str = Field(description="Why the judge failed")
    utility: float | None
    finished_at: str | None
