"""Several outputs of one command: when one of them cannot be written, none of them is."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.command_line import tracearena as run

from tracearena import io
from tracearena.files.atomic import make_folder, replacing_all
from tracearena.files.io import replacing, replacing_folder
from tracearena.io import pwscup
from tracearena.traces import Traces


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """A folder with the files of a small team, and a folder ``out`` for outputs."""
    walks = make_walks(users=30, days=4)
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    pwscup.write_times(pwscup.ContestTimes(walks.clock, 2, 2), tmp_path / "info_time.csv")
    io.write(original, tmp_path / "table.csv", places_out=tmp_path / "table_places.csv")
    (tmp_path / "out").mkdir()
    return tmp_path


def full(path: Path) -> Path:
    """Let a name stand for a disk that is full."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    path.symlink_to("/dev/full")
    return path


def obfuscated(team: Path) -> Path:
    status, _, said = run(
        "obfuscate", "MRLH(1,1,0.5)", team / "org.csv", team / "ano.csv", "--places", team / "places.csv",
        "--seed", 1,
    )  # fmt: skip
    assert status == 0, said
    return team / "ano.csv"


def left(out: Path) -> list[str]:
    """Name whatever is in the folder, except the name that stands for the full disk."""
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if not path.is_symlink())


@pytest.mark.parametrize("broken", ["traces", "table"])
def test_pseudonymise_leaves_no_id_table_without_its_traces(team, broken):
    out = team / "out"
    names = {"traces": out / "pub.csv", "table": out / "ptable.csv"}
    full(names[broken])
    status, _, said = run(
        "pseudonymise", obfuscated(team), names["traces"], "--original", team / "org.csv",
        "--places", team / "places.csv", "--id-table", names["table"],
    )  # fmt: skip
    assert status == 1
    assert said == f"{names[broken]}: No space left on device\n"
    assert left(out) == []


def test_sweep_leaves_no_table_without_its_picture(team):
    status, *_ = run(
        "sweep", team / "out" / "table.csv", "--places", team / "places.csv", "--reference",
        team / "ref.csv", "--original", team / "org.csv", "--defences", "No", "--attacks", "Random-R",
        "--attacks", "Random-T", "--seed", 1, "--plot", full(team / "out" / "plot.svg"),
    )  # fmt: skip
    assert status == 1
    # The rows are kept on purpose: the same command continues from them.
    assert left(team / "out") == ["table.csv.unfinished"]


@pytest.mark.parametrize("to", ["table", "ppmtf", "foursquare", "partitions"])
@pytest.mark.parametrize("broken", ["places", "test"])
def test_convert_leaves_nothing_without_the_places_or_the_testing_users(team, to, broken):
    out = team / "out"
    names = {"places": out / "places.csv", "test": out / "test.csv"}
    if broken == "test" and to == "partitions":
        pytest.skip("a folder cannot be a device")
    full(names[broken])
    status, *_ = run(
        "convert", team / "table.csv", out / "made.csv", "--to", to, "--places", team / "table_places.csv",
        "--places-out", names["places"], "--test-share", 0.2, "--test", names["test"], "--seed", 1,
    )  # fmt: skip
    # The numbers of the PPMTF tools come with a key, which cannot stand beside a device.
    assert status == (2 if (to, broken) == ("ppmtf", "test") else 1)
    assert left(out) == []


def test_city_leaves_no_traces_without_the_places(team):
    status, *_ = run(
        "city", team / "out" / "city.csv", "--users", 5, "--days", 2, "--seed", 1, "--places-out",
        full(team / "out" / "info_region.csv"),
    )  # fmt: skip
    assert status == 1
    assert left(team / "out") == []


def test_synthesize_leaves_no_traces_without_the_parameter_files(team):
    (team / "out" / "export").write_text("not a folder")
    status, *_ = run(
        "synthesize", "PPMTF(2,iterations=2)", team / "org.csv", team / "out" / "made.csv",
        "--places", team / "places.csv", "--seed", 1, "--export", team / "out" / "export",
    )  # fmt: skip
    assert status == 2
    assert left(team / "out") == ["export"]


def test_a_figure_leaves_no_picture_without_its_numbers(team, monkeypatch):
    from tracearena import papers

    def make(out: Path, **_: object) -> list[Path]:
        with replacing(out / "city-map.svg") as file:
            file.write(b"picture")
        with replacing(full(out / "city-map.csv")) as file:
            file.write(b"numbers")
        return []

    def fail(out: Path, **_: object) -> list[Path]:
        raise OSError(28, "full", "x")

    monkeypatch.setitem(papers.list_figures(), "city-map", make)
    assert run("figure", "city-map", "--out", team / "out" / "new" / "folder")[0] == 1
    assert left(team / "out") == ["new", "new/folder"]  # the full disk's own name stands in it
    (team / "out" / "new" / "folder" / "city-map.csv").unlink()
    monkeypatch.setitem(papers.list_figures(), "city-map", fail)
    assert run("figure", "city-map", "--out", team / "out" / "other" / "folder")[0] == 1
    assert not (team / "out" / "other").exists()


def write_all(place: Path, *, folders: str = "", files: str = "") -> None:
    """Write some folders and files together."""
    with replacing_all():
        for name in folders:
            with replacing_folder(place / name) as folder:
                (folder / "part").write_text("new")
        for name in files:
            with replacing(place / name) as file:
                file.write(b"new")


@pytest.fixture
def third_rename_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the third rename to one of the names a, b, c fail."""
    true, count = os.replace, []

    def replace(source: object, target: object) -> None:
        if Path(str(target)).name in "abc":
            count.append(target)
            if len(count) == 3:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(source), None, str(target))
        true(source, target)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "replace", replace)
    yield
    assert len(count) >= 3


@pytest.mark.usefixtures("third_rename_fails")
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("before", [{}, {"a": "old a"}, {"a": "old a", "b": "old b", "c": "old c"}])
def test_a_rename_that_fails_undoes_those_before_it(tmp_path, before, links, monkeypatch):
    if not links:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    for name, text in before.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o640)
    with pytest.raises(OSError) as caught:
        write_all(tmp_path, files="abc")
    assert caught.value.filename == str(tmp_path / "c")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    assert all(stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640 for name in before)


@pytest.mark.usefixtures("third_rename_fails")
def test_a_rename_that_fails_takes_new_folders_back(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError):
        write_all(tmp_path, folders="ab", files="c")
    assert left(tmp_path) == ["b"]


def test_outputs_appear_when_the_last_is_complete_and_not_before(tmp_path):
    with replacing_all():
        with replacing(tmp_path / "a.csv") as file:
            file.write(b"1")
        with replacing_all(), replacing(tmp_path / "b.csv.gz") as file:
            file.write(b"2")
        make_folder(tmp_path / "deep" / "er")
        with replacing(tmp_path / "deep" / "er" / "c") as file:
            file.write(b"3")
        with replacing(tmp_path / "a.csv") as file:
            file.write(b"again")
        assert not any(path.is_file() and not path.name.endswith(".part") for path in tmp_path.rglob("*"))
    assert left(tmp_path) == ["a.csv", "b.csv.gz", "deep", "deep/er", "deep/er/c"]
    assert (tmp_path / "a.csv").read_text() == "again"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o664)
    with replacing(tmp_path / "a") as file:
        file.write(b"new")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o664


def test_a_folder_that_cannot_be_written_to_gets_nothing_and_keeps_the_other_output(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "locked").mkdir(mode=0o500)
    with suppress(PermissionError), replacing_all():
        with replacing(tmp_path / "a") as file:
            file.write(b"new")
        with replacing(tmp_path / "locked" / "b") as file:
            file.write(b"new")
    assert left(tmp_path) == ["locked"]
