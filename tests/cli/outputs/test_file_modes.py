"""ID tables, manifests, models and all else that is secret: mode 0600 from the first byte on."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.files.atomic import replacing_all
from tracearena.files.io import replacing
from tracearena.io import pwscup
from tracearena.traces import IdTable, Traces

QUICK = ("--factors", 2, "--iterations", 2)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


@pytest.fixture(autouse=True, params=[0o000, 0o022], ids=["umask000", "umask022"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def run(*arguments: object) -> None:
    done = tracearena(*arguments)
    assert done.status == 0, done.err


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    walks = make_walks(users=12, days=4)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    return tmp_path


def test_an_id_table_and_its_release(team, umask):
    run("obfuscate", "No", team / "org.csv", team / "ano.csv", "--places", team / "places.csv", "--seed", 1)
    run(
        "pseudonymise", team / "ano.csv", team / "pub.csv", "--original", team / "org.csv",
        "--places", team / "places.csv", "--id-table", team / "ptable.csv",
    )  # fmt: skip
    assert mode(team / "ptable.csv") == "0o600"
    assert mode(team / "pub.csv") == oct(0o666 & ~umask)


@pytest.mark.slow
def test_the_secrets_of_a_contest_and_its_model(team, umask):
    run(
        "contest", "data", team / "org.csv", team / "contest", "--places", team / "places.csv",
        "--teams", 1, "--users", 5, "--days", 2, "--seed", 1, *QUICK, "--model", team / "model.npz",
    )  # fmt: skip
    found = {path.name: mode(path) for path in (team / "contest" / "judge").iterdir()}
    kinds = ("manifest", "salts", "ptable", "orgtraces", "anotraces")
    secret = {name for name in found if name.startswith(kinds)}
    assert len(secret) == 1 + 1 + 1 + 4 + 1
    assert {name for name in found if found[name] == "0o600"} == secret
    assert {found[name] for name in found.keys() - secret} == {oct(0o666 & ~umask)}
    assert mode(team / "contest") == mode(team / "contest" / "judge") == "0o700"
    bundle = team / "contest" / "teams" / "team001"
    own = {path.name: mode(path) for path in bundle.iterdir()}
    assert {name for name in own if own[name] == "0o600"} == {"orgtraces_team001_data01_IDP.csv"}
    assert mode(team / "model.npz") == "0o600"


def test_there_is_no_moment_at_which_others_could_read(tmp_path):
    with replacing_all():
        with replacing(tmp_path / "key", private=True) as file:
            file.write(b"secret")
            assert {mode(path) for path in tmp_path.iterdir()} == {"0o600"}
        with replacing(tmp_path / "other") as file:
            file.write(b"open")
            assert {mode(path) for path in tmp_path.iterdir()} == {"0o600"}
    assert mode(tmp_path / "key") == "0o600"


def test_an_id_table_written_from_python(tmp_path):
    pwscup.write_id_table(IdTable([3, 4], [2, 1]), tmp_path / "ptable.csv")
    assert mode(tmp_path / "ptable.csv") == "0o600"
