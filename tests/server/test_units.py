"""The units of systemd in the handbook: they can be loaded, and permit what the judge's guards need."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.docs.pages import DOCS

from tracearena.server.sandbox import confinement

UNITS = ("contest-web", "contest-judge")
OF_THE_FORK_SERVER = {
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "prctl", "fork", "execve",
    "wait4", "pidfd_open", "prlimit64", "close_range", "sendmsg", "recvmsg", "socketpair",
}  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")


def unit(name: str) -> str:
    """Return a unit as it stands in the handbook."""
    page = (DOCS / "how-to" / "hold-a-contest.md").read_text()
    found = re.search(rf"^`/etc/systemd/system/{name}\.service`:\n\n```text\n(.*?)^```", page, re.S | re.M)
    assert found is not None
    return found[1]


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


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_of_the_handbook_can_be_loaded(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.service"
    path.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", unit(name)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_judges_unit_permits_what_its_guards_need() -> None:
    (filtered,) = re.findall(r"^SystemCallFilter=(.*)$", unit("contest-judge"), re.M)
    of_children = set(confinement._NUMBERS.split()[::3])
    assert of_children | OF_THE_FORK_SERVER <= permitted(filtered.split())
