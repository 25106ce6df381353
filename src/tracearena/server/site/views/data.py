"""What a team downloads: its own bundle, everybody's files one by one, and all of them at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from tracearena.contest import Role
from tracearena.formats.pwscup import PwsName
from tracearena.server.models import Team
from tracearena.server.people import accounts
from tracearena.server.site.views.roles import for_members, for_team
from tracearena.server.store import downloads, everybody_archive
from tracearena.server.store.everybody_archive import zip_stream

_NAME = "everybody.zip"


@require_safe
@for_team
def data(request: Any) -> Any:
    """What can be downloaded, in groups: for all, of the sample teams, of the targets."""
    samples = set(Team.objects.filter(role=Role.SAMPLE).values_list("number", flat=True))
    groups: dict[str, list[dict[str, Any]]] = {"everybody": [], "samples": [], "targets": []}
    for path in downloads.public_files():
        groups[_group(path, samples)].append(downloads.described(path))
    size = sum(file["size"] for files in groups.values() for file in files)
    return render(request, "team/data.html", {"groups": groups, "size": size})


@require_safe
@for_team
def bundle(request: Any) -> Any:
    """The team's own traces."""
    return downloads.send_bundle(request, request.user.team, accounts.team_key(request))


@require_safe
@for_team
def everything(request: Any) -> Any:
    """All of everybody's files in one archive: the judge's, or until it is written one made on the way."""
    files = downloads.public_files()
    path = everybody_archive.path_of(settings.CONTEST_FOLDER, files)
    if path.is_file():
        return downloads.send_archive(request, path, _NAME)
    response = StreamingHttpResponse(zip_stream(files), content_type="application/zip")
    response.headers["Content-Disposition"] = content_disposition_header(True, _NAME)
    return response


@require_safe
@for_members
def public_file(request: Any, name: str) -> Any:
    """One of everybody's files."""
    return downloads.send_public(request, name)


def _group(path: Path, samples: set[str]) -> str:
    """Return to which group a file belongs, by its official name."""
    try:
        team = f"{PwsName.parse(path).team:03d}"
    except ValueError:
        return "everybody"
    return "samples" if team in samples else "targets"
