"""Every address of the site."""

from __future__ import annotations

from django.urls import path

from tracearena.server.api.routes import api
from tracearena.server.site.views import (
    accounts,
    archive,
    attack_archive,
    ceremony,
    data,
    description,
    dry_run,
    exports,
    failed_jobs,
    keys,
    language,
    organiser,
    phases,
    practice,
    public,
    rescoring,
    team,
    traces,
    uploading,
)

urlpatterns = [
    path("", public.home),
    path("rules", public.rules),
    path("board", public.board),
    path("board/numbers/<str:name>", public.board_numbers),
    path("board/opened/<str:name>", public.opened),
    path("archive", archive.archive),
    path("archive/<str:name>", archive.one),
    path("archive/<str:name>/download", archive.download),
    path("archive/<str:name>/numbers/<str:table>", archive.numbers),
    path("static/pictures.css", public.pictures),
    path("join", accounts.join),
    path("login", accounts.login),
    path("logout", accounts.logout),
    path("password", accounts.password),
    path("language", language.language),
    path("files/<str:name>", data.public_file),
    path("team", team.start),
    path("team/data", data.data),
    path("team/data/bundle", data.bundle),
    path("team/data/everybody", data.everything),
    path("team/submissions", team.submissions),
    path("team/submissions/<int:number>", team.submission),
    path("team/submissions/<int:number>/state", team.submission_state),
    path("team/targets", team.targets),
    path("team/targets/archive", attack_archive.archive),
    path("team/traces/<int:number>", traces.viewer),
    path("team/traces/<int:number>/events", traces.events),
    path("team/released/<int:number>", traces.released),
    path("team/self-test", practice.self_test),
    path("team/uploads/obfuscated/<int:number>", uploading.obfuscated),
    path("team/uploads/attack/<str:team>/<int:number>/<str:kind>", uploading.attack),
    path("team/tokens", keys.tokens),
    path("team/tokens/<int:number>/revoke", keys.revoke),
    path("team/members", keys.members),
    path("organiser", organiser.status),
    path("organiser/teams", organiser.teams),
    path("organiser/teams/<str:number>/reset", organiser.reset),
    path("organiser/submissions", organiser.submissions),
    path("organiser/phases", phases.phases),
    path("organiser/dry-run", dry_run.rehearsed),
    path("organiser/export", exports.exports),
    path("organiser/export/<str:name>", exports.download),
    path("organiser/rescoring", rescoring.rescorings),
    path("organiser/rescoring/<int:number>", rescoring.one),
    path("organiser/rescoring/<int:number>/apply", rescoring.apply),
    path("organiser/rescoring/<int:number>/cancel", rescoring.cancel),
    path("organiser/jobs/<int:number>", failed_jobs.decide),
    path("organiser/ceremony", ceremony.ceremony),
    path("organiser/log", organiser.audit_log),
    path("organiser/publish", organiser.publish),
    path("api", description.api_page),
    path("api/v1/", api.urls),
]

handler400 = "tracearena.server.errors.bad_request"
handler403 = "tracearena.server.errors.forbidden"
handler404 = "tracearena.server.errors.missing"
handler500 = "tracearena.server.errors.broken"
