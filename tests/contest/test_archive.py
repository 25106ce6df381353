"""An archive is the whole of a contest in the same bytes each time, and is read as what an enemy made."""

from __future__ import annotations

import json
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contest.archived import finished, small_archive

from tracearena.contest import read_archive, write_archive
from tracearena.errors import FileError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("contest") / "friday")


@pytest.fixture
def archive(folder: Path, tmp_path: Path) -> Path:
    write_archive(folder, tmp_path / "friday.zip", originals=True)
    return tmp_path / "friday.zip"


@pytest.mark.slow
def test_the_same_folder_gives_the_same_bytes(folder: Path, archive: Path, tmp_path: Path) -> None:
    again = Path(shutil.copytree(folder, tmp_path / "copy"))
    for path in again.rglob("*.csv"):
        path.touch()
    write_archive(again, tmp_path / "again.zip", originals=True)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_it_holds_the_folder_without_bundles_seeds_and_kept_scores(folder: Path, archive: Path) -> None:
    assert (folder / "judge" / "scores.jsonl").is_file()
    assert (folder / "judge" / "manifest.json").is_file()
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        manifest = json.loads(opened.read("manifest.json"))
    assert names == ["manifest.json", *sorted(names[1:])]
    assert {name.split("/")[0] for name in names} == {
        "manifest.json", "contest.toml", "judge", "everybody", "submissions", "results",
    }  # fmt: skip
    assert not {"judge/scores.jsonl", "judge/manifest.json"} & set(names)
    assert sorted(manifest["sha256"]) == names[1:]
    assert manifest["name"] == "Friday"
    assert manifest["released"] == [f"ptable_team{team}_data01_IDP.csv" for team in ("000", "001", "002")]
    assert set(manifest["awards"]) == {"best-anonymization", "best-reidentification", "best-trace-inference"}


def test_without_leave_no_original_of_a_team_is_in_it(folder: Path, tmp_path: Path) -> None:
    (folder / "results" / "board.html").write_text("a map of everybody")
    write_archive(folder, tmp_path / "given.zip")
    with zipfile.ZipFile(tmp_path / "given.zip") as opened:
        originals = [name for name in opened.namelist() if "orgtraces" in name]
        assert not [name for name in opened.namelist() if name.endswith(".html")]
    (folder / "results" / "board.html").unlink()
    samples = [f"orgtraces_team00{number}_data01_IDP.csv" for number in (3, 4)]
    assert originals == [f"{place}/{name}" for place in ("everybody", "judge") for name in samples]


def test_it_is_unpacked_as_it_was_into_a_folder_of_its_own(folder: Path, archive: Path) -> None:
    with read_archive(archive) as opened:
        place = opened.folder
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        for name in opened.files():
            assert (place / name).read_bytes() == (folder / name).read_bytes()
        assert opened.files() == sorted(opened.digests)
    assert not place.exists()


def test_a_contest_that_is_not_over_is_not_archived(folder: Path, tmp_path: Path) -> None:
    half = Path(shutil.copytree(folder, tmp_path / "half"))
    shutil.rmtree(half / "results")
    with pytest.raises(
        FileError, match="results: is missing; the archive of a finished contest must have it"
    ):
        write_archive(half, tmp_path / "half.zip")
    assert not (tmp_path / "half.zip").exists()


def _text(path: Path) -> None:
    path.write_text("hello")


def _cut(path: Path) -> None:
    small_archive(path)
    path.write_bytes(path.read_bytes()[:-40])


def _empty(path: Path) -> None:
    with zipfile.ZipFile(path, "w"):
        pass


def _with(name: str, content: bytes = b"x") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        small_archive(path, {name: content})

    return write


def _link(path: Path) -> None:
    entry = zipfile.ZipInfo("judge/link.csv")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    small_archive(path)
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr(entry, "/etc/passwd")


def _twice(path: Path) -> None:
    small_archive(path)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as opened:
        warnings.simplefilter("ignore")
        opened.writestr("contest.toml", "teams = 2")


def _bomb(path: Path) -> None:
    small_archive(path, {"judge/zeros.csv": bytes(80 * 2**20)})


def _many(path: Path) -> None:
    small_archive(path, {f"submissions/{number}": b"" for number in range(100_001)})


MANY = pytest.param(_many, marks=pytest.mark.long)


@pytest.mark.parametrize(
    "make",
    [
        _text, _cut, _empty, _link, _twice, _bomb, MANY,
        _with("../out.csv"), _with("/etc/passwd"), _with("judge/../../out.csv"), _with("judge\\out.csv"),
        _with("C:/out.csv"), _with("teams/team001/orgtraces.csv"), _with("judge/scores.jsonl"),
        _with("judge/manifest.json"), _with("start.sh"), _with("judge"), _with("judge/inner.zip"),
        _with("judge/SALTS.csv"), _with("CONTEST.toml"), _with("contest.toml/x"),
        _with("manifest.json", b"[]"), _with("manifest.json", b"{"), _with("manifest.json", b"\xff"),
        _with("manifest.json", b'{"format": "tracearena-contest-archive", "version": 2, "sha256": {}}'),
        _with("manifest.json", b'{"format": "tracearena-contest-archive", "version": 1, "sha256": {"a": 1}}'),
        _with("manifest.json", b"[" * 100_000),
    ],
)  # fmt: skip
def test_what_is_no_archive_of_a_contest_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "bad.zip"
    make(path)
    with pytest.raises(FileError, match=r"bad\.zip|manifest\.json"), read_archive(path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["in"]


def test_the_small_archive_of_these_tests_would_be_read(tmp_path: Path) -> None:
    small_archive(tmp_path / "good.zip")
    with read_archive(tmp_path / "good.zip") as opened:
        assert opened.files() == ["contest.toml", "judge/salts.csv"]
