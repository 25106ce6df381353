"""T21 where two users of the system hold a contest: what the handbook does, and what is refused then."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, read_page
from tests.server.conftest import Held

WEB, JUDGE, GROUP = 64001, 64002, 64000
SECRETS = ("sealed/judge/orgtraces_team001_data01_IDP.csv", "sealed/judge/reftraces_team001_data01_IDP.csv")
SHARED = ("server.json", "contest.toml", "everybody/info_region.csv", "serving.lock")

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


def can(user: int, *command: object) -> bool:
    as_user = ["setpriv", f"--reuid={user}", f"--regid={GROUP}", "--clear-groups"]
    return subprocess.run([*as_user, *map(str, command)], capture_output=True, check=False).returncode == 0


def test_t21_the_system_keeps_the_web_from_the_judges_files(friday: Path) -> None:
    """The judge reads what it needs, the web its own half; neither names nor contents of the other's."""
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
    assert can(WEB, "cat", friday / "sealed" / "teams" / "team001")
    upload = friday / "uploads" / "ab" / "abcd"
    # As `receiving` makes folder and file.
    made = (
        "umask 027; mkdir -m 750 $0/uploads/ab; : > $0/incoming/part; mv $0/incoming/part $0/uploads/ab/abcd"
    )
    assert can(WEB, "sh", "-c", made, friday)
    assert can(JUDGE, "cat", upload)
    assert can(JUDGE, "touch", friday / "everybody" / "pubtraces_team001_data01_IDP.csv")
    assert can(WEB, "cat", friday / "everybody" / "pubtraces_team001_data01_IDP.csv")
