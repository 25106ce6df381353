"""T26: every bad file has one fixed verdict with its line, the same on the server as at home."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.command_line import tracearena
from tests.server.uploads import BAD, FRAME, GOOD, ORIGINAL, Bad

from tracearena.contest.rules import Rules
from tracearena.files.io import InMemoryFile
from tracearena.io import pwscup
from tracearena.server.sandbox.child import check_file
from tracearena.server.sandbox.messages import Kind, UploadArrays, Verdict
from tracearena.server.sandbox.parent import check_upload

RULES = Rules()
LIMITS = (RULES.largest_file_mb * 2**20, RULES.largest_listed_ids)

FIRST = {(bad.kind, bad.code): bad for bad in reversed(BAD)}
AT_HOME = [
    pytest.param(bad, marks=() if bad is FIRST[bad.kind, bad.code] else pytest.mark.long) for bad in BAD
]
"""The first file of each kind and verdict; the others in the long suite."""


def name_of(bad: Bad) -> str:
    return f"{bad.code}-{bad.content[:24]!a}"


def verdict(bad: Bad, name: str = "file.csv") -> Verdict:
    """Return what the inside of the child says of a bad file."""
    said = check_file(InMemoryFile(name, bad.content), FRAME, bad.kind, *LIMITS)
    assert isinstance(said, Verdict)
    return said


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team's folder: its places and its original traces."""
    folder = tmp_path_factory.mktemp("home")
    pwscup.write_places(ORIGINAL.places, folder / "places.csv")
    pwscup.write_traces(ORIGINAL, folder / "original.csv")
    return folder


def test_there_are_at_least_sixty_bad_files() -> None:
    """T26."""
    assert len({(bad.kind, bad.content) for bad in BAD}) >= 60


@pytest.mark.parametrize("bad", BAD, ids=name_of)
def test_a_bad_file_has_one_verdict_with_its_line(bad: Bad) -> None:
    """T26."""
    said = verdict(bad)
    assert (said.code, said.faults[0].row) == (bad.code, bad.row)
    if bad.row:
        # Rows of Parquet are no lines.
        line = "" if bad.content.startswith(b"PAR1") else f" (line {bad.row + 1})"
        assert f"file.csv: row {bad.row}{line}" in said.reason
    assert said.more == 0
    assert Verdict.from_dict(said.to_dict()).to_dict() == said.to_dict()


@pytest.mark.parametrize("bad", AT_HOME, ids=name_of)
def test_the_verdict_is_that_of_the_command_line(bad: Bad, home: Path) -> None:
    """T26."""
    (home / "file.csv").write_bytes(bad.content)
    known = ("--places", "places.csv", "--original", "original.csv", "--format", "pwscup", "--json")
    done = tracearena("check", bad.kind, "file.csv", *known, folder=home)
    assert done.status == 2
    said = verdict(bad)
    assert done.json["faults"] == said.to_dict()["faults"]
    assert done.json["total"] == len(said.faults) + said.more
    assert said.reason in done.err


@pytest.mark.parametrize("bad", [BAD[0], BAD[-1]], ids=name_of)
def test_the_child_says_what_its_inside_says(bad: Bad) -> None:
    """T26."""
    said = check_upload(bad.content, FRAME, bad.kind, RULES, file_name="file.csv")
    assert isinstance(said, Verdict)
    assert said.to_dict() == verdict(bad).to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("bad", BAD[::10], ids=name_of)
def test_the_child_says_it_of_every_kind_of_file(bad: Bad) -> None:
    """T26."""
    test_the_child_says_what_its_inside_says(bad)


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last_newline", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_marks_and_packing_do_not_matter(
    kind: Kind, crlf: bool, bom: bytes, last_newline: bool, packed: bool
) -> None:
    """T26."""
    content = GOOD[kind] if last_newline else GOOD[kind].rstrip(b"\n")
    content = bom + (content.replace(b"\n", b"\r\n") if crlf else content)
    content = gzip.compress(content) if packed else content
    plain = check_file(InMemoryFile("plain", GOOD[kind]), FRAME, kind, *LIMITS)
    assert isinstance(plain, UploadArrays)
    assert check_file(InMemoryFile("other", content), FRAME, kind, *LIMITS) == plain


def test_ten_faults_are_told_and_the_others_counted() -> None:
    """T26."""
    said = verdict(Bad("obfuscated", b"reg_id\n" + b"x\n" * 2500, "not-a-number", 1))
    assert [fault.row for fault in said.faults] == list(range(1, 11))
    assert said.more == 7
    assert said.reason.endswith("… and 7 more")


def test_a_check_never_takes_a_region_twice_whatever_the_rule_of_utility() -> None:
    """T26."""
    twice = GOOD["obfuscated"].replace(b"281 282 313 314", b"410 410", 1)
    rules = Rules(utility_rule="2019")
    said = check_upload(twice, FRAME, "obfuscated", rules, file_name="file.csv")
    assert isinstance(said, Verdict)
    assert said.code == "repeated-id"
