"""Every address of the site."""

from __future__ import annotations

from django.urls import path

from tracearena.server.api import api
from tracearena.server.web import views_organiser, views_public, views_team

urlpatterns = [
    path("", views_public.show_home),
    path("rules", views_public.show_rules),
    path("board", views_public.show_board_page),
    path("board/numbers/<str:name>", views_public.send_board_numbers),
    path("board/opened/<str:name>", views_public.send_opening_file),
    path("archive", views_public.show_archive),
    path("archive/<str:name>", views_public.show_past_contest),
    path("archive/<str:name>/download", views_public.send_past_archive),
    path("archive/<str:name>/numbers/<str:table>", views_public.send_past_numbers),
    path("static/pictures.css", views_public.send_picture_styles),
    path("join", views_public.handle_join),
    path("login", views_public.handle_login),
    path("logout", views_public.handle_logout),
    path("password", views_public.handle_password),
    path("language", views_public.choose_language),
    path("files/<str:name>", views_team.send_public_file),
    path("health", views_public.report_health),
    path("metrics", views_public.report_metrics),
    path("team", views_team.show_team_home),
    path("team/data", views_team.show_data),
    path("team/data/bundle", views_team.send_own_bundle),
    path("team/data/everybody", views_team.send_all_files),
    path("team/submissions", views_team.show_own_submissions),
    path("team/submissions/<int:number>", views_team.show_submission),
    path("team/submissions/<int:number>/state", views_team.send_submission_state),
    path("team/targets", views_team.show_targets),
    path("team/targets/archive", views_team.submit_archive),
    path("team/traces/<int:number>", views_team.show_traces),
    path("team/traces/<int:number>/events", views_team.send_trace_events),
    path("team/released/<int:number>", views_team.show_release),
    path("team/self-test", views_team.show_self_test),
    path("team/uploads/obfuscated/<int:number>", views_team.submit_obfuscated_form),
    path("team/uploads/attack/<str:team>/<int:number>/<str:kind>", views_team.submit_attack_form),
    path("team/tokens", views_team.show_tokens),
    path("team/tokens/<int:number>/revoke", views_team.handle_revoke),
    path("team/members", views_team.show_members),
    path("organiser", views_organiser.show_status),
    path("organiser/teams", views_organiser.show_teams),
    path("organiser/teams/<str:number>/reset", views_organiser.renew_team_link),
    path("organiser/people", views_organiser.show_accounts),
    path("organiser/people/<int:number>/disable", views_organiser.handle_disable),
    path("organiser/people/<int:number>/reset", views_organiser.handle_reset),
    path("organiser/submissions", views_organiser.show_all_submissions),
    path("organiser/phases", views_organiser.show_phases),
    path("organiser/dry-run", views_organiser.show_dry_run),
    path("organiser/export", views_organiser.show_exports),
    path("organiser/export/<str:name>", views_organiser.send_export),
    path("organiser/rescoring", views_organiser.show_rescorings),
    path("organiser/rescoring/<int:number>", views_organiser.show_rescoring),
    path("organiser/rescoring/<int:number>/apply", views_organiser.handle_apply),
    path("organiser/rescoring/<int:number>/cancel", views_organiser.handle_cancel),
    path("organiser/jobs/<int:number>", views_organiser.decide_failed_job),
    path("organiser/ceremony", views_organiser.show_ceremony),
    path("organiser/log", views_organiser.show_audit_log),
    path("organiser/publish", views_organiser.publish_results),
    path("api", views_public.show_api),
    path("api/v1/", api.urls),
]

handler400 = "tracearena.server.errors.handle_bad_request"
handler403 = "tracearena.server.errors.handle_forbidden"
handler404 = "tracearena.server.errors.handle_not_found"
handler500 = "tracearena.server.errors.handle_server_error"
