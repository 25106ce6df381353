"""Who gets which folder: the judge's secrets, everybody's files, and one bundle a team.

::

    contest.toml        name, rules, schedule
    judge/              for nobody else (mode 0700): all originals, ID tables, salts, manifest.json
    everybody/          for everybody: regions, times, sample teams; after the release all targets
    teams/team001/      for team 001: a letter, its own reference and original traces
    submissions/        where the judge puts what the teams hand in

So a folder is copied whole to whom it is for, and no single file has to be picked out.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracearena.arena.pseudonyms import Release
from tracearena.contest import charter as charters
from tracearena.contest import letters
from tracearena.contest.charter import Charter
from tracearena.contest.commitment import Commitment
from tracearena.contest.live import write_live
from tracearena.errors import FileError
from tracearena.files import csv_text, read_bytes, replacing
from tracearena.formats import pwscup
from tracearena.formats.pwscup import PwsName
from tracearena.traces import ObfuscatedTraces, Traces

JUDGE, EVERYBODY, TEAMS, SUBMISSIONS = "judge", "everybody", "teams", "submissions"
MANIFEST, LETTER = "manifest.json", "LETTER.txt"
REGIONS, TIMES = "info_region.csv", "info_time.csv"
COMMITMENTS, SALTS = "commitments.csv", "salts.csv"
PURPOSES = ("IDP", "TRP")
DATA_SETS = {purpose: number for number, purpose in enumerate(PURPOSES, 1)}
HANDED_IN = ("anotraces", "etable", "etraces")
"""What teams hand in; everything else is the judge's own."""
SECRET = frozenset({"original", "obfuscated", "id_table", "live"})
"""Files of the judge's folder that only its owner may read, wherever they are moved."""


def official(kind: str, team: int, number: int, attacker: int | None = None) -> PwsName:
    """Return the official name of a file of data set `number`, 1 or 2."""
    return PwsName(kind=kind, team=team, purpose=PURPOSES[number - 1], attacker=attacker)


def live_file(team: int, number: int) -> str:
    """Return the name of the file with the users of the live board, beside the ID table.

    >>> live_file(1, 1)
    'live_team001_data01_IDP.csv'
    """
    return "live" + str(official("ptable", team, number)).removeprefix("ptable")


def bundle(folder: Path, team: str) -> Path:
    """Return the folder of one team."""
    return folder / TEAMS / f"team{team}"


def write_traces(
    judge: Path, team: int, number: int, reference: Traces, original: Traces, *, days: tuple[int, int]
) -> dict[str, str]:
    """Write the traces of one data set into the judge's folder, with regions and times beside them."""
    if not (judge / REGIONS).exists():
        pwscup.write_places(original.places, judge / REGIONS)
        pwscup.write_times(pwscup.Times(original.clock, *days), judge / TIMES)
    kinds = {"reference": "reftraces", "original": "orgtraces"}
    names = {what: str(official(kind, team, number)) for what, kind in kinds.items()}
    pwscup.write_traces(reference, judge / names["reference"])
    pwscup.write_traces(original, judge / names["original"])
    return names


def write_release(
    judge: Path, team: int, number: int, obfuscated: ObfuscatedTraces, release: Release, live: Any = None
) -> dict[str, str]:
    """Write what the judge makes of obfuscated traces, and the obfuscated traces, for the judge.

    Where there is a live board, `live` are its users.
    """
    kinds = {"obfuscated": "anotraces", "anonymized": "pubtraces", "id_table": "ptable"}
    names = {what: str(official(kind, team, number)) for what, kind in kinds.items()}
    pwscup.write_obfuscated(obfuscated, judge / names["obfuscated"])
    pwscup.write_anonymized(release.anonymized, judge / names["anonymized"])
    pwscup.write_id_table(release.id_table, judge / names["id_table"])
    if live is not None:
        names["live"] = live_file(team, number)
        write_live(judge / names["live"], live)
    return names


def write_commitments(folder: Path, made: Mapping[str, Commitment]) -> None:
    """Write the hashes for everybody and the salts for the judge, by the name of the ID table."""
    tables = sorted(made)
    digests = csv_text(["file", "sha256"], ([name, made[name].digest] for name in tables))
    salts = csv_text(["file", "salt"], ([name, made[name].salt] for name in tables))
    with replacing(folder / EVERYBODY / COMMITMENTS) as file:
        file.write(digests.encode())
    with replacing(folder / JUDGE / SALTS, private=True) as file:
        file.write(salts.encode())


def read_commitments(folder: Path) -> dict[str, Commitment]:
    """Read hashes and salts back; nothing if there are none yet."""
    digests = _column(folder / EVERYBODY / COMMITMENTS, "sha256")
    salts = _column(folder / JUDGE / SALTS, "salt")
    if set(digests) != set(salts):
        only = sorted(set(digests) ^ set(salts))[0]
        raise FileError.whole(
            folder / JUDGE / SALTS, f"{only} has a hash or a salt, and not both", "contradiction"
        )
    return {name: Commitment(digests[name], salts[name]) for name in digests}


def _column(path: Path, name: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    if not lines or lines[0] != f"file,{name}" or any(len(row) != 2 for row in rows):
        raise FileError.whole(path, f"is not a table of file,{name}", "wrong-header")
    return {row[0]: row[1] for row in rows}


def write_frame(folder: Path, charter: Charter) -> None:
    """Write the contest's file and hand out what is there before the first phase."""
    said = charters.charter_text(charter.for_everybody)
    _put(folder / charters.NAME, said)
    judge, everybody = folder / JUDGE, folder / EVERYBODY
    samples = {int(number) for number in charter.sample_numbers}
    copy_files(_frame(judge), everybody)
    copy_files((path for path in _traces(judge) if PwsName.parse(path).team in samples), everybody)
    _put(everybody / charters.NAME, said)
    for team in charter.numbers:
        own = bundle(folder, team)
        own.mkdir(parents=True)
        copy_files(_frame(judge), own)
        mine = (path for path in _traces(judge) if PwsName.parse(path).team == int(team))
        copy_files(mine, own, private=True)
        _put(own / charters.NAME, said)
        _put(own / LETTER, letters.to_team(charter, team))
    (folder / SUBMISSIONS).mkdir()


def copy_files(files: Iterable[Path], folder: Path, *, private: bool = False) -> None:
    """Copy the content of files; what is there already with the same name is replaced.

    Private copies of original traces are for their owner alone; all others are as the umask has it.
    """
    for path in files:
        secret = private and path.name.startswith("orgtraces")
        with replacing(folder / path.name, private=secret) as out, open(path, "rb") as file:
            shutil.copyfileobj(file, out)


def write_manifest(
    judge: Path, plan: Mapping[str, Any], seed: Any, entries: list[dict[str, Any]], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Write and return what the data was made from, and the hash of every file of the judge."""
    manifest = {
        "format": "tracearena-contest-data",
        "version": 2,
        "plan": dict(plan),
        "seed": seed,
        "model": dict(about),
        "data": entries,
        "sha256": {path.name: file_digest(path) for path in sorted(judge.iterdir())},
    }
    with replacing(judge / MANIFEST, private=True) as file:
        file.write((json.dumps(manifest, indent=1) + "\n").encode())
    return manifest


def file_digest(path: Path) -> str:
    """Return SHA-256 of a file as it lies there."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _frame(judge: Path) -> list[Path]:
    return [judge / REGIONS, judge / TIMES]


def _traces(judge: Path) -> list[Path]:
    return sorted([*judge.glob("reftraces_*.csv"), *judge.glob("orgtraces_*.csv")])


def _put(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
