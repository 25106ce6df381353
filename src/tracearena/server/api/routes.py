"""The routes of the API."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from ninja import NinjaAPI

from tracearena import __version__
from tracearena.contest import phase_at
from tracearena.server import clock
from tracearena.server.api.access import Bearer, anybody, give_errors_one_shape
from tracearena.server.api.shapes import (
    ContestInfo,
    Data,
    DataSetState,
    Me,
    PhaseNow,
    Receipt,
    SubmissionState,
    TargetState,
)
from tracearena.server.models import Contest, Submission, UploadKind
from tracearena.server.people.tokens import Caller
from tracearena.server.refused import not_found
from tracearena.server.results import boards
from tracearena.server.store import downloads
from tracearena.server.uploads import standing, submitting
from tracearena.server.uploads.receiving import chunks_of, receiving
from tracearena.server.uploads.submitting import Errand

_MOST_SUBMISSIONS = 1_000
_TEXT = {"type": "string"}
_ERROR = {"type": "object", "properties": {"code": _TEXT, "message": _TEXT, "details": {"type": "object"}}}
_SHAPE = {"type": "object", "properties": {"error": _ERROR}}
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
            "description": "An error, in the shape that all errors have",
            "content": {"application/json": {"schema": _SHAPE}},
        }
    },
}

api = NinjaAPI(
    title="tracearena contest",
    version="1",
    description="Everything a team can do. Every error has the shape {error: {code, message, details}}.",
    docs_url=None,
    auth=Bearer(),
    urls_namespace="contest-api",
)
give_errors_one_shape(api)


@api.get("/contest", auth=None, response=ContestInfo)
def contest(request: Any) -> Any:
    """Name, rules and schedule; for everybody."""
    held = Contest.now_held()
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


@api.get("/phase", auth=[Bearer(), anybody], response=PhaseNow)
def phase(request: Any) -> Any:
    """What is open now, by the clock of the server; for everybody, and with a token for its team."""
    now, contest = clock.now(), Contest.now_held()
    own = isinstance(request.auth, Caller)
    answer = phase_at(contest.schedule_of(request.auth.token.team.number) if own else contest.schedule, now)
    return {"now": now.isoformat(), "clock_is_driven": clock.is_driven(), **answer.to_dict()}


@api.get("/board", auth=None)
def board(request: Any) -> Any:
    """What may be seen of the scores now; for everybody, and the same as on the page."""
    return boards.shown(Contest.now_held(), clock.now())


@api.get("/me", response=Me)
def me(request: Any) -> Any:
    """Whose token this is."""
    token = request.auth.token
    member = None if token.member is None else token.member.username
    return {"team": token.team.number, "name": token.team.name, "token": token.label, "member": member}


@api.get("/data", response=Data)
def data(request: Any) -> Any:
    """What can be downloaded now."""
    files = [downloads.described(path) for path in downloads.public_files()]
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
    return standing.data_sets(request.auth.team)


@api.get("/targets", response=list[TargetState])
def targets(request: Any) -> Any:
    """Whom the team may attack; nobody before the attack phase."""
    return standing.targets(request.auth.team)


@api.post("/uploads/obfuscated/{number}", response={201: Receipt}, openapi_extra=_UPLOAD)
def upload_obfuscated(request: Any, number: int) -> Any:
    """Hand in obfuscated traces: the file as body, Idempotency-Key and X-File-Name as headers."""
    data_set = submitting.own_data_set(request.auth.team, number)
    return _handed_in(request, UploadKind.OBFUSCATED, data_set)


@api.post("/uploads/attack/{team}/{number}/{kind}", response={201: Receipt}, openapi_extra=_UPLOAD)
def upload_attack(request: Any, team: str, number: int, kind: str) -> Any:
    """Hand in an attack, inferred-table or inferred-traces: the file as body, headers as above."""
    if kind not in submitting.ATTACKS:
        raise not_found()
    return _handed_in(request, kind, submitting.target(request.auth.team, team, number))


@api.get("/submissions", response=list[SubmissionState])
def submissions(request: Any, after: int = 0) -> Any:
    """What the team has handed in, the first one first; only ids larger than `after`."""
    found = Submission.objects.filter(team=request.auth.team, pk__gt=after).select_related("data_set__team")
    return [standing.submission(one) for one in found.order_by("pk")[:_MOST_SUBMISSIONS]]


@api.get("/submissions/{number}", response=SubmissionState)
def submission(request: Any, number: int) -> Any:
    """One upload and what has become of it."""
    found = Submission.objects.filter(team=request.auth.team, pk=number).select_related("data_set__team")
    if not found:
        raise not_found()
    return standing.submission(found[0])


def _handed_in(request: Any, kind: str, data_set: Any) -> dict[str, Any]:
    caller = request.auth
    key = submitting.checked_key(request.headers.get("Idempotency-Key", ""))
    name = submitting.harmless_name(unquote(request.headers.get("X-File-Name", ""), errors="replace"))
    errand = Errand(caller.team, caller.token.member, kind, data_set, key, name)
    submitting.check_gate(errand)
    most_mb = Contest.now_held().rules.largest_file_mb
    coming = chunks_of(request, most_mb)
    file = receiving(most_mb)
    try:
        for chunk in coming:
            file.write(chunk)
        return submitting.receipt(submitting.hand_in(errand, file))
    finally:
        file.close()
