"""What code that takes over a child could do: nothing but read code, use up its limits, and answer.

A probe tries what no child may do, as root and as a user who may do all of it by the rights of files; the
same probe without its guards can do it, so what is tried is real.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.server.probe_child import ATTEMPTS
from tests.server.uploads import FRAME, GOOD, ORIGINAL

from tracearena.contest.rules import Rules
from tracearena.files.io import InMemoryFile
from tracearena.server.sandbox import child, confinement, messages
from tracearena.server.sandbox import parent as children
from tracearena.server.sandbox.messages import Kind, UploadArrays, frame_message, pack
from tracearena.server.sandbox.parent import ForkServer, Limits
from tracearena.traces import IdTable

PROBE = [sys.executable, "-I", str(Path(__file__).with_name("probe_child.py"))]
ROOMY = Limits(memory_mb=400, cpu_s=20, wall_s=120)
NOBODY = 64_003
RULES = Rules()
LANDLOCK, SECCOMP = errno.EACCES, errno.EPERM
"""The error names the guard: Landlock gives no access, seccomp does not permit."""
GUARDS = {
    "read the judge's key": LANDLOCK,
    "read the database": LANDLOCK,
    "read sealed files": LANDLOCK,
    "read the memory of the judge": LANDLOCK,
    "open TCP": SECCOMP,
    "create sockets": SECCOMP,
    "fork": SECCOMP,
    "exec": SECCOMP,
    "ptrace": SECCOMP,
    "leave for a session of its own": SECCOMP,
    "write many files": SECCOMP,
    "write anywhere": SECCOMP,
    "take shared memory": SECCOMP,
    "take memory that is no data": SECCOMP,
    "read another upload": LANDLOCK,
    "send a signal": SECCOMP,
    "raise its limits": SECCOMP,
}
CALLS = {
    "io_uring_setup": 425, "bpf": 321, "userfaultfd": 323, "keyctl": 250, "add_key": 248, "unshare": 272,
    "setns": 308, "mount": 165, "chroot": 161, "pivot_root": 155, "process_vm_readv": 310,
    "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438, "open_by_handle_at": 304,
    "perf_event_open": 298, "seccomp": 317, "setuid": 105, "setpgid": 109, "vfork": 58, "execveat": 322,
    "openat2": 437, "creat": 85, "tkill": 200, "rt_sigqueueinfo": 129, "semget": 64, "msgget": 68,
    "mq_open": 240, "setrlimit": 160, "personality": 135, "capset": 126, "ioperm": 173, "kexec_load": 246,
    "init_module": 175, "fanotify_init": 300, "memfd_secret": 447, "mlock": 149, "x32 getpid": 0x40000027,
}  # fmt: skip
"""Calls of x86_64 by which sandboxes were left before, or which could be."""

HEADERS = {
    0: (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), "#define __NR_"),
    1: (Path("/usr/include/asm-generic/unistd.h"), "#define __NR_"),
}
OTHER_NAMES = {"newfstatat": "fstatat"}
USERS = [
    pytest.param(None, id="as we are"),
    pytest.param(
        NOBODY,
        id="as a user without privileges",
        marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else"),
    ),
]
needs_landlock = pytest.mark.skipif(
    confinement.find_landlock_version() == 0,
    reason="THE KERNEL HAS NO LANDLOCK: what children can read is not guarded here",
)
needs_seccomp = pytest.mark.skipif(
    not confinement.can_limit_calls(), reason="NO SECCOMP HERE: what children can do is not guarded"
)


def guarded(what: str) -> Any:
    return pytest.param(what, marks=needs_landlock if GUARDS[what] == LANDLOCK else needs_seccomp)


@pytest.fixture(scope="module", params=USERS)
def known(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """A contest's files, a process and a port, all within the reach of the user who tries."""
    user = os.getuid() if request.param is None else request.param
    place = Path(tempfile.mkdtemp())
    (place / "sealed").mkdir()
    (place / "uploads").mkdir()
    for name in ("key", "database", "mine", "sealed/ptable", "uploads/abcd"):
        (place / name).write_text("secret")
    for path in (place, *place.rglob("*")):
        os.chown(path, user, -1)
    as_user = {} if request.param is None else {"user": user, "group": user, "extra_groups": []}
    victim = subprocess.Popen(["sleep", "3600"], **as_user)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield {
            "user": request.param,
            "key": str(place / "key"),
            "database": str(place / "database"),
            "sealed": str(place / "sealed"),
            "uploads": str(place / "uploads"),
            "mine": str(place / "mine"),
            "folder": str(place),
            "victim": victim.pid,
            "port": listening.getsockname()[1],
        }
    victim.kill()
    victim.wait()
    shutil.rmtree(place)


def probing(known: dict[str, Any], *options: str) -> Iterator[ForkServer]:
    user = [] if known["user"] is None else [str(known["user"])]
    server = ForkServer([*PROBE, *user, *options])
    yield server
    server.close()


@pytest.fixture(scope="module")
def guarded_server(known: dict[str, Any]) -> Iterator[ForkServer]:
    """Children as they are."""
    yield from probing(known)


@pytest.fixture(scope="module")
def unguarded_server(known: dict[str, Any]) -> Iterator[ForkServer]:
    """Children with their limits alone."""
    yield from probing(known, "--unguarded")


def attempt(server: ForkServer, what: str, known: dict[str, Any]) -> str:
    """Return why something could not be done, an empty text if it could."""
    asked = json.dumps({"what": what, "known": known}).encode()
    return server.run("probe", [asked], limits=ROOMY).decode()


def test_every_attempt_has_its_guard() -> None:
    assert set(GUARDS) == set(ATTEMPTS) - {"call"}


@pytest.mark.parametrize("what", [guarded(what) for what in GUARDS])
def test_m1_a_child_cannot(what: str, guarded_server: ForkServer, known: dict[str, Any]) -> None:
    why = attempt(guarded_server, what, known)
    assert why.partition(" ")[0] == str(GUARDS[what]), f"{what}: {why or 'it could'}"


@pytest.mark.parametrize("what", GUARDS)
def test_m1_without_guards_it_could(what: str, unguarded_server: ForkServer, known: dict[str, Any]) -> None:
    assert attempt(unguarded_server, what, known) == ""


@pytest.mark.slow
@needs_seccomp
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_a_child_makes_no_call_that_is_not_listed(guarded_server: ForkServer, known: dict[str, Any]) -> None:
    for name, number in CALLS.items():
        why = attempt(guarded_server, "call", known | {"number": number})
        assert why.partition(" ")[0] == str(errno.EPERM), f"{name}: {why or 'it could'}"
    assert attempt(guarded_server, "call", known | {"number": 435}).startswith(f"{errno.ENOSYS} ")


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_of_calls_are_those_of_the_kernels_headers(column: int) -> None:
    header, prefix = HEADERS[column]
    if not header.is_file():
        pytest.skip(f"{header} is not there")
    text = re.sub(r"__NR3264_(\w+)", r"__NR_\1", header.read_text())
    defined = {name: int(number) for name, number in re.findall(prefix + r"(\w+)\s+(\d+)\n", text)}
    words = confinement._NUMBERS.split()
    for name, *numbers in zip(words[::3], words[1::3], words[2::3], strict=True):
        # The generic header calls some by the names that they have for 64 bits elsewhere.
        wanted = defined.get(name, defined.get(OTHER_NAMES.get(name, "")))
        assert numbers[column] == ("-" if wanted is None else str(wanted)), name


@pytest.mark.skipif(os.getuid() != 0, reason="only root may leave its network here")
def test_under_root_children_have_a_network_of_their_own(guarded_server: ForkServer, known: Any) -> None:
    if known["user"] is not None:
        pytest.skip("this user is not root")
    parent = int(guarded_server.run("probe", [b"number"], limits=ROOMY).split()[1])
    assert os.readlink(f"/proc/{parent}/ns/net") != os.readlink("/proc/self/ns/net")


def test_a_child_has_threads(guarded_server: ForkServer) -> None:
    assert guarded_server.run("probe", [b"threads"], limits=ROOMY) == b"xxxx"


@pytest.mark.skipif(
    os.getuid() != 0 or not confinement.is_linux(), reason="only root can become somebody else"
)
def test_a_process_that_hides_its_memory_is_closed_to_its_own_user() -> None:
    """Judge, web and parent call `hide_process_memory`; another process of their user is refused then."""
    said = "import sys, time; from tracearena.server.sandbox import confinement as m; "
    after = "import os; os.setresuid(64003, 64003, 64003); "
    looking = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "cat"]
    for hides in (False, True):
        # Whoever changes users is hidden at first; only a new program is visible again.
        code = (
            said
            + after
            + ("m.hide_process_memory(); " if hides else "m.prctl(4, 1); ")
            + "print(flush=True); time.sleep(60)"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            seen = subprocess.run(
                [*looking, f"/proc/{process.pid}/environ"], capture_output=True, check=False
            )
            process.kill()
        assert (seen.returncode != 0) is hides


def test_what_the_kernel_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "find_landlock_version", lambda: 7)
    monkeypatch.setattr(confinement, "can_limit_calls", lambda: True)
    assert messages.describe_missing_guards() == ""
    monkeypatch.setattr(confinement, "find_landlock_version", lambda: 0)
    assert messages.describe_missing_guards() == (
        "This kernel has no Landlock: code that breaks out of the checker could read files."
    )
    monkeypatch.setattr(confinement, "can_limit_calls", lambda: False)
    assert "Seccomp is missing" in messages.describe_missing_guards()


def as_parquet(content: bytes) -> bytes:
    """Return the column of a file in Parquet."""
    name, *cells = content.decode().split()
    file = io.BytesIO()
    column = content.decode().splitlines()[1:] if name == "reg_id" else list(map(int, cells))
    pl.DataFrame({name: column}).write_parquet(file)
    return file.getvalue()


FORMATS = {
    "text": bytes,
    "lines of Windows": lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress,
    "Parquet": as_parquet,
}
TRUTHS = {"obfuscated": ORIGINAL, "inferred-table": IdTable([3, 4], [2, 1]), "inferred-traces": ORIGINAL}


@pytest.fixture(scope="module", params=["nothing is compiled yet", "all is compiled"])
def cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of compiled code; once empty, once as the servers before have left it."""
    folder = tmp_path_factory.getbasetemp() / "compiled"
    assert folder.exists() == (request.param == "all is compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(folder))
        children.FORK_SERVER.close()  # the next one is started with this folder
        yield folder
    children.FORK_SERVER.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", GOOD)
def test_uploads_are_checked_and_scored_behind_the_guards(kind: Kind, form: str, cache: Path) -> None:
    upload = FORMATS[form](GOOD[kind])
    found = children.check_upload(upload, FRAME, kind, RULES, file_name="a.csv")
    assert isinstance(found, UploadArrays)
    assert found == child.check_file(InMemoryFile("a.csv", GOOD[kind]), FRAME, kind, 2**20, 100)
    assert 0 <= children.score_upload(found, TRUTHS[kind], RULES) <= 1


@pytest.mark.slow
def test_compiled_code_comes_from_the_fork_server_alone(cache: Path) -> None:
    """It writes what it compiles before the first child; no child adds to it."""
    children.check_upload(GOOD["obfuscated"], FRAME, "obfuscated", RULES, file_name="a.csv")
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    assert before
    for kind, content in GOOD.items():
        children.check_upload(content, FRAME, kind, RULES, file_name="a.csv")
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before


@pytest.mark.slow
def test_a_child_has_nothing_to_compile() -> None:
    server = ForkServer(PROBE)
    values, arrays = FRAME.to_parts()
    for kind, content in GOOD.items():
        asked = {"kind": kind, "file_name": "a.csv", "max_bytes": 2**20, "max_listed_ids": 100}
        request = frame_message(pack(values | {"check": asked}, arrays)) + content
        assert server.run("compiled", [request], limits=ROOMY) == b"0", kind
    server.close()
