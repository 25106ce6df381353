"""Claims: the board of 50 teams in 100 ms, the first paint of any page in 1 s, pages below 300 kB.

Serves a contest with the published results of 50 teams that all attacked one another, and fetches its pages
over loopback: bytes as they cross the line, the server's time for the first answer and for later ones, and
the first paint in Chromium with an empty cache. The ratio is against the page of rules, which draws nothing.

    python benchmarks/bench_pages.py [teams]
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.server.conftest import BEGIN, SCHEDULE, Held
from tests.server.visitors import Site, organiser, served

from tracearena.cities import simulate
from tracearena.contest import ContestFile, ContestPlan, contest_training, write_contest_data
from tracearena.server import clock
from tracearena.server.operations.create import create_contest
from tracearena.server.settings import configure
from tracearena.server.store.crypto import write_judge_key
from tracearena.server.store.folder import Folder
from tracearena.synthesis import PPMTF

CHROMIUM = Path("/usr/bin/chromium")
PUBLIC = ("/rules", "/", "/login", "/board")
ORGANISERS = ("/organiser", "/organiser/teams", "/organiser/phases", "/organiser/log")
RUNS, PAINTS = 50, 5


@contextmanager
def held(folder: Path) -> Iterator[Held]:
    """Make a small contest, its clock driven."""
    plan = ContestPlan(teams=3, users=20, days=4, sample_teams=1)
    charter = ContestFile(name="Fifty", teams=3, rules=plan.rules(), schedule=SCHEDULE)
    model = PPMTF(factors=2, iterations=3).fit(contest_training(simulate(users=40, days=2, seed=1)), seed=1)
    write_contest_data(folder / "files", model, plan, charter=charter, seed=1, shuffle_seed=1)
    clock.set_driven(folder / "clock", BEGIN)
    os.environ[clock.VARIABLE] = str(folder / "clock")
    public = write_judge_key(folder / "judge-key", None)
    created = create_contest(folder / "contest", folder / "files", judge_public_key=public)
    configure(Folder(folder / "contest"))
    yield Held(Folder(folder / "contest"), created, folder / "judge-key", folder / "clock", None)


def fetched(site: Site, address: str, cookies: dict[str, str]) -> tuple[int, float, list[float]]:
    """Return bytes of the page alone, milliseconds of the first answer and of those after it."""
    taken = []
    with httpx.Client(base_url=site.url, cookies=cookies, headers={"Accept-Encoding": "gzip"}) as visitor:
        visitor.get("/api/v1/phase")
        for _ in range(RUNS):
            begin = time.perf_counter()
            with visitor.stream("GET", address) as answer:
                size = len(b"".join(answer.iter_raw()))
            taken.append(1000 * (time.perf_counter() - begin))
            assert answer.status_code == 200, address
    return size, taken[0], taken[1:]


def painted(browser: Any, site: Site, address: str, cookies: dict[str, str]) -> list[float]:
    """Return milliseconds from asking for a page to its first paint, each time with an empty cache."""
    taken = []
    for _ in range(PAINTS):
        context = browser.new_context(base_url=site.url)
        context.add_cookies([{"name": name, "value": one, "url": site.url} for name, one in cookies.items()])
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
        taken.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        context.close()
    return taken


def measured(site: Site, cookies: dict[str, str]) -> None:
    """Print a line for each page."""
    from playwright.sync_api import sync_playwright

    print(f"{'page':<20}{'kB':>8}{'first ms':>10}{'median ms':>11}{'p95 ms':>9}{'/rules':>8}{'paint ms':>10}")
    rules = 0.0
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for address in (*PUBLIC, *ORGANISERS):
            own = cookies if address in ORGANISERS else {}
            size, first, later = fetched(site, address, own)
            median, p95 = np.median(later), np.quantile(later, 0.95)
            rules = rules or float(median)
            paint = max(painted(browser, site, address, own))
            print(
                f"{address:<20}{size / 1000:>8.1f}{first:>10.1f}{median:>11.1f}{p95:>9.1f}"
                f"{median / rules:>7.1f}x{paint:>10.0f}"
            )
        browser.close()


def main() -> None:
    """Serve, fetch, print."""
    teams = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {teams} teams")
    with tempfile.TemporaryDirectory() as place, held(Path(place)) as contest:
        from tests.server.large_board import publish

        boss = organiser(contest)
        publish(contest, teams)
        with served(contest, before=()) as site:
            measured(site, {name: one.value for name, one in boss.cookies.items()})


if __name__ == "__main__":
    main()
