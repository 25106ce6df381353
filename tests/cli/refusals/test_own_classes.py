"""A user's own class of any kind: what it lacks or does wrong is told in one sentence, exit status 2."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import tracearena as run

from tracearena.arena import Ensemble, run_sweep
from tracearena.engine import use
from tracearena.errors import AlgorithmError, ParameterError
from tracearena.io import pwscup
from tracearena.traces import Traces

HEAD = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
import tracearena as ta
from tracearena.traces import *
"""
KINDS = {
    "obfuscator": ("ta.algorithms.Obfuscator", "transform(self, original, *, seed=None)"),
    "reidentification": ("ta.algorithms.ReidentificationAttack", "identify(self, anonymized, *, seed=None)"),
    "trace-inference": ("ta.algorithms.TraceInferenceAttack", "infer(self, anonymized, *, seed=None)"),
    "synthesizer": ("ta.algorithms.Synthesizer", "synthesize(self, traces_per_user=1, *, seed=None)"),
    "gps-obfuscator": ("ta.algorithms.GpsObfuscator", "transform(self, original, *, seed=None)"),
    "gps-attack": ("ta.algorithms.GpsAttack", "recover(self, released)"),
    "gps-synthesizer": ("ta.algorithms.GpsSynthesizer", "synthesize(self, traces_per_user=1, *, seed=None)"),
}
LEARNS = {"reidentification", "trace-inference", "synthesizer", "gps-synthesizer"}
GOOD = {
    "obfuscator": "return ObfuscatedTraces.from_traces(original)",
    "reidentification": "return IdTable(anonymized.user_ids, self.known.user_ids)",
    "trace-inference": "return known_at(self.known, anonymized)",
    "synthesizer": "return ta.synthesis.Uniform().fit(self.known).synthesize(traces_per_user, seed=seed)",
    "gps-obfuscator": "return original",
    "gps-attack": "return released",
    "gps-synthesizer": "return self.known",
}
OTHER_USERS = {
    "obfuscator": "return ObfuscatedTraces.from_traces(original).take_users([0])",
    "reidentification": "return IdTable(anonymized.user_ids, anonymized.user_ids)",
    "trace-inference": "return known_at(self.known, anonymized).take_users([0])",
    "synthesizer": "return self.known.take_users([0])",
    "gps-obfuscator": "return original.take_users([0])",
    "gps-attack": "return released.take_users([0])",
    "gps-synthesizer": "return self.known.take_users([0])",
}
OTHER_EVENTS = {
    "obfuscator": "return ObfuscatedTraces.from_traces(original).keep(np.arange(len(original)) > 0)",
    "reidentification": "return IdTable(anonymized.user_ids[1:], self.known.user_ids[1:])",
    "trace-inference": "return known_at(self.known, anonymized).keep(np.arange(240) > 0)",
    "synthesizer": "return self.known.take_days(0, 1) if traces_per_user > 1 else self.known",
    "gps-attack": "return released.keep(np.arange(len(released)) > 0)",
}
OTHER_PLACES = {
    "obfuscator": "return ObfuscatedTraces.from_traces(moved(original))",
    "trace-inference": "return moved(known_at(self.known, anonymized))",
    "synthesizer": "return moved(ta.synthesis.Uniform().fit(self.known).synthesize(traces_per_user, seed=1))",
}
MOVED = """
def known_at(known, anonymized):
    table = np.zeros((known.n_users, anonymized.n_instants), int)
    return Traces.from_dense(table, anonymized.places, anonymized.clock, user_ids=known.user_ids,
                             first_instant=anonymized.span[0])

def moved(traces):
    places = Places(traces.places.latitude - 1, traces.places.longitude)
    return Traces(places, traces.clock, user_ids=traces.user_ids, offsets=traces.offsets,
                  instants=traces.instants, place_index=traces.place_index, span=traces.span)
"""
POINTS = "user,time,latitude,longitude\n" + "".join(
    f"{user},2020-01-01T08:{minute:02d}:00Z,35.{minute:03d},139.5\n"
    for user in range(1, 6)
    for minute in range(30)
)


def source(kind: str, body: str, *, name: str | None = "Mine", base: str | None = None) -> str:
    """A module with one class of the kind whose method does what `body` says."""
    given, method = KINDS[kind]
    named = "" if name is None else f"    name: ClassVar[str] = {name!r}\n"
    seed = ", *, seed=None" if kind.endswith("synthesizer") else ""
    fit = f"    def fit(self, known{seed}):\n        self.known = known\n        return self\n"
    return (
        f"{HEAD}{MOVED}\n@dataclass(kw_only=True)\nclass Mine({base or given}):\n{named}"
        f"{fit if kind in LEARNS else ''}    def {method}:\n        {body}\n"
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, make_walks: Callable[..., Traces]) -> Path:
    """A folder of what the commands read, all of it right; ``pub.csv`` is a release under pseudonyms."""
    folder = tmp_path_factory.mktemp("prepared")
    walks = make_walks(users=6, days=4)
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, folder / "places.csv")
    pwscup.write_traces(reference, folder / "ref.csv")
    pwscup.write_traces(original, folder / "org.csv")
    pwscup.write_times(pwscup.ContestTimes(original.clock, 2, 2), folder / "info_time.csv")
    (folder / "points.csv").write_text(POINTS)
    places = ["--places", "places.csv"]
    assert run("obfuscate", "No", "org.csv", "ano.csv", *places, "--seed", "1", folder=folder).status == 0
    shuffle = ["pseudonymise", "ano.csv", "pub.csv", "--original", "org.csv", "--id-table", "t.csv"]
    assert run(*shuffle, *places, folder=folder).status == 0
    return folder


@pytest.fixture
def files(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def command(kind: str) -> list[str]:
    """The command that uses a class of the kind, on files that are all right."""
    places = ["--places", "places.csv"]
    if kind == "obfuscator":
        return ["obfuscate", "mine:Mine", "org.csv", "out.csv", *places, "--seed", "1"]
    if kind == "synthesizer":
        return ["synthesize", "mine:Mine", "ref.csv", "out.csv", *places, "--seed", "1"]
    if kind == "gps-synthesizer":
        return ["synthesize", "mine:Mine", "points.csv", "out.csv", "--seed", "1"]
    if kind == "gps-obfuscator":
        return ["obfuscate", "mine:Mine", "points.csv", "out.csv", "--seed", "1"]
    if kind == "gps-attack":
        return ["attack", "mine:Mine", "out.csv", "--anonymized", "points.csv"]
    known = ["--reference", "ref.csv", "--anonymized", "pub.csv", "--seed", "1"]
    return ["attack", "mine:Mine", "out.csv", *places, *known]


def cases() -> list[tuple[str, str, str]]:
    """Kind, source and what must be told, for every fault that the kind can have."""
    found = []
    for kind, (base, method) in KINDS.items():
        called = method.partition("(")[0]
        good = GOOD[kind]
        found += [
            (kind, source(kind, good, name=None), "has no name"),
            (kind, source(kind, good, name=""), "has the name ''"),
            (kind, source(kind, good, base="ta.algorithms.Algorithm"), "has no kind"),
            (kind, source(kind, good).replace("    name:", f"    kind = {kind!r}\n    name:").replace(
                base, "ta.algorithms.Algorithm"), "is not derived from"),
            (kind, source(kind, "return None"), f"mine:Mine.{called} must return"),
            (kind, source(kind, "return 'some words here'"), "it returned str"),
            (kind, source(kind, "raise ValueError('no luck')"), f"{called} raised ValueError: no luck"),
            (kind, source(kind, "return 1 / 0"), "raised ZeroDivisionError"),
            (kind, source(kind, good) + "\n1 / 0\n", "cannot import mine:Mine: ZeroDivisionError"),
            (kind, source(kind, good) + "\n)\n", "cannot import mine:Mine: SyntaxError"),
            (kind, source(kind, good).replace("@dataclass(kw_only=True)", ""), "is not a dataclass"),
        ]  # fmt: skip
        if kind != "gps-attack":
            unseeded = source(kind, good).replace(", *, seed=None", "")
            found.append((kind, unseeded, "cannot be called as"))
        if kind in LEARNS:
            forgot = source(kind, good).replace("        return self\n", "")
            found.append((kind, forgot, "mine:Mine.fit must return itself"))
        for others in (OTHER_USERS, OTHER_EVENTS, OTHER_PLACES):
            if kind in others:
                found.append((kind, source(kind, others[kind]), f"mine:Mine.{called} must return"))
    return found


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_class_that_is_right_is_used(files: Path, kind: str) -> None:  # type: ignore[no-untyped-def]
    (files / "mine.py").write_text(source(kind, GOOD[kind]))
    status, _, told = run(*command(kind))
    assert (status, (files / "out.csv").exists()) == (0, True), told


@pytest.mark.parametrize(("kind", "text", "told"), cases())
def test_a_fault_is_told_and_nothing_is_written(files: Path, kind: str, text: str, told: str) -> None:
    words = command(kind)
    (files / "mine.py").write_text(text)
    status, _, said = run(*words)
    assert (status, (files / "out.csv").exists()) == (2, False), said
    sentences = [line for line in said.splitlines() if not line.startswith("seed")]
    assert told in said
    assert "mine:Mine" in said
    assert len([told for told in sentences if not told.startswith("warning: anyone who guesses --seed")]) == 1


@pytest.mark.parametrize("kind", ["reidentification", "trace-inference"])
def test_a_sweep_refuses_a_wrong_attack_before_the_work_begins(files: Path, kind: str) -> None:
    (files / "mine.py").write_text(source(kind, "return None"))
    places = pwscup.read_places(files / "places.csv")
    reference, original = (pwscup.read_traces(files / name, places) for name in ("ref.csv", "org.csv"))
    begun: list[int] = []
    sys.modules.pop("mine", None)
    with (
        pytest.raises(AlgorithmError, match="mine:Mine"),
        use(progress=lambda done, total: begun.append(done)),
    ):
        run_sweep(reference, original, defences=["No"], attacks=["mine:Mine"], seed=1)
    assert begun == []


def test_an_ensemble_refuses_what_is_no_attack() -> None:
    from tracearena.obfuscation import NoObfuscation

    for wrong in (NoObfuscation(), object()):
        with pytest.raises(ParameterError):
            Ensemble([wrong])  # type: ignore[list-item]
