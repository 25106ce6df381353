"""Every address of the site."""

from __future__ import annotations

from django.urls import path

from tracearena.server.api import api
from tracearena.server.web import views_organiser, views_public, views_team, views_upload

urlpatterns = [
    path("", views_public.home),
    path("rules", views_public.rules),
    path("board", views_public.board),
    path("board/numbers/<str:name>", views_public.board_numbers),
    path("board/opened/<str:name>", views_public.opened),
    path("archive", views_public.archive),
    path("archive/<str:name>", views_public.one),
    path("archive/<str:name>/download", views_public.download),
    path("archive/<str:name>/numbers/<str:table>", views_public.send_past_numbers),
    path("static/pictures.css", views_public.pictures),
    path("join", views_public.join),
    path("login", views_public.login),
    path("logout", views_public.logout),
    path("password", views_public.password),
    path("language", views_public.language),
    path("files/<str:name>", views_team.public_file),
    path("health", views_public.health),
    path("metrics", views_public.report_metrics),
    path("team", views_team.start),
    path("team/data", views_team.data),
    path("team/data/bundle", views_team.bundle),
    path("team/data/everybody", views_team.everything),
    path("team/submissions", views_team.show_own_submissions),
    path("team/submissions/<int:number>", views_team.submission),
    path("team/submissions/<int:number>/state", views_team.submission_state),
    path("team/targets", views_team.targets),
    path("team/targets/archive", views_upload.archive),
    path("team/traces/<int:number>", views_team.viewer),
    path("team/traces/<int:number>/events", views_team.events),
    path("team/released/<int:number>", views_team.released),
    path("team/self-test", views_team.self_test),
    path("team/uploads/obfuscated/<int:number>", views_upload.obfuscated),
    path("team/uploads/attack/<str:team>/<int:number>/<str:kind>", views_upload.attack),
    path("team/tokens", views_team.tokens),
    path("team/tokens/<int:number>/revoke", views_team.revoke),
    path("team/members", views_team.members),
    path("organiser", views_organiser.status),
    path("organiser/teams", views_organiser.show_teams),
    path("organiser/teams/<str:number>/reset", views_organiser.renew_team_link),
    path("organiser/people", views_organiser.people),
    path("organiser/people/<int:number>/disable", views_organiser.disable),
    path("organiser/people/<int:number>/reset", views_organiser.handle_reset),
    path("organiser/submissions", views_organiser.show_all_submissions),
    path("organiser/phases", views_organiser.phases),
    path("organiser/dry-run", views_organiser.rehearsed),
    path("organiser/export", views_organiser.exports),
    path("organiser/export/<str:name>", views_organiser.download),
    path("organiser/rescoring", views_organiser.rescorings),
    path("organiser/rescoring/<int:number>", views_organiser.one),
    path("organiser/rescoring/<int:number>/apply", views_organiser.apply),
    path("organiser/rescoring/<int:number>/cancel", views_organiser.cancel),
    path("organiser/jobs/<int:number>", views_organiser.decide),
    path("organiser/ceremony", views_organiser.ceremony),
    path("organiser/log", views_organiser.audit_log),
    path("organiser/publish", views_organiser.publish),
    path("api", views_public.api_page),
    path("api/v1/", api.urls),
]

handler400 = "tracearena.server.errors.bad_request"
handler403 = "tracearena.server.errors.forbidden"
handler404 = "tracearena.server.errors.missing"
handler500 = "tracearena.server.errors.broken"
