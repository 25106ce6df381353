"""Ctrl-C and SIGTERM: a message, a status that tells which, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tracearena.io import pwscup
from tracearena.traces import Traces

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
SAYS = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "stopped by SIGTERM"}
PATIENCE_S = 120
RUNNING = "\nimport sys\nfrom tracearena.cli import main\nsys.argv[0] = 'tracearena'\nmain(grace_s={grace_s})"
ONE_AND_LONG = [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
"""Both signals take one path, which sleeping commands test for both."""
HEARING = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""What runs in the background of a shell ignores Ctrl-C, and so would the commands of these tests."""


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    walks = make_walks(users=200, days=8)
    reference, original = walks.split_days(4)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    return tmp_path


def stopped(
    arguments: list[object],
    number: signal.Signals,
    ready: Callable[[], bool],
    script: str = "",
    *,
    grace_s: float = 5.0,
) -> tuple[int, str, int]:
    """Start a command, send it a signal when it is ready; return status, stderr and its process group."""
    start = f"{HEARING}{script}{RUNNING.format(grace_s=grace_s)}"
    with subprocess.Popen(
        [sys.executable, "-c", start, *map(str, arguments)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            give_up = time.monotonic() + PATIENCE_S
            while not ready() and process.poll() is None and time.monotonic() < give_up:
                time.sleep(0.02)
            assert process.poll() is None, process.communicate()[1]
            process.send_signal(number)
            said = process.communicate(timeout=PATIENCE_S)[1]
        finally:
            process.kill()
    return process.returncode, said, process.pid


def nobody_left(group: int) -> bool:
    """Whether every process of a group has ended, or does so soon."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.endswith(".part")]


WRITING = """
import threading, time
from pathlib import Path
import tracearena.cities as cities
from tracearena.files.io import replacing
def work(users, days, **options):
    with replacing(Path(FOLDER) / "half.csv") as file:
        file.write(b"half")
        (Path(FOLDER) / "ready").touch()
        WORK
cities.simulate = work
"""
SLEEPING = "time.sleep(600)"
IN_THREADS = (
    "from tracearena.engine import run_blocks; "
    "run_blocks(lambda *_: time.sleep(600), [(0, 1), (1, 2), (2, 3)])"
)
UNKNOWN_THREAD = "threading.Thread(target=time.sleep, args=(600,)).start(); time.sleep(600)"
CLASS_BODY = "type('C', (), {'field': type('Field', (), {'__set_name__': lambda *_: time.sleep(600)})()})"
"""Python 3.11 makes a RuntimeError of whatever a class meets while it names its fields."""
COMPILED = "import numba; numba.njit(nogil=True)(FOREVER)(1)"
FOREVER = """
def FOREVER(n):
    while n > 0:
        n = n % 1000 + 1
    return n
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "number"),
    [
        pytest.param(SLEEPING, signal.SIGINT, id="waiting-2"),
        pytest.param(SLEEPING, signal.SIGTERM, id="waiting-15"),
        pytest.param(IN_THREADS, signal.SIGINT, id="threads-2"),
        pytest.param(IN_THREADS, signal.SIGTERM, id="threads-15", marks=pytest.mark.long),
        pytest.param(UNKNOWN_THREAD, signal.SIGINT, id="unknown thread-2", marks=pytest.mark.long),
        pytest.param(UNKNOWN_THREAD, signal.SIGTERM, id="unknown thread-15"),
        pytest.param(CLASS_BODY, signal.SIGINT, id="class body-2"),
        pytest.param(COMPILED, signal.SIGINT, id="compiled-2", marks=pytest.mark.long),
        pytest.param(COMPILED, signal.SIGTERM, id="compiled-15"),
    ],
)
def test_wherever_the_work_is_files_under_temporary_names_go_and_the_status_tells(tmp_path, number, work):
    script = (FOREVER + WRITING).replace("WORK", work).replace("FOLDER", repr(str(tmp_path)))
    status, said, group = stopped(
        ["city", tmp_path / "city.csv", "--seed", 1],
        number,
        (tmp_path / "ready").exists,
        script,
        grace_s=5.0 if work == SLEEPING else 0.5,
    )
    assert status == STATUS[number], said
    assert SAYS[number] in said
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["ready"]
    assert nobody_left(group)


COLLECTING = """
import gc, threading, time
from pathlib import Path
import tracearena.cities as cities
def collecting(phase, info):
    (Path(FOLDER) / "ready").touch()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
def work(users, days, **options):
    gc.disable()
    gc.callbacks.append(collecting)
    try:
        gc.collect()
        gc.callbacks.remove(collecting)
        time.sleep(600)
    finally:
        (Path(FOLDER) / "cleaned").touch()
cities.simulate = work
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ONE_AND_LONG)
def test_a_signal_inside_the_garbage_collector_is_not_swallowed(tmp_path, number):
    script = COLLECTING.replace("FOLDER", repr(str(tmp_path)))
    status, said, _ = stopped(
        ["city", tmp_path / "city.csv", "--seed", 1], number, (tmp_path / "ready").exists, script
    )
    assert status == STATUS[number], said
    assert SAYS[number] in said
    assert "Traceback" not in said
    assert (tmp_path / "cleaned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", ONE_AND_LONG)
def test_training_that_is_stopped_says_how_to_go_on(team, number):
    model = team / "model.npz"
    arguments = [
        "synthesize", "PPMTF(2,iterations=100000)", team / "org.csv", team / "made.csv",
        "--places", team / "places.csv", "--seed", 1, "--model", model,
    ]  # fmt: skip
    status, said, _ = stopped(arguments, number, model.exists)
    assert status == STATUS[number], said
    assert f"{model}: has the training so far; run the same command again to resume it" in said
    assert not (team / "made.csv").exists()
    assert not leftovers(team)


TRAINING = """
import time
from pathlib import Path
from tracearena.synthesis import PPMTF
def fit(*given, **options):
    Path(BEGAN).touch()
    time.sleep(600)
PPMTF.fit = fit
"""


@pytest.mark.slow
def test_training_that_is_stopped_without_a_model_file_says_what_would_have_kept_it(team):
    began = team / "began"
    arguments = ["synthesize", "PPMTF", team / "org.csv", team / "made.csv", "--places", team / "places.csv"]
    script = TRAINING.replace("BEGAN", repr(str(began)))
    status, said, _ = stopped(arguments, signal.SIGINT, began.exists, script)
    assert status == STATUS[signal.SIGINT], said
    assert "the training was not saved; with --model FILE it can be resumed" in said
    assert not (team / "made.csv").exists()


AUDITING = """
import time
from pathlib import Path
from tracearena.audit import audit
def link(*given, **options):
    Path(BEGAN).touch()
    time.sleep(600)
audit.link = link
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ONE_AND_LONG)
def test_an_audit_that_is_stopped_says_once_what_is_there(team, number):
    began, out = team / "began", team / "audit"
    arguments = ["audit", team / "org.csv", "--places", team / "places.csv", "--out", out, "--draws", 2]
    script = AUDITING.replace("BEGAN", repr(str(began)))
    status, said, _ = stopped(arguments, number, began.exists, script)
    assert status == STATUS[number], said
    assert said.splitlines()[-2:] == [
        f"{out} has the results so far, marked as incomplete",
        SAYS[number],
    ]
    assert "removed" not in said
    assert (out / "audit.html").is_file()


@pytest.mark.long
@pytest.mark.parametrize("number", STATUS)
def test_workers_of_a_cluster_end_too(team, number):
    pytest.importorskip("distributed")
    began = team / "began"
    script = (
        "from pathlib import Path\nfrom tracearena.engine import Cluster\ntrue = Cluster.dashboard.fget\n"
        f"Cluster.dashboard = property(lambda own: (true(own), Path({str(began)!r}).touch())[0])\n"
    )
    arguments = [
        "synthesize", "PPMTF(2,iterations=100000)", team / "org.csv", team / "made.csv",
        "--places", team / "places.csv", "--seed", 1, "--cluster", "local:2",
    ]  # fmt: skip
    status, said, group = stopped(arguments, number, began.exists, script)
    assert status == STATUS[number], said
    assert SAYS[number] in said
    assert "Traceback" not in said
    assert nobody_left(group)
    assert not leftovers(team)
