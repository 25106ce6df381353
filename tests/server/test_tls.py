"""`contest serve --certificate --key`: the server speaks HTTPS by itself, and bears slow handshakes."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.command_line import tracearena
from tests.server.conftest import Held
from tests.server.visitors import PASSWORD

from tracearena.server.operations.demo import wait_for
from tracearena.server.processes.supervisor import find_free_port

NAME = "contest.example.org"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for loopback, signed by itself, and its key."""
    place = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    begin = datetime.now(UTC) - timedelta(days=1)
    alternatives = [x509.DNSName(NAME), x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = place / "certificate.pem", place / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.fixture
def address(held: Held, certificate: tuple[Path, Path], tmp_path: Path) -> Iterator[str]:
    """Serve a contest by the command, for others than this machine, and give its address."""
    port = find_free_port()
    command = [sys.executable, "-m", "tracearena", "contest", "serve", str(held.folder.path)]
    command += ["--host", "0.0.0.0", "--port", str(port), "--allowed-host", NAME, "--workers", "1"]
    command += ["--certificate", str(certificate[0]), "--key", str(certificate[1])]
    command += ["--judge-key", str(held.judge_key)]
    with (tmp_path / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"https://127.0.0.1:{port}"
    try:
        wait_for("the server", lambda: url_is_said(tmp_path, port) or process.poll() is not None, 90)
        assert process.poll() is None, (tmp_path / "serve.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait(60)


def url_is_said(tmp_path: Path, port: int) -> bool:
    return f"https://0.0.0.0:{port}/" in (tmp_path / "serve.log").read_text()


@pytest.mark.slow
def test_a_browser_comes_by_https_and_by_nothing_else(
    held: Held, address: str, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """Cookies are for HTTPS alone, forms are taken, and links name the address by which browsers come."""
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    with httpx.Client(base_url=address, verify=trusted, timeout=30) as browser:
        page = browser.get("/join")
        assert (page.status_code, page.headers["Strict-Transport-Security"]) == (200, "max-age=31536000")
        token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        form = {"secret": held.created.organiser, "name": "Olga", "password": PASSWORD}
        come = browser.post("/join", data=form | {"csrfmiddlewaretoken": token}, headers={"Origin": address})
        assert come.status_code == 302, come.text
        assert all("Secure" in one for one in come.headers.get_list("Set-Cookie"))
        assert browser.get("/organiser").status_code == 200
    with pytest.raises(httpx.TransportError):
        httpx.get(address.replace("https", "http"), timeout=30)
    port = address.rpartition(":")[2]
    from tracearena.server import accounts

    assert accounts.update_base_url() == f"https://{NAME}:{port}"
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


@pytest.mark.slow
def test_those_who_begin_no_handshake_keep_nobody_out(address: str, certificate: tuple[Path, Path]) -> None:
    """As those who send no header."""
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    port = int(address.rpartition(":")[2])
    with ExitStack() as open_connections:
        for _ in range(600):
            open_connections.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        for _ in range(5):
            assert httpx.get(f"{address}/health", verify=trusted, timeout=30).status_code == 200


def test_a_certificate_without_its_key_is_refused(
    held: Held, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """Before anything is started, with what is wanted."""
    (tmp_path / "other.pem").write_text("nothing\n")
    files = {"both": certificate, "swapped": certificate[::-1], "none": (tmp_path / "a", tmp_path / "b")}
    for wrong, (first, second) in files.items():
        if wrong == "both":
            second = tmp_path / "other.pem"
        done = tracearena(
            "contest", "serve", held.folder.path, "--judge-key", held.judge_key,
            "--certificate", first, "--key", second,
        )  # fmt: skip
        assert done.status == 2
        assert "both in PEM" in done.err
    done = tracearena("contest", "serve", held.folder.path, "--certificate", certificate[0])
    assert (done.status, "must be used together" in done.err) == (2, True)
