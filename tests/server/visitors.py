"""Those who come to a contest: members and organisers in Django's client, programs with a token."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from tests.server.conftest import Held
from tests.server.webs import Web

PASSWORD = "seven green bottles"
PAGES = ("/", "/rules", "/board", "/login")
ASKING = httpx.Client(timeout=60, limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))
"""Each request over a connection of its own."""


def browser(**options: Any) -> Client:
    """Return a browser that has seen nothing of the site yet."""
    return Client(SERVER_NAME="localhost", **options)


def joined(held: Held, team: str, name: str = "") -> Client:
    """Come in by the link of a team, as a browser does."""
    return by_link(held.created.invitations[team], name or f"member of {team}")


def organiser(held: Held) -> Client:
    """Come in by the organiser's link."""
    return by_link(held.created.organiser, "organiser")


def by_link(secret: str, name: str) -> Client:
    """Come in by a link."""
    client = browser()
    answer = client.post("/join", {"secret": secret, "name": name, "password": PASSWORD})
    assert answer.status_code == 302, answer.content.decode()
    return client


def logged_in(name: str, password: str = PASSWORD) -> Client:
    """Come in by name and password."""
    client = browser()
    answer = client.post("/login", {"name": name, "password": password})
    assert answer.status_code == 302, answer.content.decode()
    return client


def tried(name: str, password: str = "wrong password", **more: Any) -> Any:
    """Try to log in, as a browser that has seen nothing of the site yet, and return the answer."""
    return browser().post("/login", {"name": name, "password": password}, **more)


def token(client: Client, label: str = "laptop") -> str:
    """Make a token in the browser, and read it off the page."""
    page = client.post("/team/tokens", {"label": label}).content.decode()
    found = re.search(r"<code>(tracearena_[\w-]{43})</code>", page)
    assert found is not None, page
    return found[1]


@dataclass
class Program:
    """A program that uses the API in process."""

    secret: str

    def get(self, path: str, **headers: str) -> Any:
        """Ask for something."""
        return browser().get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {self.secret}", **headers})

    def post(self, path: str, values: dict[str, Any]) -> Any:
        """Send values."""
        headers = {"Authorization": f"Bearer {self.secret}"}
        return browser().post(f"/api/v1/{path}", values, content_type="application/json", headers=headers)

    def upload(self, path: str, content: bytes, key: str, name: str = "file.csv") -> Any:
        """Hand in a file."""
        return browser().post(
            f"/api/v1/uploads/{path}",
            content,
            content_type="application/octet-stream",
            headers=upload_headers(self.secret, key, name),
        )


def upload_headers(secret: str, key: str, name: str = "file.csv") -> dict[str, str]:
    """Return the headers of an upload."""
    return {
        "Authorization": f"Bearer {secret}",
        "Idempotency-Key": key,
        "X-File-Name": name,
        "Content-Type": "application/octet-stream",
    }


def program(held: Held, team: str) -> Program:
    """Return a program of a team, with a token of its own."""
    return Program(token(joined(held, team, f"owner of a token of {team}")))


def by_form(client: Client, path: str, content: bytes, key: str, name: str = "file.csv") -> Any:
    """Hand in a file by the form, its fields in the order of the page."""
    fields = {"key": key, "file": SimpleUploadedFile(name, content), "whole": "yes"}
    return client.post(f"/team/uploads/{path}", fields)


@dataclass
class Site:
    """A contest that is served by a process of its own."""

    url: str
    process: subprocess.Popen[bytes] | Web
    log: Path

    def kill(self) -> None:
        """Kill the process and its children at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(held: Held, *options: str, before: Sequence[str] | None = None, times: int = 1) -> Iterator[Site]:
    """Serve a contest, and wait until it answers.

    With `before`, what starts the process such as unshare or nothing, Python itself is started for it;
    without, it can wait so many `times` shorter for those who are slow.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log_path = held.folder.path.parent / "web.log"
    arguments = [str(held.folder.path), "--bind", f"127.0.0.1:{port}", *options]
    site = Site(
        url,
        Web(arguments, log_path, times) if before is None else _exec(before, arguments, log_path),
        log_path,
    )
    process = site.process
    try:
        _wait_for(site)
        yield site
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                site.kill()


def _exec(before: Sequence[str], arguments: Sequence[str], log_path: Path) -> subprocess.Popen[bytes]:
    command = [*before, sys.executable, "-m", "tracearena.server.processes.web_process", *arguments]
    with log_path.open("ab") as log:
        return subprocess.Popen(command, stderr=log, stdout=log, start_new_session=True)


def memory_mb(site: Site) -> float:
    """Return the memory of the process that serves, the child of the one that was started."""
    children = Path(f"/proc/{site.process.pid}/task/{site.process.pid}/children").read_text().split()
    status = Path(f"/proc/{children[0]}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _wait_for(site: Site) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert site.process.poll() is None, site.log.read_text()
        try:
            if ASKING.get(f"{site.url}/api/v1/phase").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError(site.log.read_text())


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def page_times(url: str, count: int) -> list[float]:
    """Ask for pages, each over a connection of its own, and return the seconds that each took."""
    taken = []
    for number in range(count):
        begin = time.perf_counter()
        assert ASKING.get(url + PAGES[number % len(PAGES)]).status_code == 200
        taken.append(time.perf_counter() - begin)
    return taken


def upload_time(url: str, secret: str, key: str) -> float:
    """Hand in a file of 3 MB by the API, and return the seconds that it took."""
    begin = time.perf_counter()
    headers = upload_headers(secret, key)
    path = f"{url}/api/v1/uploads/obfuscated/1"
    assert ASKING.post(path, content=3 * 2**20 * b"x", headers=headers).status_code == 201
    return time.perf_counter() - begin
