"""The API: what it answers with, who may call it (a bearer token, never a cookie), and its routes."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from ninja import Field, NinjaAPI, Schema
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError
from ninja.security import HttpBearer

from tracearena import __version__
from tracearena.contest import phase_at
from tracearena.errors import TracearenaError
from tracearena.server import accounts, announcements, clock, results, submissions
from tracearena.server.accounts import Caller
from tracearena.server.errors import RequestRefused, build_json_error, not_found
from tracearena.server.models import Contest, Submission, UploadKind
from tracearena.server.store import downloads
from tracearena.server.submissions import UploadRequest
from tracearena.server.uploads import open_upload_stream, read_body


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
    salt: str = Field(description="Salt of this receipt's line in the published list")
    size: int
    received_at: str
    state: str
    late: bool = Field(description="Kept, but arrived after the end, so it does not count")


class SubmissionState(Receipt):
    """A receipt and what has become of the file."""

    file_name: str
    verdict: dict[str, Any] | None = Field(description="Why the checker refused the file, with rows")
    reason: str = Field(description="Why the judge failed")
    utility: float | None
    finished_at: str | None


class AnnouncementInfo(Schema):
    """Something that the organiser tells everybody."""

    id: int
    made_at: str
    text: str = Field(description="In the organiser's words; where a time was moved the reason, if given")
    question: str | None = Field(description="What the text answers")
    point: str | None = Field(description="The begin or end that was moved, such as attack_end")
    moved_to: str | None
    team: str | None = Field(description="Whose extra time it is; null for everybody")


class NewQuestion(Schema):
    """What the team wants to know."""

    text: str


class QuestionInfo(Schema):
    """A question of the team, and the organiser's answer."""

    id: int
    asked_at: str
    text: str
    answered_at: str | None
    answer: str | None
    for_all: bool = Field(description="Whether the answer was announced to everybody")


class Bearer(HttpBearer):
    """A token of a team, in the header ``Authorization: Bearer …``."""

    def authenticate(self, request: Any, token: str) -> Caller | None:
        """Return who comes with a token, None if nobody."""
        return accounts.find_caller(token)


def allow_anybody(request: Any) -> str:
    """Let everybody in, where a token only says whose answer is wanted."""
    return "anybody"


def add_error_handlers(api: NinjaAPI) -> None:
    """Say in the one shape what the framework itself refuses."""

    def unauthorized(request: Any, error: Exception) -> Any:
        answer = build_json_error("unauthorized", 401, "This needs a valid token: Authorization: Bearer …")
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def invalid(request: Any, error: Any) -> Any:
        found = [{"where": list(map(str, one["loc"])), "problem": one["msg"]} for one in error.errors]
        return build_json_error(
            "invalid", 422, "Something in the address or its values is not allowed.", found=found
        )

    def other(request: Any, error: Any) -> Any:
        return build_json_error("error", error.status_code, error.message)

    api.add_exception_handler(AuthenticationError, unauthorized)
    api.add_exception_handler(AuthorizationError, unauthorized)
    api.add_exception_handler(ValidationError, invalid)
    api.add_exception_handler(HttpError, other)


_MOST_SUBMISSIONS = 1_000
_TEXT = {"type": "string"}
_ERROR = {"type": "object", "properties": {"code": _TEXT, "message": _TEXT, "details": {"type": "object"}}}
_ERROR_BODY = {"type": "object", "properties": {"error": _ERROR}}
_UPLOAD = {
    "parameters": [
        {"in": "header", "name": "Idempotency-Key", "required": True, "schema": _TEXT},
        {"in": "header", "name": "X-File-Name", "description": "percent-encoded", "schema": _TEXT},
    ],
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    "responses": {
        "default": {
            "description": "An error, in the form that all errors have",
            "content": {"application/json": {"schema": _ERROR_BODY}},
        }
    },
}

api = NinjaAPI(
    title="tracearena contest",
    version="1",
    description="Everything that a team can do. Every error has the form {error: {code, message, details}}.",
    docs_url=None,
    auth=Bearer(),
    urls_namespace="contest-api",
)
add_error_handlers(api)


@api.get("/contest", auth=None, response=ContestInfo)
def contest(request: Any) -> Any:
    """Name, rules and schedule; for everybody."""
    held = Contest.get_current()
    return {
        "name": held.name,
        "mode": held.rules.mode,
        "rules": held.rules.to_dict(),
        "sentences": held.rules.explain(),
        "schedule": held.schedule.to_dict(),
        "extra_time": held.extra_time,
        "version": __version__,
        "signing_key": held.signing_key,
    }


@api.get("/phase", auth=[Bearer(), allow_anybody], response=PhaseNow)
def phase(request: Any) -> Any:
    """What is open now, by the clock of the server; for everybody, and with a token for its team."""
    now, contest = clock.now(), Contest.get_current()
    own = isinstance(request.auth, Caller)
    answer = phase_at(contest.schedule_of(request.auth.token.team.number) if own else contest.schedule, now)
    return {"now": now.isoformat(), "clock_is_driven": clock.is_driven(), **answer.to_dict()}


@api.get("/board", auth=None)
def board(request: Any) -> Any:
    """What may be seen of the scores now; for everybody, and the same as on the page."""
    return results.collect_public_board(Contest.get_current(), clock.now())


@api.get("/announcements", auth=None, response=list[AnnouncementInfo])
def list_announcements(request: Any) -> Any:
    """What the organiser has announced, the first one first; for everybody."""
    return [announcements.describe_announcement(one) for one in reversed(announcements.list_announcements())]


@api.get("/me", response=Me)
def me(request: Any) -> Any:
    """Whose token this is."""
    token = request.auth.token
    member = None if token.member is None else token.member.username
    return {"team": token.team.number, "name": token.team.name, "token": token.label, "member": member}


@api.get("/data", response=Data)
def data(request: Any) -> Any:
    """What can be downloaded now."""
    files = [downloads.describe_file(path) for path in downloads.public_files()]
    return {"bundle": "data/bundle", "files": files}


@api.get("/data/bundle")
def bundle(request: Any) -> Any:
    """The team's own reference and original traces, as a ZIP archive; whole, or a part by Range."""
    return downloads.send_bundle(request, request.auth.team, request.auth.team_key)


@api.get("/files/{name}")
def file(request: Any, name: str) -> Any:
    """One of everybody's files; whole, or a part by Range."""
    return downloads.send_public(request, name)


@api.get("/data_sets", response=list[DataSetState])
def data_sets(request: Any) -> Any:
    """What the team defends."""
    return submissions.describe_data_sets(request.auth.team)


@api.get("/targets", response=list[TargetState])
def targets(request: Any) -> Any:
    """Whom the team may attack; nobody before the attack phase."""
    return submissions.describe_targets(request.auth.team)


@api.post("/uploads/obfuscated/{number}", response={201: Receipt}, openapi_extra=_UPLOAD)
def upload_obfuscated(request: Any, number: int) -> Any:
    """Hand in obfuscated traces: the file as body, Idempotency-Key and X-File-Name as headers."""
    data_set = submissions.find_own_data_set(request.auth.team, number)
    return _receive_upload(request, UploadKind.OBFUSCATED, data_set)


@api.post("/uploads/attack/{team}/{number}/{kind}", response={201: Receipt}, openapi_extra=_UPLOAD)
def upload_attack(request: Any, team: str, number: int, kind: str) -> Any:
    """Hand in an attack, inferred-table or inferred-traces: the file as body, headers as above."""
    if kind not in submissions.ATTACK_UPLOADS:
        raise not_found()
    return _receive_upload(request, kind, submissions.find_target(request.auth.team, team, number))


@api.get("/submissions", response=list[SubmissionState])
def list_submissions(request: Any, after: int = 0) -> Any:
    """What the team has handed in, the first one first; only ids larger than `after`."""
    found = Submission.objects.filter(team=request.auth.team, pk__gt=after).select_related("data_set__team")
    return [submissions.describe_submission(one) for one in found.order_by("pk")[:_MOST_SUBMISSIONS]]


@api.get("/submissions/{number}", response=SubmissionState)
def submission(request: Any, number: int) -> Any:
    """One upload and what has become of it."""
    found = Submission.objects.filter(team=request.auth.team, pk=number).select_related("data_set__team")
    if not found:
        raise not_found()
    return submissions.describe_submission(found[0])


@api.get("/questions", response=list[QuestionInfo])
def list_questions(request: Any) -> Any:
    """What the team has asked the organiser, the first one first, with the answers."""
    asked = request.auth.team.questions.order_by("pk")
    return [announcements.describe_question(one) for one in asked]


@api.post("/questions", response={201: QuestionInfo}, openapi_extra={"responses": _UPLOAD["responses"]})
def ask_question(request: Any, question: NewQuestion) -> Any:
    """Ask the organiser something; a question that waits for an answer is not asked again."""
    try:
        asked = announcements.ask(request.auth.token.member, question.text)
    except TracearenaError as error:
        raise RequestRefused(400, "text", str(error)) from None
    return announcements.describe_question(asked)


def _receive_upload(request: Any, kind: str, data_set: Any) -> dict[str, Any]:
    caller = request.auth
    key = submissions.check_key(request.headers.get("Idempotency-Key", ""))
    name = submissions.clean_file_name(unquote(request.headers.get("X-File-Name", ""), errors="replace"))
    errand = UploadRequest(caller.team, caller.token.member, kind, data_set, key, name)
    submissions.check_gate(errand)
    submissions.check_target(errand)
    most_mb = Contest.get_current().rules.largest_file_mb
    coming = read_body(request, most_mb)
    file = open_upload_stream(most_mb)
    try:
        for chunk in coming:
            file.write(chunk)
        return submissions.build_receipt(submissions.accept_submission(errand, file))
    finally:
        file.close()
