"""Contests that are over, their archives, and archives with something changed in them."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.contest.residents import Residents
from tests.contest.small_contest import USERS, attack, charter, defend

from tracearena.contest import (
    ContestPlan,
    attack_all,
    judge,
    read_submissions,
    release_all,
    write_contest_data,
    write_results,
)
from tracearena.files import make_folder


def finished(folder: Path, **rules: object) -> Path:
    """Hold a contest of two teams by files, from the data to the awards."""
    plan = ContestPlan(teams=2, users=USERS, days=4)
    write_contest_data(folder, Residents(), plan, charter=charter(2, **rules), seed=5, shuffle_seed=6)
    defend(folder, "001", "PL(5,1)")
    defend(folder, "002", "MRLH(0,0,0.1)")
    release_all(read_submissions(folder), seed=3)
    for attacker, target, name in (
        ("001", "002", "VisitProb-R"), ("001", "002", "VisitProb-T"), ("001", "000", "VisitProb-R"),
        ("002", "001", "HomeProb-T"), ("002", "001", "VisitProb-R"),
    ):  # fmt: skip
        attack(folder, attacker, target, name)
    arrivals = {"a": "2026-05-07T12:00Z", "e": "2026-05-10T12:00Z"}
    sent = sorted(path.name for path in (folder / "submissions").glob("*.csv"))
    listed = "".join(f"{name},{arrivals[name[0]]}\n" for name in sent)
    (folder / "submissions" / "received.csv").write_text(f"file,received\n{listed}")
    judged = judge(attack_all(read_submissions(folder)))
    make_folder(folder / "results")
    write_results(folder / "results", judged.board(), judged.awards(), judged.refused)
    return folder


def changed(archive: Path, to: Path, change: Callable[[Path], object], *, mend: bool = True) -> Path:
    """Return a copy of an archive with something changed, and the hashes of the manifest mended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
        change(folder)
        if mend:
            mend_hashes(folder)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as made:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    made.write(path, path.relative_to(folder).as_posix())
    return to


def mend_hashes(folder: Path) -> None:
    """Let the manifest name the files as they are."""
    manifest = json.loads((folder / "manifest.json").read_text())
    own = ("manifest.json", "manifest.json.sig")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in own]
    manifest["sha256"] = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def small_archive(path: Path, more: Mapping[str, bytes] | None = None) -> None:
    """Write what is just enough to be read as an archive, with members added or in the place of others."""
    manifest = {"format": "tracearena-contest-archive", "version": 1, "sha256": {}}
    files = {
        "manifest.json": json.dumps(manifest).encode(),
        "contest.toml": b"teams = 1\n",
        "judge/salts.csv": b"file,salt\n",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in (files | dict(more or {})).items():
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
