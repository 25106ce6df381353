"""What a release is drawn from is in no output, no file and no message."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena

from tracearena.contest import ContestPlan, write_contest_data
from tracearena.engine import SecretRoot, seed_sequence
from tracearena.errors import ParameterError
from tracearena.io import pwscup, write
from tracearena.synthesis import PPMTF
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

QUICK = ("--factors", "2", "--iterations", "3")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All that is drawn from the system's source while the test runs."""
    kept, source = [], secrets.token_bytes

    def token_bytes(size: int | None = None) -> bytes:
        kept.append(source(size))
        return kept[-1]

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    return kept


@pytest.fixture
def files(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """A small team's files, and GPS points."""
    reference, original = make_walks(users=12, days=4).split_days(2)
    pwscup.write_places(reference.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    pwscup.write_obfuscated(ObfuscatedTraces.from_traces(original), tmp_path / "ano.csv")
    points = 30
    track = GpsTraces(
        user_ids=["a"],
        offsets=[0, points],
        time_ms=1_200_000_000_000 + 10_000 * np.arange(points),
        latitude=39.9 + 1e-4 * np.arange(points),
        longitude=np.full(points, 116.3),
    )
    write(track, tmp_path / "track.csv")
    return tmp_path


def spellings(key: bytes) -> set[bytes]:
    """Ways in which a key, or any eighth of it, could have been written down."""
    found = {
        key,
        key.hex().encode(),
        base64.b64encode(key),
        base64.urlsafe_b64encode(key),
        repr(key).encode(),
    }
    words = [key, *(key[at : at + 8] for at in range(0, len(key), 8))]
    for word in words:
        for order in ("little", "big"):
            found |= {
                str(int.from_bytes(word, order)).encode(),
                hex(int.from_bytes(word, order))[2:].encode(),
            }
    return found | set(words)


def told(key: bytes, text: bytes) -> bool:
    return any(spelling in text for spelling in spellings(key))


def test_the_search_finds_what_is_told() -> None:
    key = bytes(range(100, 132))
    for text in (f"seed {int.from_bytes(key, 'little')}", f"[{int.from_bytes(key[8:16], 'big')}]", key.hex()):
        assert told(key, text.encode())
    assert told(key, b"PK" + key[8:16] + b"\0")
    assert not told(key, b"seed 5")


PPMTF_2 = "PPMTF(2,iterations=2)"
COMMANDS = {
    "obfuscate": "obfuscate PL(4,1) org.csv out.csv --places places.csv",
    "obfuscate GPS": "obfuscate GeoInd(100m) track.csv out.parquet",
    "pseudonymise": "pseudonymise ano.csv out.csv --original org.csv --id-table ids.csv --places places.csv",
    "synthesize PPMTF": f"synthesize {PPMTF_2} org.csv out.csv --places places.csv --model model.npz",
    "synthesize PPMTF+": f"synthesize {PPMTF_2} org.csv out.csv --places places.csv --virtual-users 3",
    "synthesize SGD": "synthesize SGD org.csv out.csv --places places.csv",
    "synthesize SGLT": "synthesize SGLT(4,privacy_tests=false) org.csv out.csv --places places.csv",
    "synthesize Uniform": "synthesize Uniform org.csv out.csv --places places.csv",
    "contest data": "contest data org.csv contest --places places.csv --teams 1 --users 3 --days 2 "
    "--model model.npz",
}


def arguments(what: str) -> list[str]:
    quick = QUICK if what == "contest data" else ()
    return [*COMMANDS[what].split(), *quick, "--json"]


def said_by(words: list[str]) -> tuple[str, str]:
    _, out, err = tracearena(*words)
    assert out, err
    return out, err


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_release_tells_nobody_its_root(
    what: str,
    files: Path,
    drawn: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    out, err = said_by(arguments(what))
    # The salt of the judge's commitment is for the judge to keep; it opens nothing but that.
    salts = Path(json.loads(out).get("commitment_salt_file", "none"))
    kept = b"".join(path.read_bytes() for path in (salts, *files.rglob("judge/salts.csv")) if path.is_file())
    written = [path.read_bytes() for path in files.rglob("*") if path.is_file() and path.name != salts.name]
    everything = b"\n".join([out.encode(), err.encode(), *written])
    keys = [key for key in drawn if len(key) >= 32 and key.hex().encode() not in kept]
    assert keys
    assert not [key for key in keys if told(key, everything)]
    assert "seed" not in json.loads(out)
    assert not re.search(r"\bseed\b", err)


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_seed_for_a_release_is_warned_of(
    what: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    out, err = said_by([*arguments(what), "--seed", "5"])
    assert "anyone who guesses --seed can draw the same random numbers and undo this release" in err
    assert json.loads(out).get("seed", 5) == 5


def test_a_contest_without_a_seed_has_none_in_its_manifest(
    tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    model = PPMTF(factors=2, iterations=2, zeros="all").fit(make_walks(users=8, days=2))
    plan = ContestPlan(teams=1, users=3, days=2)
    manifest = write_contest_data(tmp_path / "secret", model, plan)
    assert manifest["seed"] is None
    assert {entry["seed"] for entry in manifest["data"]} == {None}
    seeded = write_contest_data(tmp_path / "seeded", model, plan, seed=4)
    assert seeded["seed"] == {"entropy": [4], "spawn_key": []}


def test_training_without_a_seed_goes_on_from_its_file_with_other_draws(
    tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    walks, path = make_walks(users=8, days=2), tmp_path / "model.npz"
    PPMTF(factors=2, iterations=2).fit(walks, checkpoint=path)
    assert json.loads(str(np.load(path)["header"]))["seed"] is None
    resumed = []
    for number in range(2):
        (tmp_path / f"{number}.npz").write_bytes(path.read_bytes())
        more = PPMTF(factors=2, iterations=4).fit(walks, checkpoint=tmp_path / f"{number}.npz")
        assert more.iteration_ == 4
        resumed.append(more.transition_factors_.users)
    assert (resumed[0] != resumed[1]).any()
    with pytest.raises(ParameterError, match="another seed"):
        PPMTF(factors=2, iterations=4).fit(walks, checkpoint=path, seed=1)


def test_training_under_a_seed_goes_on_to_the_same_model(
    tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    walks, path = make_walks(users=8, days=2), tmp_path / "model.npz"
    whole = PPMTF(factors=2, iterations=4).fit(walks, seed=3)
    PPMTF(factors=2, iterations=2).fit(walks, seed=3, checkpoint=path)
    resumed = PPMTF(factors=2, iterations=4).fit(walks, seed=3, checkpoint=path)
    assert (whole.transition_factors_.users == resumed.transition_factors_.users).all()


def test_an_error_does_not_tell_a_root() -> None:
    root = seed_sequence(None)
    assert isinstance(root, SecretRoot)
    with pytest.raises(ParameterError) as refused:
        PPMTF(factors=root)  # type: ignore[arg-type]
    assert "SecretRoot(…)" in str(refused.value)
