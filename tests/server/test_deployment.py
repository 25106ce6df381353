"""What is in ``deploy/``, units and containers, and the handbook's steps to HTTPS as they are printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.docs.pages import DOCS
from tests.server.conftest import Held

from tracearena.server.operations.demo import wait_for
from tracearena.server.processes.supervisor import find_free_port
from tracearena.server.sandbox import confinement

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

UNITS = sorted(path.name for pattern in ("*.service", "*.timer") for path in DEPLOY.glob(pattern))
OF_THE_FORK_SERVER = {
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "prctl", "fork", "execve",
    "wait4", "pidfd_open", "prlimit64", "close_range", "sendmsg", "recvmsg", "socketpair",
}  # fmt: skip

systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze: units are NOT tested"
)


def unit(name: str) -> str:
    """Return the text of a service."""
    return (DEPLOY / f"{name}.service").read_text()


def permitted(words: list[str]) -> set[str]:
    """Return the calls that a filter permits, its groups spelt out."""
    calls: set[str] = set()
    for word in words:
        if word.startswith("@"):
            said = subprocess.run(
                ["systemd-analyze", "syscall-filter", "--no-pager", word],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            lines = [line.strip() for line in said.splitlines()[1:]]
            calls |= permitted([line for line in lines if line and not line.startswith("#")])
        else:
            calls.add(word)
    return calls


@systemd
@pytest.mark.parametrize("name", UNITS)
def test_a_unit_can_be_loaded(name: str, tmp_path: Path) -> None:
    for unit in UNITS:
        text = (DEPLOY / unit).read_text()
        (tmp_path / unit).write_text(re.sub(r"(ExecStart(?:Post)?=)\S+", r"\1/bin/true", text))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@systemd
def test_the_judges_unit_permits_what_its_guards_need() -> None:
    (filtered,) = re.findall(r"^SystemCallFilter=(.*)$", unit("contest-judge"), re.M)
    of_children = set(confinement._NUMBERS.split()[::3])
    assert of_children | OF_THE_FORK_SERVER <= permitted(filtered.split())


# Containers.


def composed() -> dict[str, Any]:
    """Return the services, with the two values that a file of settings gives."""
    text = (DEPLOY / "compose.yaml").read_text()
    settings = {"CONTEST_HOST": "contest.example.org", "POSTGRES_PASSWORD": "secret"}
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)[^}]*\}", lambda one: settings[one[1]], text))
    return found


def test_the_judges_key_is_mounted_for_the_judges_and_commands_alone() -> None:
    """So the web has no way to it, whoever its process belongs to."""
    services = composed()["services"]
    mounted = {
        name
        for name, one in services.items()
        if any(volume.startswith("key:") for volume in one.get("volumes", ()))
    }
    assert mounted == {"judges", "tool"}
    assert services["web"]["command"][2] == "--only=web"
    proxy = services["caddy"]["networks"]["inside"]["ipv4_address"]
    assert f"--trusted-proxy={proxy}" in services["web"]["command"]


@pytest.mark.slow
def test_the_commands_of_the_containers_hold_a_contest(held: Held, tmp_path: Path) -> None:
    """Web and judges as the file starts them, but for folder, port and proxy."""
    services, port = composed()["services"], find_free_port()
    places = {"/srv/contest/folder": str(held.folder.path), "/srv/key/judge-key": str(held.judge_key)}
    running = []
    with (tmp_path / "serve.log").open("wb") as log:
        for name in ("web", "judges"):
            words = [*services[name]["command"], *([f"--port={port}"] if name == "web" else [])]
            for inside, outside in places.items():
                words = [word.replace(inside, outside) for word in words]
            words = [
                word.replace("--trusted-proxy=172.31.200.2", "--trusted-proxy=127.0.0.1") for word in words
            ]
            command = [sys.executable, "-m", "tracearena", "contest", *words]
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
    headers = {"Host": "contest.example.org", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"}
    try:
        wait_for("the web", lambda: _asks(f"http://127.0.0.1:{port}/health", headers), 90)
        page = httpx.get(f"http://127.0.0.1:{port}/login", headers=headers, timeout=30)
        assert page.status_code == 200
        assert "Secure" in page.headers["Set-Cookie"]

        from tracearena.server.models import Worker

        wait_for("the judges", lambda: Worker.objects.count() == 2, 90)
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(60)


def _asks(url: str, headers: dict[str, str], *, verify: bool = True) -> bool:
    try:
        return httpx.get(url, headers=headers, timeout=10, verify=verify).status_code == 200
    except httpx.TransportError:
        return False


def test_the_container_copies_what_the_package_is_built_of() -> None:
    """Its sources are there, and with them all that pyproject.toml names."""
    text = (DEPLOY / "Containerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (.*)$", text, re.M) for word in shlex.split(line)[:-1]]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    built_of = {"pyproject.toml", "hatch_build.py", "README.md", "docs/tracearena.1", "src"}
    assert built_of | set(project["license-files"]) <= set(copied)
    assert "server" in project["optional-dependencies"]
    assert re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1] == '["tracearena", "contest"]'  # type: ignore[index]


def _compose() -> list[str] | None:
    """Return the command that starts containers here, None where nothing does."""
    for program in ("podman", "docker"):
        if shutil.which(program) is None:
            continue
        works = (
            subprocess.run([program, *words], capture_output=True, timeout=60, check=False).returncode == 0
            for words in (["info"], ["compose", "version"])
        )
        if all(works):
            return [program, "compose"]
    return None


@pytest.mark.long
def test_the_containers_hold_a_contest(tmp_path: Path) -> None:
    """Built, a contest made in them, and its page fetched through Caddy, which signs its certificate."""
    compose = _compose()
    if compose is None:
        pytest.skip("neither podman nor docker can start containers here: deploy/compose.yaml is NOT started")
    settings = tmp_path / "env"
    settings.write_text("CONTEST_HOST=localhost\nPOSTGRES_PASSWORD=seven green bottles\n")
    base = [*compose, "--file", str(DEPLOY / "compose.yaml"), "--env-file", str(settings)]
    base += ["--project-name", f"contest-test-{os.getpid()}"]

    def run(*words: str) -> str:
        done = subprocess.run([*base, *words], capture_output=True, text=True, timeout=1_800, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    try:
        run("build")
        run(
            "run", "--rm", "tool", "new", "/srv/contest/folder", "--judge-key", "/srv/key/judge-key",
            "--database", "postgresql://contest@database/contest", "--base-url", "https://localhost",
            "--teams", "2", "--users", "20", "--factors", "4", "--iterations", "5",
        )  # fmt: skip
        run("up", "--detach")
        page = "https://localhost/health"
        wait_for("the page", lambda: _asks(page, {}, verify=False), 120)
    finally:
        subprocess.run([*base, "down", "--volumes"], capture_output=True, timeout=300, check=False)


# The handbook's steps.


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("openssl") is None, reason="no curl or openssl"
)
def test_the_steps_of_the_handbook_end_behind_https(tmp_path: Path) -> None:
    """As they are printed, but for the port: certificate, contest, server, and a page that answers."""
    page = (DOCS / "how-to" / "hold-a-contest.md").read_text()
    found = re.search(r"```sh\n(openssl req .*?)```", page, re.S)
    assert found is not None
    assert "8443" in found[1]
    steps = found[1].replace("8443", str(find_free_port()))
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    running = subprocess.Popen(
        ["bash", "-euc", steps],
        cwd=tmp_path,
        env=os.environ | path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    with running.stdout as lines:
        try:
            assert "ok\n" in iter(lines.readline, "")
            assert running.wait(60) == 0
        finally:
            os.killpg(running.pid, signal.SIGTERM)
