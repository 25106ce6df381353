"""The nginx of the handbook in front of a contest, word for word but for names, ports and certificates."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from tests.server import hostile
from tests.server.conftest import Held
from tests.server.visitors import free_port, joined, page_times, served, token, upload_headers, upload_time

from tracearena.server.operations.demo import wait_for

HANDBOOK = Path(__file__).parents[2] / "docs" / "how-to" / "hold-a-contest.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
MB = 2**20
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed: the handbook's proxy is NOT tested"),
]


def _snippet(begin: str) -> str:
    """Return the text block of the handbook that begins with some words."""
    found = re.search(rf"```text\n({begin}.*?)```", HANDBOOK.read_text(), re.DOTALL)
    assert found is not None, begin
    return found[1]


def _configuration(folder: Path, port: int, upstream: str) -> str:
    site = _snippet("limit_conn_zone")
    site = re.sub(r"\n *ssl_certificate.*;", "", site)
    site = site.replace("listen 443 ssl ", f"listen 127.0.0.1:{port} ")
    site = site.replace("http://127.0.0.1:8000;", f"{upstream};")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    return (
        f"daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
        f"{_snippet('worker_rlimit_nofile')}http {{\naccess_log off;\n{temporary}{site}}}\n"
    )


@contextmanager
def _proxied(folder: Path, upstream: str) -> Iterator[str]:
    folder.mkdir()
    port = free_port()
    file = folder / "nginx.conf"
    file.write_text(_configuration(folder, port, upstream))
    process = subprocess.Popen([str(NGINX), "-c", str(file), "-e", f"{folder}/error.log"])
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for("nginx", lambda: process.poll() is not None or _answers(url), 60)
        assert process.poll() is None, (folder / "error.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=20).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def proxied(held: Held, tmp_path: Path) -> Iterator[str]:
    """The address of a contest behind nginx."""
    held.anonymization()
    with (
        served(held, "--secure", "--trusted-proxy", "127.0.0.1") as site,
        _proxied(tmp_path / "nginx", site.url) as url,
    ):
        yield url


@pytest.mark.long
@pytest.mark.parametrize("kind", hostile.KINDS)
def test_pages_and_uploads_come_through_nginx(held: Held, proxied: str, kind: str) -> None:
    """While 200 connections of a kind are hostile, and idle ones as many as nginx had by itself."""
    secret = token(joined(held, "001"))
    with hostile.attack(proxied, hostile.KINDS[kind](proxied)):
        time.sleep(hostile.BITE_S)
        page_times(proxied, 12)
        upload_time(proxied, secret, "upload")


@pytest.mark.long
@pytest.mark.parametrize("kind", hostile.TWO_HUNDRED)
def test_the_same_times_hold_through_nginx(held: Held, proxied: str, kind: str) -> None:
    """T29: p95 of 200 pages below 500 ms; an upload in 15 s."""
    secret = token(joined(held, "001"))
    with hostile.attack(proxied, hostile.TWO_HUNDRED[kind](proxied)):
        time.sleep(2)
        p95 = float(np.quantile(page_times(proxied, 200), 0.95))
        upload_s = upload_time(proxied, secret, "upload")
    print(f"{kind} through nginx: p95 {p95 * 1000:.0f} ms, upload {upload_s:.1f} s")
    assert p95 < 0.5
    assert upload_s <= 15


@pytest.mark.parametrize(("path", "size"), [("/login", MB), ("/api/v1/uploads/obfuscated/1", 70 * MB)])
def test_what_is_too_large_is_refused_through_nginx(proxied: str, path: str, size: int) -> None:
    """The sender sees the answer."""
    assert httpx.post(proxied + path, content=size * b"x", timeout=60).status_code == 413


def test_nginx_puts_no_upload_on_its_disk(held: Held, proxied: str, tmp_path: Path) -> None:
    """What has come of a file is with the contest, sealed, while the rest is still on its way."""
    address = urlsplit(proxied)
    lines = upload_headers(token(joined(held, "001")), "k") | {"Host": "localhost"}
    lines["Content-Length"] = str(3 * MB)
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(f"POST /api/v1/uploads/obfuscated/1 HTTP/1.1\r\n{head}\r\n".encode())
        connection.sendall(MB * b"x")
        wait_for("a part of it", lambda: _size(held.folder.incoming) > MB // 2)
        assert _size(tmp_path / "nginx" / "client_body") == 0
        connection.sendall(2 * MB * b"x")
        assert b" 201 " in connection.recv(1000)


def test_nginx_puts_no_download_on_its_disk(held: Held, proxied: str, tmp_path: Path) -> None:
    """Though its reader is slow: it waits, and so does the contest's server."""
    (held.folder.everybody / "large.csv").write_bytes(20 * MB * b"x")
    headers = {"Authorization": f"Bearer {token(joined(held, '001'))}"}
    with httpx.stream("GET", f"{proxied}/api/v1/files/large.csv", headers=headers, timeout=60) as answer:
        pieces = answer.iter_raw(1000)
        next(pieces)
        time.sleep(1)
        assert _size(tmp_path / "nginx" / "proxy") == 0
        assert sum(map(len, pieces)) == 20 * MB - 1000


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
