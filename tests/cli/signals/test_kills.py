"""A run that is killed at any moment leaves nothing that keeps the next one from the same result."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracearena import io
from tracearena.cities.gps import simulate_gps
from tracearena.files.io import replacing, replacing_folder
from tracearena.io import pwscup, write
from tracearena.traces import Traces

KILLED = """
import os, pathlib, signal, sys
owner, name, last = {"replace": (os, "replace"), "fsync": (os, "fsync"), "chmod": (pathlib.Path, "chmod"),
                     "write": (pathlib.Path, "write_bytes"),
                     "unlink": (os, "unlink")}[MOMENT[0]] + (MOMENT[1],)
true, count = getattr(owner, name), 0
def deadly(*arguments, **options):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return true(*arguments, **options)
setattr(owner, name, deadly)
"""


def command(*arguments: object, killed_at: tuple[str, int] | None = None) -> int:
    """Run ``tracearena``, killed at the n-th call of something if asked; return its status."""
    deadly = "" if killed_at is None else KILLED.replace("MOMENT", repr(killed_at))
    script = f"{deadly}\nimport sys\nfrom tracearena.cli import main\nsys.argv[0] = 'tracearena'\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], check=False, capture_output=True, timeout=300
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, hidden ones too, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(tmp_path: Path, moments: list[tuple[str, int]], *arguments: object) -> None:
    """Compare repeated runs with an undisturbed one; the outputs go to the folder OUT."""

    def into(folder: str) -> list[object]:
        (tmp_path / folder).mkdir(exist_ok=True)
        return [tmp_path / folder / str(one)[4:] if str(one).startswith("OUT/") else one for one in arguments]

    assert command(*into("whole")) == 0
    wanted = contents(tmp_path / "whole")
    assert wanted
    assert not any(name.endswith(".part") for name in wanted)
    for number, moment in enumerate(moments):
        folder = f"killed{number}"
        assert command(*into(folder), killed_at=moment) == -signal.SIGKILL, moment
        assert command(*into(folder)) == 0
        assert contents(tmp_path / folder) == wanted, moment


@pytest.fixture
def check_ins(tmp_path: Path, make_check_ins: Callable[..., Traces]) -> Path:
    io.write(make_check_ins(30, 500), tmp_path / "in.csv")
    return tmp_path / "in.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    "moments",
    [
        [("replace", 3)],
        pytest.param(
            [("fsync", 1), ("fsync", 2), ("replace", 1), ("replace", 4), ("replace", 5)],
            marks=pytest.mark.long,
        ),
    ],
    ids=["one moment", "other moments"],
)
def test_convert_to_partitions(tmp_path, check_ins, moments):
    check(
        tmp_path, moments, "convert", check_ins, "OUT/parts", "--to", "partitions", "--test-share", 0.2,
        "--test", "OUT/aside", "--places-out", "OUT/places.csv", "--seed", 3,
    )  # fmt: skip


@pytest.mark.long
def test_convert_to_geolife(tmp_path):
    write(simulate_gps(3, 1, seed=1), tmp_path / "points.csv")
    moments = [("write", 1), ("write", 3), ("chmod", 1), ("replace", 1)]
    check(
        tmp_path, moments, "convert", tmp_path / "points.csv", "OUT/geolife", "--from", "points",
        "--to", "geolife",
    )  # fmt: skip


@pytest.mark.long
def test_contest_data(tmp_path, make_walks):
    walks = make_walks(users=20, days=4)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    check(
        tmp_path, [("fsync", 1), ("fsync", 5), ("replace", 7), ("replace", 14)], "contest", "data",
        tmp_path / "org.csv", "OUT/contest", "--places", tmp_path / "places.csv", "--teams", 1,
        "--users", 5, "--days", 2, "--seed", 3, "--factors", 2, "--iterations", 2,
    )  # fmt: skip


TWO_FILES_AND_A_FOLDER = """
from pathlib import Path
from tracearena.files import replacing, replacing_all
from tracearena.files.io import replacing_folder
out = Path(sys.argv[1])
with replacing_all():
    with replacing(out / "a") as file:
        file.write(b"new")
    with replacing_folder(out / "b") as folder:
        (folder / "inside").write_bytes(b"new")
    with replacing(out / "other" / "c") as file:
        file.write(b"new")
"""


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize(
    "moment", [("fsync", 1), ("fsync", 2), ("replace", 1), ("replace", 2), ("replace", 3), ("unlink", 1)]
)
def test_renames_that_were_not_finished_are_undone_by_the_next_run(tmp_path, moment, old):
    (tmp_path / "other").mkdir()
    if old is not None:
        (tmp_path / "a").write_text(old)
    before = contents(tmp_path)
    script = KILLED.replace("MOMENT", repr(moment)) + "\nimport sys\n" + TWO_FILES_AND_A_FOLDER
    died = subprocess.run([sys.executable, "-c", script, tmp_path], check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert any(name.endswith(".part") for name in contents(tmp_path))
    done = moment[0] == "unlink"  # all renames were made, and only the traces of them were left
    with pytest.raises(RuntimeError), replacing(tmp_path / "a"):
        raise RuntimeError("looked, and wrote nothing")
    for name in () if done else ("b", "other/c"):
        with pytest.raises(RuntimeError), replacing(tmp_path / name):
            raise RuntimeError("looked, and wrote nothing")
    assert contents(tmp_path) == ({"a": b"new", "b/inside": b"new", "other/c": b"new"} if done else before)
    script = "import sys\n" + TWO_FILES_AND_A_FOLDER
    again = subprocess.run([sys.executable, "-c", script, tmp_path], check=False, capture_output=True)
    if not done:  # a whole folder is somebody's result
        assert again.returncode == 0
        assert contents(tmp_path) == {"a": b"new", "b/inside": b"new", "other/c": b"new"}


def test_what_a_living_process_is_writing_is_left_alone(tmp_path):
    with replacing(tmp_path / "out.csv") as file:
        file.write(b"mine")
        script = (
            "import sys\nfrom tracearena.files.io import replacing\n"
            "with replacing(sys.argv[1]) as file:\n    file.write(b'theirs')"
        )
        subprocess.run([sys.executable, "-c", script, tmp_path / "out.csv"], check=True)
        assert (tmp_path / "out.csv").read_text() == "theirs"
    assert contents(tmp_path) == {"out.csv": b"mine"}


def test_a_folder_of_somebody_else_is_still_refused(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    (tmp_path / ".out.download.part").write_text("not ours")
    with pytest.raises(Exception, match="not an empty folder"), replacing_folder(tmp_path / "out"):
        pass
    assert set(contents(tmp_path)) == {"out/thesis.txt", ".out.download.part"}
