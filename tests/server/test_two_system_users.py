"""T21 where two users of the system hold a contest: what the handbook does, and what is refused then."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.docs.pages import DOCS, read_page
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_deployment import unit
from tests.server.visitors import free_port, joined, token, upload_headers

from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Score, State, Submission, Worker
from tracearena.server.operations import backup
from tracearena.server.operations.demo import wait_for
from tracearena.server.store.folder import Folder

WEB, JUDGE, GROUP = 64001, 64002, 64000
SECRETS = ("sealed/judge/orgtraces_team001_data01_IDP.csv", "sealed/judge/reftraces_team001_data01_IDP.csv")
SHARED = (
    "server.json", "contest.toml", "everybody/info_region.csv", "serving.lock", "sealed/teams/team001",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can give files to others"
)


def handbook() -> list[str]:
    """What the handbook does to the folder, with users that every system lets one use."""
    page = read_page(DOCS / "how-to" / "hold-a-contest.md")
    (fence,) = [block.body for block in page.blocks if block.language == "sh" and "useradd" in block.body]
    lines = [line for line in fence.splitlines() if line.startswith(("chown", "chmod"))]
    assert len(lines) == 7
    names = {"contest-web:contest": f"{WEB}:{GROUP}", "contest-judge:contest": f"{JUDGE}:{GROUP}"}
    return [re.sub("|".join(names), lambda found: names[found[0]], line) for line in lines]


@pytest.fixture
def friday(held: Held) -> Iterator[Path]:
    """A contest where everybody could reach it, set up by the handbook."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    shutil.copytree(held.folder.path, place / "friday")
    shutil.copy(held.judge_key, place / "friday.judge-key")
    for line in handbook():
        subprocess.run(line.replace("/srv/", f"{place}/"), shell=True, check=True)
    yield place / "friday"
    shutil.rmtree(place)


def as_user(user: int, *command: object) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={GROUP}", "--clear-groups", *map(str, command)]


def can(user: int, *command: object) -> bool:
    return subprocess.run(as_user(user, *command), capture_output=True, check=False).returncode == 0


def test_the_system_keeps_the_web_from_the_judges_files(friday: Path) -> None:
    """T21: The judge reads what it needs, the web its own half; neither names nor contents of the other's."""
    for name in SECRETS:
        assert can(JUDGE, "cat", friday / name)
        assert not can(WEB, "cat", friday / name)
    key = friday.with_name("friday.judge-key")
    assert can(JUDGE, "cat", key)
    assert not can(WEB, "cat", key)
    assert not can(WEB, "ls", friday / "sealed" / "judge")
    assert not can(WEB, "touch", friday / "everybody" / "pubtraces_team001_data01_IDP.csv")


def test_both_have_what_they_share(friday: Path) -> None:
    """Settings, public files, and uploads, which the web writes and the judge reads."""
    for name in SHARED:
        assert can(WEB, "cat", friday / name), name
        assert can(JUDGE, "cat", friday / name), name
    upload = friday / "uploads" / "ab" / "abcd"
    # As `open_upload_stream` makes folder and file.
    made = (
        "umask 027; mkdir -m 750 $0/uploads/ab; : > $0/incoming/part; mv $0/incoming/part $0/uploads/ab/abcd"
    )
    assert can(WEB, "sh", "-c", made, friday)
    assert can(JUDGE, "cat", upload)
    assert can(JUDGE, "touch", friday / "everybody" / "pubtraces_team001_data01_IDP.csv")
    assert can(WEB, "cat", friday / "everybody" / "pubtraces_team001_data01_IDP.csv")


def installed(place: Path) -> Path:
    """Install this tracearena where every user can run it, and return its Python."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    runs = [one for one in candidates if all(can(user, "test", "-x", one) for user in (WEB, JUDGE))]
    if not runs:
        pytest.skip(f"OTHER USERS CAN RUN NO {version}: TWO USERS WERE NOT TRIED")
    (place / "bin").mkdir(parents=True)
    (place / "lib" / version).mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {os.path.dirname(runs[0])}\n")
    (place / "bin" / "python").symlink_to(runs[0])
    (place / "lib" / version / "site-packages").symlink_to(sysconfig.get_path("purelib"))
    return place / "bin" / "python"


@contextmanager
def started(name: str, user: int, friday: Path, *options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run what a unit of `deploy` runs, as its user, with its umask, environment and few rights."""
    settings = unit(name).replace("\\\n", " ").replace("/srv/friday", str(friday))
    (line,) = re.findall(r"^ExecStart=(.*)$", settings, re.M)
    (umask,) = re.findall(r"^UMask=(.*)$", settings, re.M)
    program, *words = shlex.split(line)
    assert program == "/opt/tracearena/bin/tracearena"
    cache = friday.with_name(f"cache-{name}")
    cache.mkdir()
    os.chown(cache, user, GROUP)
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", clock.VARIABLE: os.environ[clock.VARIABLE]}
    if "NUMBA_CACHE_DIR=" in settings:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    python = friday.with_name("opt") / "bin" / "python"
    given_up = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    command = as_user(user, *given_up, python, "-m", "tracearena", *words, *options)
    with (cache / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, umask=int(umask, 8), cwd="/"
        )
    try:
        yield process
    except BaseException as error:
        error.add_note(f"{name} said:\n{(cache / 'log').read_text()[-5_000:]}")
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.mark.long
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_users_hold_a_whole_contest(
    held: Held, friday: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T21: Uploads are received, checked, released, attacked and scored; the web cannot read the key."""
    installed(friday.with_name("opt"))
    members = {team: joined(held, team) for team in ("001", "002", "003")}
    secrets = {team: token(member) for team, member in members.items()}
    shared = friday.with_name("clock")
    monkeypatch.setenv(clock.VARIABLE, str(shared))
    ours = replace(held, folder=Folder(friday), clock_file=shared)
    ours.anonymization()
    port = free_port()
    through_proxy = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "https"}
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{port}",
        headers={"Host": "contest.example.org", **through_proxy},
        cookies={name: one.value for name, one in members["001"].cookies.items()},
        timeout=60,
    )

    def upload(team: str, where: str, content: bytes) -> Any:
        headers = upload_headers(secrets[team], f"{team} {where}".replace(" ", "-"))
        answer = client.post(f"/api/v1/uploads/{where}", content=content, headers=headers)
        assert answer.status_code == 201, answer.text
        return Submission.objects.get(pk=answer.json()["id"])

    def has(submission: Submission, *states: State) -> bool:
        submission.refresh_from_db()
        return submission.state in states

    with (
        client,
        started("contest-web", WEB, friday, "--port", port) as web,
        started("contest-judge", JUDGE, friday) as judge,
    ):
        wait_for("the page", lambda: _answers(client), 60)
        for process, user in ((web, WEB), (judge, JUDGE)):
            assert {_user_of(pid) for pid in _family(process.pid)} == {(user, GROUP, "0000000000000000")}
        key = friday.with_name("friday.judge-key")
        assert (can(WEB, "cat", key), can(JUDGE, "cat", key)) == (False, True)
        for page in ("/team", "/team/traces/1", "/team/traces/1/events", "/team/data/bundle"):
            assert client.get(page).status_code == 200, page
        for team in secrets:
            file = upload(team, "obfuscated/1", hands.obfuscated(ours, team, tmp_path, "PL(4,1)"))
            wait_for("its utility", lambda one=file: has(one, State.SCORED, State.REFUSED, State.ERROR), 120)
            assert file.state == State.SCORED, file.reason
        assert [one.missing_guards for one in Worker.objects.all()] == ["", ""]
        ours.attack()
        own = DataSet.objects.filter(team__number__in=secrets)
        wait_for("targets", lambda: not own.filter(released_at__isnull=True).exists(), 120)
        mine = {"Authorization": f"Bearer {secrets['001']}"}
        assert "002" in {one["team"] for one in client.get("/api/v1/targets", headers=mine).json()}
        table = hands.inferred_table(ours, "002", tmp_path, right=5)
        attack = upload("001", "attack/002/1/inferred-table", table)
        wait_for("its check", lambda: has(attack, State.CHECKED, State.REFUSED, State.ERROR), 120)
        assert attack.state == State.CHECKED, attack.reason
        ours.results()
        wait_for("results", lambda: Contest.get_current().published_at is not None, 180)
        assert Score.objects.filter(submission=attack).exists()
        _check_backups(friday)
        assert client.get("/board").status_code == 200
        archive = "/team/data/everybody"
        wait_for("the judge's archive", lambda: "ETag" in client.get(archive).headers, 60)
    uploads = [path.stat() for path in (friday / "uploads").rglob("*") if path.is_file()]
    assert {(one.st_uid, one.st_mode & 0o777) for one in uploads} == {(WEB, 0o640)}


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def _family(process: int) -> list[int]:
    """Return a process and all that come from it."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(pid for child in children for pid in _family(int(child)))]


def _user_of(process: int) -> tuple[int, int, str]:
    """Return user, group and capabilities of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    found = [re.findall(rf"^{name}:\t(\w+)", status, re.M)[0] for name in ("Uid", "Gid", "CapEff")]
    return int(found[0]), int(found[1]), found[2]


def _check_backups(friday: Path) -> None:
    """The judge backs up the files of both users, and the web, which may not read all, nothing."""
    backup.request_backup("test")
    wait_for("the backup", lambda: Contest.get_current().backed_up_at is not None, 120)
    (path,) = (friday / "exports" / "backups").iterdir()
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
    kept = ("everybody", "sealed/judge", "sealed/teams", "uploads")
    expected = [one for name in kept for one in (friday / name).rglob("[!.]*") if one.is_file()]
    assert {one.relative_to(friday).as_posix() for one in expected} <= names
    refused = friday.with_name("cache-contest-web") / "backup.tar"
    python = friday.with_name("opt") / "bin" / "python"
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "NUMBA_CACHE_DIR": str(refused.parent)}
    command = as_user(WEB, python, "-m", "tracearena", "contest", "backup", friday, refused)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")
    assert (done.returncode, "sealed/judge" in done.stderr, refused.exists()) == (2, True, False), done.stderr
