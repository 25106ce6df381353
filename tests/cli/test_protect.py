"""``tracearena protect`` as a data owner meets it: a release that keeps the limits, or none at all."""

from __future__ import annotations

import errno
import html
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command_line import Done, tracearena

from tracearena.audit import Settings
from tracearena.cities import simulate
from tracearena.cli.audit import MeasuringOptions
from tracearena.io import read
from tracearena.jobs import risk
from tracearena.traces import Places

Run = Callable[..., Done]
HIDES = "RR(0.01)+RoundTime(day)"
"""Places at random and no times of day: it keeps any limit that so few people can prove."""
NUMBERS = 1000 + np.arange(1000)
"""Ids of the city's venues."""
GENEROUS = ("--target-risk", "50%", "--limit", "singling-out=50%", "--limit", "inference=100%")

OWN = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import tracearena as ta

@dataclass(kw_only=True)
class MyLinker(ta.attacks.VisitProbabilityR):
    """Leave a mark whenever it runs."""
    name: ClassVar[str] = "MyLinker"

    def fit(self, reference):
        with open("marks.txt", "a") as marks:
            marks.write(f"{reference.n_users}\\n")
        return super().fit(reference)
'''


@cache
def check_ins() -> pl.DataFrame:
    """Check-ins of 100 people at venues whose ids are whole numbers."""
    people = simulate(users=100, days=30, mode="checkins", checkins_per_user=30, seed=4)
    numbered = people.onto(Places(people.places.latitude, people.places.longitude, ids=NUMBERS))
    return numbered.to_frame().with_columns(pl.format("person-{}", pl.col("user_id")).alias("user_id"))


def written(folder: Path) -> Path:
    check_ins().write_csv(folder / "in.csv")
    return folder


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    return written(tmp_path)


def protect(folder: Path, *words: object) -> Done:
    """Run the command in a folder, with few draws and a fixed seed."""
    named = ("in.csv", "safer.csv", "--out", "audit", "--id-table", "secret.csv", "--seed", 1, "--draws", 2)
    return tracearena("protect", *named, *words, folder=folder)


def headline(folder: Path) -> str:
    """The first sentence of the page."""
    page = (folder / "audit" / "audit.html").read_text()
    found = re.search(r'<div class="verdict (\w+)"><p><strong>(.*?)</strong>', page)
    assert found is not None
    return html.unescape(found[2])


def text_of(folder: Path) -> str:
    return html.unescape((folder / "audit" / "audit.html").read_text())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = written(tmp_path_factory.mktemp("kept"))
    return folder, protect(folder, *GENEROUS, "--defences", "No", "--defences", HIDES, "--json")


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done, Done]:
    folder = written(tmp_path_factory.mktemp("failed"))
    words = ("--target-risk", "5%", "--defences", "No")
    as_json = protect(folder, *words, "--json")
    (folder / "audit").rename(folder / "first")
    return folder, protect(folder, *words), as_json


@pytest.mark.slow
def test_status_0_comes_with_a_release_that_keeps_the_limits(kept: tuple[Path, Done]) -> None:
    folder, done = kept
    assert done.status == 0, done.err
    assert {path.name for path in folder.iterdir()} == {"in.csv", "safer.csv", "secret.csv", "audit"}
    assert done.json["defence"] == HIDES
    assert done.json["audit"]["verdict"] == "green"
    assert done.json["audit"]["release"]["sha256"] == _sha256(folder / "safer.csv")
    released = read(folder / "safer.csv").traces
    original = read(folder / "in.csv").traces
    assert (released.n_users, len(released)) == (original.n_users, len(original))
    assert len((folder / "secret.csv").read_text().splitlines()) == original.n_users + 1
    for path in (folder / "safer.csv", folder / "audit" / "audit.html", folder / "audit" / "audit.json"):
        assert "person-" not in path.read_text()


def _sha256(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_the_verdict_is_one_sentence_everywhere(kept: tuple[Path, Done]) -> None:
    folder, done = kept
    assert done.json["verdict"].startswith(f"{HIDES} keeps the limits: ")
    assert headline(folder) == done.json["verdict"]
    assert 'class="verdict green"' in text_of(folder)


@pytest.mark.slow
def test_the_printed_command_has_the_target_and_the_limits_and_can_be_run(kept: tuple[Path, Done]) -> None:
    folder, done = kept
    words = shlex.split(done.json["command"])
    assert words[:4] == ["tracearena", "protect", "in.csv", "safer.csv"]
    for name, value in (
        ("--target-risk", "50%"), ("--limit", "singling-out=50%"), ("--limit", "inference=100%"),
        ("--defences", HIDES),
    ):  # fmt: skip
        assert (name, value) in pairwise(words)
    assert done.json["command"] in text_of(folder)
    again = [word.replace("safer", "again").replace("audit", "second") for word in words]
    step = tracearena(*again[1:], "--draws", 2, "--seed", 1, folder=folder)
    assert step.status == 0, step.err
    header = [(folder / name).read_text().splitlines()[0] for name in ("safer.csv", "again.csv")]
    assert header[0] == header[1]
    (folder / "again.csv").unlink()


@pytest.mark.slow
def test_quick_attacks_that_exceed_the_target_say_at_least(kept: tuple[Path, Done]) -> None:
    folder, done = kept
    assert re.search(r"^No: at least \d+\.\d% found by ", done.err, re.M)
    assert re.search(r"at least 0\.\d{4}", text_of(folder))
    unprotected = next(one for one in done.json["protection"]["trials"] if one["defence"] == "No")
    assert unprotected["at_least"]


@pytest.mark.slow
def test_the_page_says_where_the_file_was_cut_and_what_was_changed(kept: tuple[Path, Done]) -> None:
    folder, _ = kept
    page = text_of(folder)
    assert re.search(r"cut in two by time \(at \d{4}-\d\d-\d\d\)", page)
    assert f"{HIDES} changes times: released times are not the true ones." in page


@pytest.mark.slow
def test_where_nothing_holds_status_3_leaves_the_page_alone(failed: tuple[Path, Done, Done]) -> None:
    folder, in_words, as_json = failed
    assert (in_words.status, as_json.status) == (3, 3), in_words.err
    assert {path.name for path in folder.iterdir()} == {"in.csv", "audit", "first"}
    said = as_json.json["verdict"]
    assert "none of 1 defences keeps the limits. " in said
    assert "No has the lowest risk: at least " in said
    assert (as_json.json["file"], as_json.json["command"], as_json.json["defence"]) == (None, None, None)
    assert headline(folder) == said
    assert 'class="verdict red"' in text_of(folder)
    assert " ".join(in_words.out.split()).startswith(f"verdict {said}")


@pytest.mark.slow
def test_no_advantage_at_all_is_a_limit_that_nothing_keeps(owner: Path) -> None:
    words = ("--target-risk", "50%", "--limit", "inference=100%", "--limit", "singling-out=0%")
    done = protect(owner, *words, "--defences", HIDES, "--json")
    assert done.status == 3, done.err
    assert "without proof that it keeps the limit of singling out" in done.json["verdict"]
    assert {path.name for path in owner.iterdir()} == {"in.csv", "audit"}


@pytest.mark.long
def test_venue_numbers_do_not_break_the_last_step(owner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = MeasuringOptions.settings

    def with_few_places(self: MeasuringOptions, **told: Any) -> Settings:
        return replace(usual(self, **told), most_places=60)

    monkeypatch.setattr(MeasuringOptions, "settings", with_few_places)
    defence = "ClusterAveraging(0.3,blur_km=0.5)+RoundTime(day)"
    done = protect(owner, *GENEROUS, "--defences", defence)
    assert done.status == 0, done.err
    assert "puts events at cells of 500 m instead of the places of the file" in " ".join(done.out.split())
    assert "puts events at cells of 500 m" in text_of(owner)
    original = pl.read_csv(owner / "in.csv")
    released = pl.read_csv(owner / "safer.csv", infer_schema_length=None)
    assert released.height == original.height


@pytest.mark.long
def test_an_attack_of_ones_own_is_run(owner: Path) -> None:
    (owner / "my_module.py").write_text(OWN)
    words = (*GENEROUS, "--defences", HIDES, "--attack", "my_module:MyLinker", "--json")
    done = protect(owner, *words)
    assert done.status == 0, done.err
    # When the defence was chosen, and twice for the proof.
    assert len((owner / "marks.txt").read_text().splitlines()) == 3
    attacks = [one["attack"] for one in done.json["audit"]["after"]["linkability"]["attacks"]]
    assert "MyLinker" in attacks or "my_module:MyLinker" in attacks
    assert "--attack my_module:MyLinker" in done.json["command"]


@pytest.mark.slow
def test_an_attack_of_ones_own_is_audited(owner: Path) -> None:
    (owner / "my_module.py").write_text(OWN)
    words = ("--out", "audit", "--seed", 1, "--draws", 2, "--attack", "my_module:MyLinker", "--json")
    done = tracearena("audit", "in.csv", *words, folder=owner)
    assert done.status == 0, done.err
    found = {
        one["attack"].removeprefix("my_module:"): one["top"]["1"]["value"]
        for one in done.json["before"]["linkability"]["attacks"]
    }
    assert found["MyLinker"] > 0.1
    assert "MyLinker" in text_of(owner)


@pytest.mark.slow
def test_the_first_line_of_an_audit_is_that_of_its_page(owner: Path) -> None:
    done = tracearena("audit", "in.csv", "--out", "audit", "--seed", 1, "--draws", 2, folder=owner)
    assert done.status == 0, done.err
    numbers = json.loads((owner / "audit" / "audit.json").read_text())
    assert headline(owner) == numbers["headline"]
    assert " ".join(done.out.split()).startswith(f"verdict {numbers['verdict']}: {numbers['headline']}")


@pytest.mark.slow
def test_a_full_disk_leaves_no_draft(owner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(released: object, path: Path, form: object) -> None:
        path.write_text("user")
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(risk, "write_anonymized", full)
    done = protect(owner, *GENEROUS, "--defences", HIDES)
    assert done.status == 1
    assert "No space left on device" in done.err
    assert {path.name for path in owner.iterdir()} == {"in.csv"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", ["attack_candidate", pytest.param("assess_in_stages", marks=pytest.mark.long)]
)
def test_a_stopped_search_leaves_no_draft(owner: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    from tracearena.audit import protection

    def stop(*arguments: object, **options: object) -> None:
        # When the release is proved it has been written.
        drafts = [path.name for path in owner.iterdir() if path.name.startswith(".")]
        assert drafts == ([".unproved-safer.csv"] if step == "assess_in_stages" else [])
        raise KeyboardInterrupt

    monkeypatch.setattr(protection, step, stop)
    done = protect(owner, *GENEROUS, "--defences", HIDES)
    assert done.status not in (0, 3)
    assert "has the results so far, marked as incomplete" in done.err
    assert {path.name for path in owner.iterdir()} == {"in.csv", "audit"}
    assert "was interrupted" in text_of(owner)


def test_a_stopped_search_keeps_what_was_tried(owner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracearena.audit import protection

    really, done_before = protection.attack_candidate, []

    def once(one: Any, *arguments: Any, **options: Any) -> Any:
        if done_before:
            raise KeyboardInterrupt
        done_before.append(one.trial.defence)
        return really(one, *arguments, **options)

    monkeypatch.setattr(protection, "attack_candidate", once)
    done = protect(owner, "--defences", "RR(1)", "--defences", "No")
    assert done.status not in (0, 3)
    assert done_before == ["No"]
    assert "Defences that were tried" in text_of(owner)
    trials = json.loads((owner / "audit" / "audit.json").read_text())["protection"]["trials"]
    assert [(one["defence"], one["risk"] is None) for one in trials] == [("No", False), ("RR(1)", True)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "singling-out"], "--limit = 'singling-out' is not allowed; it must be NAME=SHARE"),
        (["--limit", "much=5%"], "one of found-again, singling-out, inference"),
        (["--limit", "inference=much"], "--limit inference = 'much' is not allowed"),
        (["--target-risk", "0%"], "target"),
        (["--attack", "my_module:Nothing"], "my_module"),
        (["--attack", "PL(1,1)"], "PL is a defence for events at places"),
        (["--defences", "Nonsense(1)"], "Nonsense"),
    ],
)
def test_mistakes_get_a_sentence(owner: Path, words: list[str], said: str) -> None:
    done = protect(owner, *words)
    assert done.status == 2
    assert said in done.err
    assert {path.name for path in owner.iterdir()} == {"in.csv"}


@pytest.mark.long
def test_gps_points_are_protected_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    home = rng.uniform([35.6, 139.6], [35.75, 139.85], (40, 2))
    rows = [
        {"user": f"u{user}", "time": 1_600_000_000 + 1800 * step, "lat": lat, "lng": lng}
        for user in range(40)
        for step in range(4 * 48)
        for lat, lng in [home[user] + rng.normal(0, 0.003, 2)]
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "in.csv")
    limits = ("--target-risk", "60%", "--limit", "singling-out=60%", "--limit", "inference=60%")
    done = protect(tmp_path, *limits, "--defences", "Snap(500m)", "--defences", "Snap(500km)", "--json")
    assert done.status == 0, done.err
    assert done.json["defence"] == "Snap(500km)", done.err
    released = pl.read_csv(tmp_path / "safer.csv")
    assert released.height == len(rows)
    assert done.json["audit"]["verdict"] == "green"
