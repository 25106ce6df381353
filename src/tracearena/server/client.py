"""A team's side of a contest: requests to the server, files up and down, the local check, receipts.

A line that breaks costs time and nothing else: requests are tried again, downloads resume. The login and the
receipts are kept in files of their owner, among the user's settings.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx

from tracearena import __version__
from tracearena.contest import read_contest_file
from tracearena.contest.commitments import (
    LISTS,
    ListedReceipt,
    read_receipt_list,
    read_signer,
    receipt_commitment,
    signature_path,
)
from tracearena.contest.contest_file import NAME
from tracearena.contest.data import DATA_SETS, REGIONS, TIMES, official_file_name, require_own_name
from tracearena.contest.file_judge import compute_utility
from tracearena.engine import report
from tracearena.errors import DataError, FileError, ParameterError, TracearenaError
from tracearena.files import digest_file, digest_values, make_folder, read_bytes, replacing
from tracearena.files.io import InMemoryFile
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.server.sandbox.child import check_file
from tracearena.server.sandbox.messages import Frame, Verdict
from tracearena.traces import Traces

_TRIES = 6
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 8.0
_TRY_AGAIN = (429, 502, 503, 504)
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_PIECE_BYTES = 2**18
_LARGEST_BUNDLE_BYTES = 2**32
_MOST_BYTES = 2**16
_OFFICIAL_KINDS = {"obfuscated": "anotraces", "inferred-table": "etable", "inferred-traces": "etraces"}
LISTED, MISSING, OTHER, WAITING = "listed", "MISSING", "LISTED OTHERWISE", "its phase is not closed yet"


class ServerRefused(TracearenaError):
    """The server says no.

    Attributes
    ----------
    code
        A fixed word, for programs.
    status
        The status of HTTP.
    details
        What belongs to it.
    """

    def __init__(self, code: str, message: str, status: int, details: dict[str, Any] | None = None) -> None:
        self.code, self.status, self.details = code, status, details or {}
        super().__init__(message)


class ServerUnreachable(TracearenaError):
    """The server does not answer, however often it is asked."""


class Client:
    """One team's connection to one contest.

    Parameters
    ----------
    url
        Where the contest is: https, or http on this machine.
    token
        The team's token; without one only what everybody may see.
    transport
        How requests travel, for tests.
    """

    def __init__(
        self, url: str, token: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = check_url(url)
        headers = {"User-Agent": f"tracearena/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/", headers=headers, timeout=_TIMEOUT, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a question."""
        return self.ask_with_retries(lambda: self._http.get(path, params=query)).json()

    def post(self, path: str, content: Callable[[], Iterator[bytes]], headers: dict[str, str]) -> Any:
        """Send bytes, again from their beginning if the line breaks, and return the answer.

        This is safe because the same Idempotency-Key gives the same receipt, and the same question is kept
        once.
        """
        return self.ask_with_retries(lambda: self._http.post(path, content=content(), headers=headers)).json()

    @contextmanager
    def stream(self, path: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Open an answer that is read bit by bit; what is wrong with it is raised."""
        with self._http.stream("GET", path, headers=headers) as answer:
            if answer.is_error:
                answer.read()
                raise parse_refusal(answer)
            yield answer

    def ask_with_retries(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer, with growing pauses; a refusal is an answer."""
        pause, problem = _FIRST_PAUSE_S, ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            try:
                answer = ask()
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
                continue
            if not isinstance(answer, httpx.Response) or answer.is_success:
                return answer
            if answer.status_code not in _TRY_AGAIN:
                raise parse_refusal(answer)
            problem = f"it answers {answer.status_code}"
        raise ServerUnreachable(f"{self.url} cannot be reached: {problem}")


def parse_refusal(answer: httpx.Response) -> ServerRefused:
    """Return what the server says, in its one shape of errors or in any other."""
    try:
        said = answer.json()["error"]
        details = dict(said.get("details") or {})
        return ServerRefused(str(said["code"]), str(said["message"]), answer.status_code, details)
    except (ValueError, KeyError, TypeError):
        message = f"the server answers {answer.status_code} {answer.reason_phrase}"
        message += "; is there a contest at this address?"
        return ServerRefused("no-contest", message, answer.status_code)


def check_url(url: str) -> str:
    """Return the address of a contest without a slash at its end; a token must not travel in clear.

    >>> check_url("https://contest.example.org/")
    'https://contest.example.org'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"{url!r} is not the address of a contest, such as https://contest.example.org")
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        raise ParameterError(f"{url}: the token would be sent unencrypted; use https")
    return url.rstrip("/")


# Files up and down.


def upload(client: Client, path: str, file: Path) -> dict[str, Any]:
    """Hand a file in, and return the receipt.

    What was handed in last for the same purpose, if it has the same content, is not sent again: its
    receipt is the answer, so a command whose line broke can be repeated. Within one call a broken line
    is tried again under the same key.

    Parameters
    ----------
    path
        Where to: ``uploads/obfuscated/1`` or ``uploads/attack/002/1/inferred-table``.
    """
    size = file.stat().st_size
    most = client.get("contest")["rules"]["largest_file_mb"] * 2**20
    if size > most:
        raise FileError.whole(file, f"has {size:,} bytes; at most {most:,} are allowed", "too-large")
    sha256 = digest_file(file)
    before = _find_last_submission(client, path)
    if before is not None and before["sha256"] == sha256 and before["state"] != "judge error":
        return before
    said = f"{path} {sha256} after {0 if before is None else before['id']}"
    headers = {
        "Idempotency-Key": digest_values(said),
        "X-File-Name": quote(file.name),
        "Content-Type": "application/octet-stream",
        "Content-Length": str(size),
    }
    receipt: dict[str, Any] = client.post(path, lambda: _read_pieces(file, size), headers)
    if receipt["sha256"] != sha256:
        raise DataError(f"{file}: the server received other bytes than were sent; hand it in again")
    return receipt


def ask_question(client: Client, text: str) -> dict[str, Any]:
    """Ask the organiser something, and return the question as the server keeps it.

    It may be sent again: the server keeps a question that waits for an answer once.
    """
    body = json.dumps({"text": text}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    asked: dict[str, Any] = client.post("questions", lambda: iter([body]), headers)
    return asked


def download(client: Client, path: str, target: Path, *, sha256: str, size: int) -> bool:
    """Fetch a file whole and checked; False if it is there already.

    What came before the line broke is stored next to it, under a name that says of which version it is; this
    call or the next resumes from there.
    """
    if target.is_file() and digest_file(target) == sha256:
        return False
    part = target.with_name(f".{target.name}.{sha256[:16]}.part")
    client.ask_with_retries(lambda: _resume_download(client, path, part, sha256, size))
    if digest_file(part) != sha256:
        part.unlink()
        raise DataError(f"{target.name}: what arrived differs from the server's file; fetch it again")
    with open(part, "rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
    return True


def download_bundle(client: Client, folder: Path) -> list[Path]:
    """Fetch a team's own traces, and unpack them; original traces are for their owner alone."""
    make_folder(folder)
    with client.stream("data/bundle", {"Range": "bytes=0-0"}) as answer:
        sha256 = answer.headers["ETag"].strip('"')
        size = int(answer.headers["Content-Range"].rpartition("/")[2])
    packed = folder / ".bundle.zip"
    download(client, "data/bundle", packed, sha256=sha256, size=size)
    try:
        return _unpack_bundle(packed, folder)
    finally:
        packed.unlink()


def _unpack_bundle(packed: Path, folder: Path) -> list[Path]:
    written = []
    with zipfile.ZipFile(packed) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_BUNDLE_BYTES:
            raise DataError("the bundle is larger than a bundle can be")
        for entry in archive.infolist():
            if PurePosixPath(entry.filename).name != entry.filename or entry.filename.startswith("."):
                raise DataError(f"the bundle has a file name that is not allowed: {entry.filename!a}")
            target = folder / entry.filename
            with replacing(target, private=target.name.startswith("orgtraces")) as out:
                out.write(archive.read(entry))
            written.append(target)
    return written


def _resume_download(client: Client, path: str, part: Path, sha256: str, size: int) -> None:
    """Resume from what is there of a file; a server that sends another version begins again."""
    have = part.stat().st_size if part.is_file() else 0
    if have == size:
        return
    headers = {"Range": f"bytes={have}-", "If-Range": f'"{sha256}"'} if have else {}
    with (
        client.stream(path, headers) as answer,
        open(part, "ab" if answer.status_code == 206 else "wb") as out,
    ):
        for piece in answer.iter_bytes():
            out.write(piece)
            if out.tell() > size:
                break
            report(out.tell(), size)


def _find_last_submission(client: Client, path: str) -> dict[str, Any] | None:
    """Return what was handed in last for a purpose."""
    kind, target, data_set = _parse_upload_path(path)
    found = None
    after = 0
    while page := client.get("submissions", after=after):
        after = page[-1]["id"]
        for one in page:
            if (one["kind"], one["target"], one["data_set"]) == (kind, target, data_set):
                found = one
    return found


def _parse_upload_path(path: str) -> tuple[str, str | None, int]:
    words = path.split("/")
    if words[:2] == ["uploads", "obfuscated"] and len(words) == 3:
        return "obfuscated", None, int(words[2])
    if words[:2] == ["uploads", "attack"] and len(words) == 5:
        return words[4], words[2], int(words[3])
    raise ParameterError(f"{path}: no file can be handed in at this address")


def _read_pieces(file: Path, size: int) -> Iterator[bytes]:
    with open(file, "rb") as content:
        while piece := content.read(_PIECE_BYTES):
            yield piece
            report(content.tell(), size)


# The judge's checker, run locally on the files that a team has downloaded.


@dataclass(frozen=True)
class LocalCheck:
    """What the judge would say of a file.

    Attributes
    ----------
    verdict
        What is wrong with it, None if nothing.
    utility
        Of obfuscated traces that are right.
    threshold
        The utility from which they count.
    """

    verdict: Verdict | None
    utility: float | None
    threshold: float

    @property
    def is_valid(self) -> bool:
        """Whether the file would be taken and count."""
        return self.verdict is None and (self.utility is None or self.utility >= self.threshold)


def check_before_upload(file: Path, kind: str, folder: Path, team: str, data_set: int) -> LocalCheck:
    """Return what the judge would say of a file; one whose name is that of another file is refused.

    Parameters
    ----------
    file
        What is to be handed in.
    kind
        ``"obfuscated"``, ``"inferred-table"`` or ``"inferred-traces"``.
    folder
        Where the contest's files were downloaded to.
    team, data_set
        Whose data set it is about: one's own, or the target's.
    """
    attacker = None if kind == "obfuscated" else int(find_own_team(folder))
    require_own_name(file, _OFFICIAL_KINDS[kind], int(team), data_set, attacker)
    rules = read_contest_file(_require_file(folder, NAME)).rules
    most = rules.largest_file_mb * 2**20
    frame = _read_frame(kind, folder, int(team), data_set)
    # One byte more than allowed shows that there are more, and a huge file need not be read.
    with open(file, "rb") as content:
        held = InMemoryFile(file.name, content.read(most + 1))
    found = check_file(held, frame, kind, most, rules.largest_listed_ids)
    if isinstance(found, Verdict) or kind != "obfuscated":
        verdict = found if isinstance(found, Verdict) else None
        return LocalCheck(verdict, None, rules.utility_threshold)
    original = _read_original(folder, int(team), data_set)
    utility = compute_utility(original, found.to_obfuscated(original), rules)
    return LocalCheck(None, utility, rules.utility_threshold)


def find_own_team(folder: Path) -> str:
    """Return the number of the team whose original traces were fetched into a folder."""
    # Those of sample teams are everybody's.
    samples = read_contest_file(folder / NAME).sample_numbers if (folder / NAME).is_file() else ()
    own = {f"{PwsName.parse(path).team:03d}" for path in folder.glob("orgtraces_team*.csv")} - set(samples)
    if len(own) != 1:
        raise ParameterError(
            f"{folder}: does not have the traces of one team; `contest client data` fetches them"
        )
    return own.pop()


def read_own_traces(folder: Path, data_set: int) -> tuple[Traces, Traces]:
    """Return the reference and the original traces of a team's own people."""
    team = int(find_own_team(folder))
    return _read_traces(folder, "reftraces", team, data_set), _read_original(folder, team, data_set)


def find_attacks(folder: Path, team: str) -> list[tuple[Path, str]]:
    """Return the attacks of a team in a folder, by their official names, and where each is handed in."""
    found = []
    for path in sorted(folder.iterdir()):
        said = PwsName.recognise(path)
        if said is not None and said.attacker == int(team):
            kind = "inferred-table" if said.kind == "etable" else "inferred-traces"
            found.append((path, f"uploads/attack/{said.team:03d}/{DATA_SETS[said.purpose]}/{kind}"))
    if not found:
        example = official_file_name("etable", 2, 1, int(team))
        raise ParameterError(f"{folder}: has no attack of team {team}; their names must be like {example}")
    return found


def _read_frame(kind: str, folder: Path, team: int, data_set: int) -> Frame:
    """Return what the file is held against, of what a team may have."""
    places = pwscup.read_places(_require_file(folder, REGIONS))
    times = pwscup.read_times(_require_file(folder, TIMES))

    if kind == "obfuscated":
        return Frame.of(_read_original(folder, team, data_set))
    users = _read_traces(folder, "reftraces", team, data_set).user_ids
    public = _require_file(folder, str(official_file_name("pubtraces", team, data_set)))
    target = pwscup.read_anonymized(public, places, times)
    return Frame.of(target, users=users, pseudonyms=target.user_ids)


def _read_original(folder: Path, team: int, data_set: int) -> Traces:
    return _read_traces(folder, "orgtraces", team, data_set)


def _read_traces(folder: Path, kind: str, team: int, data_set: int) -> Traces:
    path = _require_file(folder, str(official_file_name(kind, team, data_set)))
    places = pwscup.read_places(_require_file(folder, REGIONS))
    return pwscup.read_traces(path, places, pwscup.read_times(_require_file(folder, TIMES)))


def _require_file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileError.whole(path, "is not there; `contest client data` fetches it", "missing-files")
    return path


# Login and receipts.


@dataclass(frozen=True)
class Login:
    """Which contest, and by which token."""

    url: str
    token: str = field(repr=False)


def find_login_file() -> Path:
    """Return where the login is kept: under ``XDG_CONFIG_HOME``, which is ``~/.config`` by default."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "tracearena" / "contest-login.json"


def save_login(login: Login) -> Path:
    """Write the login down, for its owner alone, and return where."""
    path = find_login_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replacing(path, private=True) as file:
        file.write((json.dumps(asdict(login)) + "\n").encode())
    path.chmod(0o600)
    return path


def find_receipts_file() -> Path:
    """Return where receipts are kept, one a line."""
    return find_login_file().with_name("contest-receipts.jsonl")


def save_receipt(url: str, receipt: dict[str, Any]) -> None:
    """Write a receipt down, with the contest that gave it; the first one of a number stays."""
    if all(one["id"] != receipt["id"] for one in read_saved_receipts(url)):
        path = find_receipts_file()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(path, "a", encoding="utf-8") as file:
            names = ("id", "target", "sha256", "salt", "received_at", "late")
            kept = {name: receipt[name] for name in names}
            file.write(json.dumps({"url": url, "receipt": kept}) + "\n")
        path.chmod(0o600)


def read_saved_receipts(url: str) -> list[dict[str, Any]]:
    """Return the receipts of a contest, as they were kept."""
    path = find_receipts_file()
    if not path.is_file():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [line["receipt"] for line in lines if line["url"] == url]
    except (ValueError, TypeError, KeyError):
        raise FileError.whole(path, "cannot be read; move it away", "not-json") from None


def read_login() -> Login:
    """Return the login that was kept."""
    path = find_login_file()
    if not path.is_file():
        raise ParameterError("you are not logged in: run tracearena contest client login https://…")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise FileError.whole(
            path, f"can be read by others (mode {mode:04o}); run: chmod 600 {path}", "not-private"
        )
    try:
        return Login(**json.loads(read_bytes(path, max_bytes=_MOST_BYTES)))
    except (ValueError, TypeError):
        raise FileError.whole(path, "cannot be read; log in again", "not-json") from None


@dataclass(frozen=True)
class ReceiptCheck:
    """One receipt, and how it stands in the published list of its phase."""

    receipt: int
    state: str

    @property
    def is_wrong(self) -> bool:
        """Whether the list contradicts the receipt."""
        return self.state in (MISSING, OTHER)


def check_receipts(client: Client) -> list[ReceiptCheck]:
    """Hold every receipt that was kept of a contest against the signed lists of its server.

    Late uploads need not be listed: they do not count.
    """
    lists, checks = _download_lists(client), []
    for receipt in read_saved_receipts(client.url):
        if receipt["late"]:
            continue
        published = lists["anonymization" if receipt["target"] is None else "attack"]
        commitment = receipt_commitment(receipt["sha256"], receipt["salt"])
        own = ListedReceipt(receipt["id"], receipt["received_at"], commitment)
        if published is None:
            state = WAITING
        elif receipt["id"] not in published:
            state = MISSING
        else:
            state = LISTED if published[receipt["id"]] == own else OTHER
        checks.append(ReceiptCheck(receipt["id"], state))
    return checks


def _download_lists(client: Client) -> dict[str, dict[int, ListedReceipt] | None]:
    """Return the lists that are published, each signed by the key of the contest."""
    key = client.get("contest")["signing_key"]
    files = {one["name"]: one for one in client.get("data")["files"]}
    found: dict[str, dict[int, ListedReceipt] | None] = {}
    with tempfile.TemporaryDirectory() as place:
        for phase, name in LISTS.items():
            path = Path(place) / name
            if name not in files:
                found[phase] = None
                continue
            for file in (path, signature_path(path)):
                about = files[file.name]
                download(client, f"files/{file.name}", file, sha256=about["sha256"], size=about["size"])
            if read_signer(path) != key:
                raise DataError(f"{name} is not signed with the contest's key, {key}")
            found[phase] = read_receipt_list(path)
    return found
