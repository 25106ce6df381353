"""Take pictures of every screen of a contest, and of the first screen of an audit.

``python docs/screens.py [FOLDER]`` plays `contest serve --demo` through all its phases and takes a picture of
every screen, wide and narrow, light and dark, and of a few in Japanese. The pictures go into the folder
(`screens` by default); the contact sheets in docs/img/screens and the pictures that README and docs show are
made from them. It needs Chromium, Playwright and Pillow, and takes some minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import sync_playwright

from tracearena.server.processes.supervisor import find_free_port

CHROMIUM = "/usr/bin/chromium"
SHEETS = Path(__file__).resolve().parent / "img" / "screens"
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
AUDIT_SIZE: Any = {"width": 1000, "height": 800}
SCHEMES = ("light", "dark")
THUMB_HEIGHT, GAP, LABEL = 280, 12, 26
COLUMNS = 2
SETTLED_MS = 1000
"""What a key opened in the ceremony has appeared by then."""
_ACCOUNT = re.compile(r"(organiser|team \d{3}) +(\S+) +password (\S+)")
_NEXT = "Press Enter for the next phase"
_FILES = re.compile(r"Files that (team \d{3}) can submit: (.+)")


@dataclass(frozen=True)
class Screen:
    """One screen: what it is called, who looks, where, and what is done there before the picture is taken."""

    name: str
    role: str
    address: str
    do: str = ""
    alone: bool = False
    """Whether it stands in README or docs on its own, wide and light."""


SCREENS: dict[str, list[Screen]] = {
    "anonymization": [
        Screen("home", "visitor", "/"),
        Screen("rules", "visitor", "/rules"),
        Screen("login", "visitor", "/login"),
        Screen("join", "visitor", "/join"),
        Screen("api", "visitor", "/api"),
        Screen("nothing-here", "visitor", "/nothing"),
        Screen("information", "visitor", "/information"),
        Screen("announcements", "visitor", "/announcements"),
        Screen("team", "team", "/team"),
        Screen("get-started", "team", "/team/get-started"),
        Screen("data", "team", "/team/data"),
        Screen("hand-in", "team", "/team/uploads/obfuscated/1"),
        Screen("submissions", "team", "/team/submissions"),
        Screen("submission", "team", "/team/submissions", do="main tbody a"),
        Screen("traces", "team", "/team/traces/1"),
        Screen("before-and-after", "team", "/team/traces/1", do="file", alone=True),
        Screen("self-test", "team", "/team/self-test"),
        Screen("tokens", "team", "/team/tokens"),
        Screen("members", "team", "/team/members"),
        Screen("questions", "team", "/team/questions"),
        Screen("password", "team", "/password"),
        Screen("phases", "organiser", "/organiser/phases"),
        Screen("dry-run", "organiser", "/organiser/dry-run"),
        Screen("messages", "organiser", "/organiser/messages"),
        Screen("people", "organiser", "/organiser/people"),
    ],
    "attack": [
        Screen("live-board", "visitor", "/board"),
        Screen("team-attacks", "team", "/team"),
        Screen("targets", "team", "/team/targets"),
        Screen("many-attacks", "team", "/team/targets/archive"),
        Screen("attack", "team", "/team/targets", do="main tbody a[href*='/uploads/']"),
        Screen("control-room", "organiser", "/organiser", alone=True),
        Screen("teams", "organiser", "/organiser/teams"),
        Screen("all-submissions", "organiser", "/organiser/submissions"),
    ],
    "ceremony": [
        Screen("rescoring", "organiser", "/organiser/rescoring"),
        Screen("publish", "organiser", "/organiser/publish"),
        Screen("before-the-ceremony", "organiser", "/organiser/ceremony"),
        Screen("ceremony-matrix", "organiser", "/organiser/ceremony", do="matrix"),
        Screen("ceremony-award", "organiser", "/organiser/ceremony", do="award"),
    ],
    "results": [
        Screen("results", "visitor", "/board", alone=True),
        Screen("own-results", "team", "/team/results"),
        Screen("archive", "visitor", "/archive"),
        Screen("export", "organiser", "/organiser/export"),
        Screen("log", "organiser", "/organiser/log"),
    ],
}
JAPANESE = ("home", "team", "control-room", "results")


class Demo:
    """The demo as a process that a terminal listens to: Enter lets it go on to the next phase."""

    def __init__(self) -> None:
        self.port = find_free_port()
        self._terminal, slave = os.openpty()
        command = [sys.executable, "-m", "tracearena", "contest", "serve", "--demo"]
        self._process = subprocess.Popen(
            [*command, "--phase", "anonymization", "--port", str(self.port)],
            stdin=slave,
            stdout=subprocess.PIPE,
            text=True,
        )
        os.close(slave)
        said = self._until(_NEXT)
        self.accounts = {role: (name, secret) for role, name, secret in _ACCOUNT.findall(said)}
        self.files = {team: Path(folder) for team, folder in _FILES.findall(said)}

    def go_on(self, *, is_last: bool) -> None:
        """Let the teams play to the next phase."""
        os.write(self._terminal, b"\n")
        self._until("It is in the results" if is_last else _NEXT)

    def end(self) -> None:
        """End it; nothing is left of it."""
        self._process.terminate()
        self._process.wait(60)

    def _until(self, words: str) -> str:
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            said += line
            if words in line:
                return said
        raise RuntimeError(f"the demo ended: {said}")


@contextmanager
def demo() -> Iterator[Demo]:
    """Run the demo."""
    running = Demo()
    try:
        yield running
    finally:
        running.end()


class Camera:
    """Browsers of every size and scheme, one for each role."""

    def __init__(self, browser: Any, show: Demo, folder: Path) -> None:
        self._browser, self._show, self._folder = browser, show, folder
        self._pages: dict[tuple[str, str], Any] = {}

    def take(self, screen: Screen) -> None:
        """Take a screen in all sizes and schemes, and in Japanese if it is one of those."""
        for language in ("en", "ja") if screen.name in JAPANESE else ("en",):
            page = self._page(screen.role, language)
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                page.goto(screen.address)
                self._prepare(page, screen)
                for scheme in SCHEMES:
                    page.emulate_media(color_scheme=scheme)
                    is_stage = screen.do in ("file", "matrix", "award")
                    path = self._folder / f"{screen.role}-{screen.name}-{size}-{scheme}-{language}.png"
                    page.screenshot(path=path, full_page=not is_stage)

    def _page(self, role: str, language: str) -> Any:
        if (role, language) not in self._pages:
            url = f"http://127.0.0.1:{self._show.port}"
            locale = {"en": "en-GB", "ja": "ja-JP"}[language]
            context = self._browser.new_context(base_url=url, locale=locale, timezone_id="Asia/Tokyo")
            page = context.new_page()
            if role != "visitor":
                self._log_in(page, "team 001" if role == "team" else role)
            self._pages[role, language] = page
        return self._pages[role, language]

    def _log_in(self, page: Any, whose: str) -> None:
        name, secret = self._show.accounts[whose]
        page.goto("/login")
        page.fill("input[name=name]", name)
        page.fill("input[name=password]", secret)
        page.click("main form button")
        page.wait_for_url(lambda url: "/login" not in url)

    def _prepare(self, page: Any, screen: Screen) -> None:
        if screen.do == "file":
            page.set_input_files("#viewer-file", str(self._show.files["team 001"] / "obfuscated.csv"))
            page.wait_for_selector("#viewer-shown:not([hidden])")
            for _ in range(9):
                page.press("#viewer-time", "ArrowRight")
            page.evaluate("document.querySelector('#viewer-shown').scrollIntoView()")
        elif screen.do in ("matrix", "award"):
            page.click("main form button")
            page.wait_for_selector("body.ceremony")
            for key in {"matrix": 5 * ["ArrowRight"] + 3 * ["ArrowDown"], "award": ["End"]}[screen.do]:
                page.keyboard.press(key)
            page.wait_for_timeout(SETTLED_MS)
        elif screen.do:
            page.click(f"{screen.do} >> nth=0")
            page.wait_for_load_state()


def shots(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with demo() as show, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        camera = Camera(browser, show, folder)
        for number, screens in enumerate(SCREENS.values()):
            if number:
                show.go_on(is_last=number == len(SCREENS) - 1)
            for screen in screens:
                camera.take(screen)
        browser.close()


def audit_screen(folder: Path) -> Path:
    """Audit the check-ins of README unless that was done, and save the first screen of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in (
        "city checkins.csv --mode checkins --users 1000 --seed 1",
        "audit checkins.csv --out audit --seed 1",
    ):
        if not (folder / "audit").exists():
            subprocess.run([sys.executable, "-m", "tracearena", *command.split()], cwd=folder, check=True)
    picture, path = folder / "audit.png", SHEETS / "audit.webp"
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=AUDIT_SIZE, device_scale_factor=1.5, color_scheme="light")
        page.goto((folder / "audit" / "audit.html").resolve().as_uri())
        page.screenshot(path=picture)
        browser.close()
    with Image.open(picture) as taken:
        taken.convert("RGB").save(path, quality=80, method=6)
    return path


def _thumb(path: Path, size: str) -> Image.Image:
    width, height = SIZES[size]
    with Image.open(path) as picture:
        shown = picture.convert("RGB").crop((0, 0, width, height))
    return shown.resize((round(width * THUMB_HEIGHT / height), THUMB_HEIGHT), Image.Resampling.LANCZOS)


def _row(folder: Path, screen: Screen) -> Image.Image:
    thumbs = [
        _thumb(folder / f"{screen.role}-{screen.name}-{size}-{scheme}-en.png", size)
        for size in SIZES
        for scheme in SCHEMES
    ]
    width = sum(thumb.width + GAP for thumb in thumbs) - GAP
    row = Image.new("RGB", (width, THUMB_HEIGHT + LABEL), "#8a9099")
    words = f"{screen.role}: {screen.name.replace('-', ' ')}"
    ImageDraw.Draw(row).text((2, 4), words, fill="white", font=ImageFont.load_default(15))
    left = 0
    for thumb in thumbs:
        row.paste(thumb, (left, LABEL))
        left += thumb.width + GAP
    return row


def sheet(folder: Path, role: str) -> Path:
    """Lay all screens of a role out on one sheet, each wide and narrow, light and dark."""
    found = [screen for screens in SCREENS.values() for screen in screens if screen.role == role]
    rows = [_row(folder, screen) for screen in found]
    high, wide = THUMB_HEIGHT + LABEL + GAP, rows[0].width
    lines = -(-len(rows) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * (wide + 2 * GAP), lines * high + GAP), "#8a9099")
    for number, row in enumerate(rows):
        whole.paste(row, (GAP + number % COLUMNS * (wide + 2 * GAP), GAP + number // COLUMNS * high))
    path = SHEETS / f"{role}.webp"
    whole.save(path, quality=55, method=6)
    return path


def alone(folder: Path, screen: Screen) -> Path:
    """Save the first screenful of a screen for README and docs."""
    path = SHEETS / f"{screen.name}.webp"
    with Image.open(folder / f"{screen.role}-{screen.name}-wide-light-en.png") as picture:
        picture.convert("RGB").crop((0, 0, *SIZES["wide"])).save(path, quality=80, method=6)
    return path


def main() -> None:
    """Take the pictures unless they are there, and lay them out."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screens")
    if not folder.exists():
        shots(folder)
    SHEETS.mkdir(parents=True, exist_ok=True)
    made = [sheet(folder, role) for role in ("visitor", "team", "organiser")]
    made += [alone(folder, one) for screens in SCREENS.values() for one in screens if one.alone]
    made.append(audit_screen(folder / "audit"))
    for path in made:
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
