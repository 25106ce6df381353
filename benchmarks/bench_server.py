"""Claims about a served contest under load; every number is printed beside what is wanted.

- 200 visitors and 20 teams that upload 0.8 million rows each at once: p95 of ``/board`` within 300 ms, all
  files received within 5 s and scored within 40 s;
- 20 teams that download everything: 2 s of processor time in all, next to packing it for each of them;
- pages per second, next to a plain Django page under gunicorn with threads;
- 200 hostile connections of each kind: p95 of pages within 500 ms, an upload of 3 MB within 15 s.

Visitors, teams and server share the machine, so an idle one with two cores or more is needed; the load is
printed. A visitor asks for the board every five seconds.

    python benchmarks/bench_server.py [--files FOLDER] [--teams 20] [--users 2000]

The contest's files are made first, which takes minutes; ``--files`` names a folder where they are kept.
"""

from __future__ import annotations

import argparse
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.server import hostile
from tests.server.conftest import BEGIN, SCHEDULE, Held
from tests.server.visitors import joined, page_times, served, token, upload_headers, upload_time

from tracearena.cities import simulate
from tracearena.contest import ContestFile, ContestPlan, contest_training, write_contest_data
from tracearena.server import clock
from tracearena.server.operations.create import create_contest
from tracearena.server.processes.supervisor import ServerOptions, find_free_port
from tracearena.server.processes.supervisor import serve_in_background as served_with_judges
from tracearena.server.settings import configure
from tracearena.server.store.crypto import write_judge_key
from tracearena.server.store.folder import Folder
from tracearena.synthesis import PPMTF

VISITORS, EVERY_S = 200, 5.0
PAGES = 400
PLAIN = """
from django.conf import settings
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="none")
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path
urlpatterns = [path("", lambda request: HttpResponse(8_000 * "x"))]
application = get_wsgi_application()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=Path)
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--users", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        files = given.files or Path(place) / "files"
        if not files.exists():
            write_files(files, given.teams, given.users)
        held = new_contest(Path(place), files)
        held.anonymization()
        members = {f"{number:03d}": joined(held, f"{number:03d}") for number in range(1, given.teams + 1)}
        secrets = {team: token(member) for team, member in members.items()}
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first part", flush=True)
        for kind, make in hostile.TWO_HUNDRED.items():
            with served(held, before=()) as site, hostile.attack(site.url, make(site.url)):
                under_attack(site.url, kind, secrets["001"])
        serving = ServerOptions(port=find_free_port(), workers=2)
        with (
            open(Path(place) / "log", "wb") as log,
            served_with_judges(held.folder, held.judge_private_key, serving, log=log) as url,
        ):
            crowd(held, url, secrets, Path(place))
            pages_per_second(url, Path(place))
            downloads(held, url, members)


def under_attack(url: str, kind: str, secret: str) -> None:
    """Ask for pages and hand in files while others attack."""
    time.sleep(hostile.BITE_S)
    p95 = 1_000 * np.quantile(page_times(url, 100), 0.95)
    took = max(upload_time(url, secret, f"{kind}-{number}".replace(" ", "-")) for number in range(3))
    print(f"hostile, {kind}: pages p95 {p95:.0f} ms (wanted: 500), 3 MB in {took:.1f} s (15)", flush=True)


def write_files(folder: Path, teams: int, users: int) -> None:
    """Make a contest by files, with 400 rows for each user."""
    plan = ContestPlan(teams=teams, users=users, sample_teams=1)
    charter = ContestFile(name="Load", teams=teams, rules=plan.rules(), schedule=SCHEDULE)
    model = PPMTF(factors=2, iterations=3).fit(contest_training(simulate(users=40, days=2, seed=1)), seed=1)
    write_contest_data(folder, model, plan, charter=charter, seed=1, shuffle_seed=1)


def new_contest(place: Path, files: Path) -> Held:
    """Make a contest on a server of the files, its clock driven."""
    clock.set_driven(place / "clock", BEGIN)
    os.environ[clock.VARIABLE] = str(place / "clock")
    public = write_judge_key(place / "judge-key", None)
    created = create_contest(place / "contest", files, judge_public_key=public)
    configure(Folder(place / "contest"))
    return Held(Folder(place / "contest"), created, place / "judge-key", place / "clock", None)


def crowd(held: Held, url: str, secrets: dict[str, str], place: Path) -> None:
    """Let everybody upload at once while visitors look at the board."""
    from tests.server import hands

    from tracearena.server.models import State, Submission

    contents = {team: hands.obfuscated(held, team, place) for team in secrets}
    size = sum(map(len, contents.values()))

    def upload(team: str) -> float:
        path, headers = f"{url}/api/v1/uploads/obfuscated/1", upload_headers(secrets[team], "load")
        answer = httpx.post(path, content=contents[team], headers=headers, timeout=300)
        assert answer.status_code == 201, answer.text
        return time.perf_counter()

    with visitors(url) as times, ThreadPoolExecutor(len(secrets)) as pool:
        time.sleep(EVERY_S)
        before, begin = list(times), time.perf_counter()
        received = max(pool.map(upload, secrets)) - begin
        during = times[len(before) :]
        while Submission.objects.filter(state__in=(State.RECEIVED, State.CHECKED)).exists():
            time.sleep(0.2)
        scored = time.perf_counter() - begin
        later = times[len(before) :]
    states = list(Submission.objects.filter(idempotency_key="load").values_list("state", flat=True))
    assert states == len(secrets) * [State.SCORED], states
    print(f"{len(secrets)} teams upload {size / 1e6:.0f} MB: received in {received:.1f} s (wanted: 5)")
    print(f"  all scored in {scored:.1f} s (40)")
    for name, some in (("before", before), ("while files come", during), ("until all is scored", later)):
        if some:
            p95 = 1_000 * np.quantile(some, 0.95)
            print(
                f"  /board {name}: p95 {p95:.0f} ms (300) of {len(some)} by {VISITORS} visitors", flush=True
            )


@contextmanager
def visitors(url: str) -> Iterator[list[float]]:
    """Let visitors ask for the board, one after the other within five seconds, and note what each waits."""
    times: list[float] = []
    stop, address = threading.Event(), urlsplit(url)

    def visit(number: int) -> None:
        line = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        stop.wait(EVERY_S * number / VISITORS)
        while not stop.is_set():
            begin = time.perf_counter()
            line.request("GET", "/board")
            answer = line.getresponse()
            answer.read()
            assert answer.status == 200
            times.append(time.perf_counter() - begin)
            stop.wait(max(0.0, EVERY_S - times[-1]))
        line.close()

    with ThreadPoolExecutor(VISITORS) as pool:
        visits = [pool.submit(visit, number) for number in range(VISITORS)]
        try:
            yield times
        finally:
            stop.set()
    for one in visits:
        one.result()


def downloads(held: Held, url: str, members: dict[str, Any]) -> None:
    """Let every team download everything at once, when the targets are published."""
    from tracearena.server.models import DataSet
    from tracearena.server.store import downloads
    from tracearena.server.store import downloads as everybody_archive

    held.at(SCHEDULE.anonymization_end)
    wait(
        lambda: not DataSet.objects.filter(closed_at=None, team__role__in=("team", "pseudonymised")).exists()
    )
    held.attack()
    files = downloads.public_files()
    wait(everybody_archive.find_public_archive(held.folder, files).exists)
    begin = time.process_time()
    packed = sum(len(piece) for piece in everybody_archive.stream_zip(files))
    naive_s = (time.process_time() - begin) * len(members)

    def fetch(member: Any) -> int:
        cookies = {name: one.value for name, one in member.cookies.items()}
        with httpx.stream("GET", f"{url}/team/data/everybody", cookies=cookies, timeout=300) as answer:
            come = sum(map(len, answer.iter_raw()))
            assert come == int(answer.headers["Content-Length"])
            return come

    before, begin = web_cpu_s(held.folder), time.perf_counter()
    with ThreadPoolExecutor(len(members)) as pool:
        assert set(pool.map(fetch, members.values())) == {packed}
    took, used = time.perf_counter() - begin, web_cpu_s(held.folder) - before
    print(
        f"{len(members)} teams download {packed / 1e6:.0f} MB each in {took:.1f} s: {used:.1f} s of "
        f"processor time (wanted: 2), {naive_s / used:.0f} times less than packing for each",
        flush=True,
    )


def wait(is_done: Callable[[], bool], most_s: float = 600) -> None:
    until = time.monotonic() + most_s
    while not is_done():
        assert time.monotonic() < until
        time.sleep(0.5)


def web_cpu_s(folder: Folder) -> float:
    """Return the seconds that the processor has worked for the web processes of a contest."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            command = status.with_name("cmdline").read_bytes()
            session = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if b"tracearena.server.processes.web_process" in command and str(folder.path).encode() in command:
            ticks += int(session[11]) + int(session[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pages_per_second(url: str, place: Path) -> None:
    """Ask for pages over 8 connections, and for a plain page of the same Django."""
    (place / "plain.py").write_text(PLAIN)
    port = find_free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "-b",
        f"127.0.0.1:{port}",
        "--threads",
        "8",
        "plain:application",
    ]
    with subprocess.Popen(command, cwd=place, stderr=subprocess.DEVNULL) as plain:
        try:
            time.sleep(3)
            peer = rate(f"http://127.0.0.1:{port}", "/")
        finally:
            plain.terminate()
    for page in ("/rules", "/board", "/static/style.css", "/api/v1/phase"):
        ours = rate(url, page)
        print(
            f"{page}: {ours:.0f} pages/s; a plain Django page {peer:.0f}/s, ratio {ours / peer:.2f}",
            flush=True,
        )


def rate(url: str, page: str) -> float:
    """Return pages per second over 8 connections."""
    address = urlsplit(url)

    def ask(_: int) -> None:
        line = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        for _ in range(PAGES // 8):
            line.request("GET", page)
            answer = line.getresponse()
            answer.read()
            assert answer.status == 200, (page, answer.status)
        line.close()

    ask(0)
    begin = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    return PAGES / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
