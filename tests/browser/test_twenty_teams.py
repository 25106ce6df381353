"""Twenty teams with two data sets each: names, messages, the projector, own results, in two languages.

Every picture that a person should look at is left in the test's folder ``screens``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser.looking import faults
from tests.command_line import tracearena
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import joined, organiser, served

from tracearena.contest import verify_archive
from tracearena.server import clock
from tracearena.server.models import AuditEntry, Contest, DataSet, Team, UploadKind

pytestmark = [pytest.mark.slow, pytest.mark.long]

PROJECTOR, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
NAMES = (
    "Fog Bank", "Paper Cranes", "The Lighthouse Keepers of Kyoto", "東京位置情報研究会", "Null Island",
    "Söhne Mannheims", "Geo-Indistinguishable", "k-Anonymous Alcoholics", "Hidden Markov", "Dummy Trace",
    "プライバシー保護研究室チーム", "Mix Zone", "Laplase", "Cloak & Dagger", "Map Matchers", "Trajectory",
    "Waseda Information Security Lab", "Silent Period", "Home Sweet Home", "The Last Team",
)  # fmt: skip
DEFENCES = ("PL(4,1)", "No", "PL(1,1)", "MRLH(1,1,0.2)")
OWN, INVALID, ABSENT = "003", "018", "019"


def _defend(held: Held, tmp_path: Path) -> None:
    for number, team in enumerate(Team.objects.filter(role="team").values_list("number", flat=True)):
        for data_set in (1, 2):
            if (team, data_set) in ((ABSENT, 1), (ABSENT, 2)):
                continue
            defence = "MRLH(5,5,0.9)" if team == INVALID else DEFENCES[(number + data_set) % len(DEFENCES)]
            content = hands.obfuscated(held, team, tmp_path, defence, data_set)
            hands.hand_in(held, team, UploadKind.OBFUSCATED, content, number=data_set)


def _inferred_traces(held: Held, target: str, number: int, tmp_path: Path, share: float, seed: int) -> bytes:
    """Return inferred traces that are right about a share of all events."""
    lines = hands.inferred_traces(held, target, tmp_path, number=number).decode().splitlines()
    rng = np.random.default_rng(seed)
    wrong = 1 + np.flatnonzero(rng.random(len(lines) - 1) > share)
    for row, other in zip(wrong, rng.permutation(wrong), strict=True):
        lines[row] = lines[other]
    return ("\n".join(lines) + "\n").encode()


def _attack(held: Held, tmp_path: Path) -> None:
    """Let every team attack two targets in three."""
    rng = np.random.default_rng(1)
    targets = list(DataSet.objects.filter(released_at__isnull=False).select_related("team"))
    for team in Team.objects.filter(role="team").exclude(number=ABSENT).values_list("number", flat=True):
        for one in targets:
            target, number = one.team.number, one.number
            if target == team or rng.random() < 0.34:
                continue
            right = int(rng.integers(0, 12))
            table = hands.inferred_table(held, target, tmp_path, right=right, number=number)
            hands.hand_in(held, team, UploadKind.INFERRED_TABLE, table, target=target, number=number)
            traces = _inferred_traces(held, target, number, tmp_path, rng.random() * 0.6, int(team))
            hands.hand_in(held, team, UploadKind.INFERRED_TRACES, traces, target=target, number=number)


class _Screens:
    """Takes pictures of a page in both languages, light and dark."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def take(self, page: Any, name: str, *, whole: bool = False) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=self._folder / f"{name}-{scheme}.png", full_page=whole)


def _in_languages(page_of: Callable[..., Any], url: str, client: Any, size: Any) -> Iterator[tuple[str, Any]]:
    for locale in ("en-GB", "ja-JP"):
        # Without the motion by which a ceremony opens what is closed, a picture shows all of it.
        page = page_of(
            url, client, viewport=size, locale=locale, timezone_id="Asia/Tokyo", reduced_motion="reduce"
        )
        yield locale[:2], page


def test_twenty_teams_with_two_data_sets(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_of: Callable[..., Any]
) -> None:
    """Names, messages, a deadline moved with its reason, ceremony, own results, export and verification."""
    hands.without_children(monkeypatch)
    held = holding(teams=20, data_sets=2, utility_threshold=0.5)
    (tmp_path / "names.csv").write_text("\n".join(("name", *NAMES)), encoding="utf-8")
    done = tracearena("contest", "team", "rename", held.folder.path, "--names", tmp_path / "names.csv")
    assert done.status == 0, done.err
    screens = _Screens(tmp_path / "screens")
    boss, member = organiser(held), joined(held, OWN)
    with served(held) as site:
        page = page_of(site.url, boss, viewport=PROJECTOR, timezone_id="Asia/Tokyo")
        team = page_of(site.url, member, refused=409)
        _rename(page, team)
        _announce(page, team)
        _ask_and_answer(team, page)
        held.anonymization()
        content = hands.obfuscated(held, OWN, tmp_path, number=2)
        names = [f"anotraces_team{OWN}_{end}.csv" for end in ("data01_IDP", "data02_TRP")]
        _hand_in(team, "obfuscated/2", *names, content)
        _defend(held, tmp_path)
        hands.judged(held)
        _move_deadline(page, team)
        page.goto("/organiser/phases")
        assert f"{ABSENT} IDP, {ABSENT} TRP" in page.locator(".checks").inner_text()
        screens.take(page, "phases", whole=True)
        held.at(Contest.get_current().schedule.anonymization_end)
        hands.judged(held)
        held.attack()
        table = hands.inferred_table(held, "001", tmp_path, right=3)
        names = [f"etable_team{OWN}-{target}_data01_IDP.csv" for target in ("002", "001")]
        _hand_in(team, "attack/001/1/inferred-table", *names, table)
        _attack(held, tmp_path)
        hands.judged(held)
        held.at(SCHEDULE.attack_end)
        hands.judged(held)
        for language, shown in _in_languages(page_of, site.url, boss, PROJECTOR):
            _hold_ceremony(shown, screens, language)
        _publish(page, held)
        for language, shown in _in_languages(page_of, site.url, member, PROJECTOR):
            for path in ("/board", "/team/results"):
                shown.goto(path)
                screens.take(shown, f"{path.strip('/').replace('/', '-')}-{language}", whole=True)
                assert faults(shown) == []
        for language, shown in _in_languages(page_of, site.url, member, PHONE):
            for path in ("/board", "/team/results", "/team/submissions"):
                shown.goto(path)
                screens.take(shown, f"phone-{path.strip('/').replace('/', '-')}-{language}", whole=True)
        for path in ("/organiser/teams", "/organiser/submissions", "/organiser/dry-run", "/organiser"):
            page.goto(path)
            screens.take(page, path.strip("/").replace("/", "-"), whole=True)
            page.set_viewport_size(PHONE)
            screens.take(page, "phone-" + path.strip("/").replace("/", "-"), whole=True)
            page.set_viewport_size(PROJECTOR)
        _export(page, held, tmp_path)


def _rename(boss: Any, team: Any) -> None:
    """Correct a typo in the name of a team; everybody sees it."""
    boss.goto("/organiser/teams")
    row = boss.locator("tr", has_text="Laplase")
    row.locator("summary").click()
    row.locator("input[name=name]").fill("Laplace")
    row.get_by_role("button", name="Rename", exact=False).click()
    boss.wait_for_selector("tr:has-text('013 Laplace')")
    team.goto("/")
    assert "013 Laplace" in team.locator(".teams").inner_text()
    assert "Laplase" not in team.locator(".teams").inner_text()


def _announce(boss: Any, team: Any) -> None:
    """Tell everybody something, and read it on a page of a team."""
    boss.goto("/organiser/messages")
    boss.get_by_label("Announcement", exact=True).fill("Lunch is at noon, in room 7.")
    boss.get_by_role("button", name="Announce", exact=True).click()
    boss.wait_for_selector(".announcement")
    team.goto("/team")
    assert "Lunch is at noon, in room 7." in team.locator(".announcement").inner_text()


def _ask_and_answer(team: Any, boss: Any) -> None:
    """Ask the organiser, and read the answer, which is for one team alone."""
    team.goto("/team/questions")
    team.locator("main textarea").fill("May we use maps?")
    team.locator("main form button").click()
    team.wait_for_selector(".message")
    boss.goto("/organiser/messages")
    boss.locator(".message textarea").fill("Yes.")
    boss.locator(".message button[value=team]").click()
    boss.wait_for_selector(".message", state="detached")
    team.goto("/team/questions")
    assert "Yes." in team.locator(".message .answer").inner_text()


def _hand_in(team: Any, form: str, wrong: str, right: str, content: bytes) -> None:
    """Hand a file in under the name of another one, which is refused, then under its own."""
    team.goto(f"/team/uploads/{form}")
    for name in (wrong, right):
        team.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content})
        team.locator("main form.sending button").click()
        if name == wrong:
            team.wait_for_selector(".said.refused:not(:empty)")
            assert right in team.locator(".said").inner_text()
    team.wait_for_url("**/team/submissions/*")


def _move_deadline(page: Any, team: Any) -> None:
    """Put the end off by half a day, as the organiser's own clock shows it, and say why; a team reads it."""
    page.goto("/organiser/phases")
    page.locator("select[name=point]").select_option("anonymization_end")
    later = SCHEDULE.anonymization_end + timedelta(hours=12 + 9)
    page.get_by_label("New time").fill(later.strftime("%Y-%m-%dT%H:%M"))
    page.get_by_label("Reason").last.fill("The power failed on Tuesday")
    page.get_by_role("button", name="Move").click()
    page.wait_for_load_state()
    assert page.locator(".refused").count() == 0
    moved = Contest.get_current().schedule.anonymization_end
    assert moved == SCHEDULE.anonymization_end + timedelta(hours=12), "a time is meant in the reader's zone"
    last = AuditEntry.objects.last()
    assert last is not None
    assert last.details["reason"] == "The power failed on Tuesday"
    team.goto("/team")
    assert "The power failed on Tuesday" in team.locator(".announcement").inner_text()


def _hold_ceremony(page: Any, screens: _Screens, language: str) -> None:
    page.goto("/organiser/ceremony")
    page.locator("main form button").click()
    page.wait_for_selector("body.ceremony")
    page.keyboard.press("ArrowRight")
    screens.take(page, f"ceremony-{language}-closed")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    screens.take(page, f"ceremony-{language}-rows")
    page.keyboard.press("End")
    screens.take(page, f"ceremony-{language}-end")
    assert faults(page) == []


def _publish(page: Any, held: Held) -> None:
    page.goto("/organiser/publish")
    page.locator("main form button").click()
    page.wait_for_load_state()
    held.at(clock.now() + timedelta(seconds=10))
    hands.judged(held)
    assert Contest.get_current().published_at is not None


def _export(page: Any, held: Held, tmp_path: Path) -> None:
    page.goto("/organiser/export")
    page.locator("main form button").click()
    page.wait_for_load_state()
    hands.judged(held)
    page.goto("/organiser/export")
    with page.expect_download() as saved:
        page.locator("main table a").first.click()
    saved.value.save_as(tmp_path / "friday.zip")
    found = verify_archive(tmp_path / "friday.zip")
    assert found.is_right, found
