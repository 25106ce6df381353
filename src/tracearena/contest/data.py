"""The data of a contest: virtual users for every team, written as the official files.

`write_contest_data` makes the folders of the judge, of everybody and of each team, with commitments,
a manifest and letters; the other functions write and read the parts.
"""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.pseudonyms import Release
from tracearena.checks import require_switch, require_whole
from tracearena.contest import contest_file
from tracearena.contest.board import PSEUDONYMISED_DATA_SET
from tracearena.contest.commitments import Commitment, release_one, write_live_users
from tracearena.contest.contest_file import ContestFile
from tracearena.contest.rules import Rules
from tracearena.contest.virtual_days import contest_days
from tracearena.engine import SeedLike, child_seed, is_secret, report, seed_sequence, use
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files import csv_text, digest_file, read_bytes, replacing, replacing_folder
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.traces import ObfuscatedTraces, Places, Traces

_HIGHEST = 999


class VirtualUserModel(Protocol):
    """A trained model that makes virtual users, such as `tracearena.synthesis.PPMTF`."""

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return `days` whole days of n virtual users."""


@dataclass(frozen=True, kw_only=True)
class ContestPlan:
    """Sizes of the data of a contest.

    Parameters
    ----------
    teams
        Number of teams, which have the numbers 1 … teams. Team 0 is the pseudonymised team, which has one
        data set. The numbers after the last team are the sample teams, whose data is public; 999 is the
        highest number.
    users
        Virtual users of a team.
    days
        Days of every user, at least 2: the first half is reference, the second original.
    data_sets
        1: only ``data01_IDP``. 2: also ``data02_TRP``, with other users.
    sample_teams, pseudonymised_team
        Number of sample teams, and whether there is a pseudonymised team.
    homes, only_seen
        As in `tracearena.synthesis.PPMTF.virtual_users`; the contest of 2019 had both.

    Examples
    --------
    >>> plan = ContestPlan(teams=3)
    >>> plan.roles()
    {0: 'pseudonymised', 1: 'team', 2: 'team', 3: 'team', 4: 'sample', 5: 'sample'}
    >>> plan.reference_days
    20
    """

    teams: int = 21
    users: int = 2_000
    days: int = 40
    data_sets: int = 1
    sample_teams: int = 2
    pseudonymised_team: bool = True
    homes: bool = True
    only_seen: bool = True

    def __post_init__(self) -> None:
        require_whole("sample_teams", self.sample_teams, at_least=0, at_most=_HIGHEST - 1)
        require_whole("teams", self.teams, at_least=1, at_most=_HIGHEST - self.sample_teams)
        require_switch("pseudonymised_team", self.pseudonymised_team)
        require_whole("users", self.users, at_least=1)
        require_whole("days", self.days, at_least=2)
        require_whole("data_sets", self.data_sets, at_least=1, at_most=2)

    @property
    def reference_days(self) -> int:
        """Days of the reference traces; the original traces have the rest."""
        return self.days // 2

    @classmethod
    def of(cls, charter: ContestFile, *, homes: bool = True, only_seen: bool = True) -> ContestPlan:
        """Return the sizes that a contest file requires."""
        rules = charter.rules
        return cls(
            teams=charter.teams,
            users=rules.users,
            days=rules.reference_days + rules.original_days,
            data_sets=rules.data_sets,
            sample_teams=rules.sample_teams,
            pseudonymised_team=rules.pseudonymised_team,
            homes=homes,
            only_seen=only_seen,
        )

    def roles(self) -> dict[int, str]:
        """Return what each team is, by number."""
        teams = dict.fromkeys(range(1, self.teams + 1), "team")
        samples = dict.fromkeys(range(self.teams + 1, self.teams + 1 + self.sample_teams), "sample")
        extra = {0: "pseudonymised"} if self.pseudonymised_team else {}
        return extra | teams | samples

    def sets(self) -> list[tuple[int, int]]:
        """Return team and number of every data set; the first data sets of all teams come first."""
        return [
            (team, number)
            for number in range(self.data_sets)
            for team, role in self.roles().items()
            if role != "pseudonymised" or number + 1 == PSEUDONYMISED_DATA_SET
        ]

    def rules(self) -> Rules:
        """Return the usual rules of a contest with this much data."""
        return Rules(
            users=self.users,
            reference_days=self.reference_days,
            original_days=self.days - self.reference_days,
            data_sets=self.data_sets,
            sample_teams=self.sample_teams,
            pseudonymised_team=self.pseudonymised_team,
        )

    def require_agreement(self, charter: ContestFile) -> None:
        """Raise an error if a contest file describes other data."""
        mine = self.rules()
        for name in ("users", "reference_days", "original_days", "data_sets", "sample_teams",
                     "pseudonymised_team"):  # fmt: skip
            data, said = getattr(mine, name), getattr(charter.rules, name)
            if data != said:
                raise ParameterError(
                    f"the data has {name} = {data}, but the rules say {said}: they must agree"
                )
        if self.teams != charter.teams:
            raise ParameterError(
                f"the data is for {self.teams} teams, but the rules are for {charter.teams}: they must agree"
            )


def team_traces(model: VirtualUserModel, plan: ContestPlan, seed: SeedLike = None) -> tuple[Traces, Traces]:
    """Make the reference and original traces of one team, at the contest's times of day.

    References
    ----------
    [contest] section 3.3 and appendix D.
    """
    traces = model.sample_users(plan.users, plan.days, homes=plan.homes, only_seen=plan.only_seen, seed=seed)
    return contest_days(traces).split_days(plan.reference_days)


def write_contest_data(
    folder: str | PathLike[str],
    model: VirtualUserModel,
    plan: ContestPlan,
    *,
    charter: ContestFile | None = None,
    seed: SeedLike = None,
    shuffle_seed: SeedLike = None,
    about: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the folders of a contest (`tracearena.contest.data`), and return the judge's manifest.

    Parameters
    ----------
    folder
        A folder that does not exist or is empty. It appears when everything is written.
    model
        The model that generates the virtual users.
    plan
        Sizes of the data.
    charter
        Name, rules and schedule, which must agree with the plan; defaults if omitted.
    seed
        Seed of the users; the seeds of the teams follow from it and are in the manifest. None, for a real
        contest, draws from the cryptographic source of the system and stores no seed.
    shuffle_seed
        Seed of the pseudonymised team's ID table and of the salt of its commitment, for experiments.
        None, for a real contest, takes both from the operating system's cryptographic source: a short
        seed could be guessed.
    about
        Description of the model, for the manifest.
    """
    charter = charter or ContestFile(teams=plan.teams, rules=plan.rules())
    plan.require_agreement(charter)
    root, sets = seed_sequence(seed), plan.sets()
    days = plan.reference_days, plan.days - plan.reference_days
    entries: list[dict[str, Any]] = []
    commitments: dict[str, Commitment] = {}
    with replacing_folder(folder, private=True) as place:
        judge = place / JUDGE
        judge.mkdir(mode=0o700)
        (place / EVERYBODY).mkdir()
        for done, (team, number) in enumerate(sets, 1):
            own = child_seed(root, team, number)
            with use(progress=None):
                reference, original = team_traces(model, plan, own)
            files = write_traces(judge, team, number + 1, reference, original, days=days)
            if plan.roles()[team] == "pseudonymised":
                unchanged = ObfuscatedTraces.from_traces(original)
                seeds: list[SeedLike] = [None] * 3
                if shuffle_seed is not None:
                    shuffles = seed_sequence(shuffle_seed)
                    seeds = [child_seed(shuffles, number, *more) for more in ((), (1,), (2,))]
                release, live, commitment = release_one(unchanged, charter.rules, seeds=seeds)
                files |= write_release(judge, team, number + 1, unchanged, release, live)
                commitments[files["id_table"]] = commitment
            for secret in files.keys() & SECRET:
                (judge / files[secret]).chmod(0o600)
            entries.append(
                {
                    "team": team,
                    "role": plan.roles()[team],
                    "data": f"data{number + 1:02d}_{PURPOSES[number]}",
                    "seed": _describe_seed(own),
                    "files": files,
                }
            )
            report(done, len(sets))
        write_commitments(place, commitments)
        write_initial_files(place, charter)
        return write_manifest(judge, asdict(plan), _describe_seed(root), entries, about or {})


def check_regions(traces: Traces) -> None:
    """Refuse places that the contest's files cannot name, before anything is trained."""
    grid = traces.places.grid
    if grid is None or min(grid.rows, grid.columns) < 2:
        raise DataError(
            "contest files need the regions of a grid of at least 2 × 2; put the events on one (--grid 32x32)"
        )
    if not np.array_equal(traces.places.ids, np.arange(1, len(traces.places) + 1)):
        raise DataError("the ids of regions must be 1, 2, … in the order of the grid")


def _describe_seed(root: np.random.SeedSequence) -> dict[str, Any] | None:
    """Return what repeats the run; nothing does if nobody chose a seed."""
    if is_secret(root):
        return None
    words = np.atleast_1d(np.asarray(root.entropy, object)).tolist()
    return {"entropy": [int(word) for word in words], "spawn_key": [int(word) for word in root.spawn_key]}


# The folders of a contest: the judge's secrets, everybody's files, and one folder per team.

JUDGE, EVERYBODY, TEAMS, SUBMISSIONS = "judge", "everybody", "teams", "submissions"
MANIFEST, LETTER, ATTACK_LETTER = "manifest.json", "LETTER.txt", "LETTER-attack.txt"
REGIONS, TIMES = "info_region.csv", "info_time.csv"
PRELIMINARY = "preliminary.csv"
"""What sample defences and attacks come to on a sample team."""
COMMITMENTS, SALTS = "commitments.csv", "salts.csv"
PURPOSES = ("IDP", "TRP")
DATA_SETS = {purpose: number for number, purpose in enumerate(PURPOSES, 1)}
HANDED_IN = ("anotraces", "etable", "etraces")
ATTACK_KINDS = HANDED_IN[1:]
"""What teams hand in; everything else is the judge's own."""
SECRET = frozenset({"original", "obfuscated", "id_table", "live"})
"""Files of the judge's folder that only its owner may read, wherever they are moved."""


def official_file_name(kind: str, team: int, number: int, attacker: int | None = None) -> PwsName:
    """Return the official name of a file of data set `number`, 1 or 2."""
    return PwsName(kind=kind, team=team, purpose=PURPOSES[number - 1], attacker=attacker)


def find_other_name(
    path: str | PathLike[str], kind: str, team: int, number: int, attacker: int | None = None
) -> str | None:
    """Return the official name of what a file is handed in as, if its own name says that it is another file.

    A name that is not official says nothing. Where the attacker is not known, any may stand there.

    >>> find_other_name("etable_team001-003_data01_IDP.csv", "etable", 2, 1, 1)
    'etable_team001-002_data01_IDP.csv'
    >>> find_other_name("mine.csv", "etable", 2, 1, 1)
    """
    try:
        said = PwsName.recognise(path)
    except ParameterError:
        said = official_file_name("ptable", 0, 1)
    if said is None:
        return None
    by = (attacker or said.attacker or 0) if kind in ATTACK_KINDS else None
    wanted = official_file_name(kind, team, number, by)
    return None if said == wanted else str(wanted)


def require_own_name(
    path: str | PathLike[str], kind: str, team: int, number: int, attacker: int | None = None
) -> None:
    """Refuse a file whose name says that it is another one, as `find_other_name` finds out."""
    wanted = find_other_name(path, kind, team, number, attacker)
    if wanted is not None:
        problem = f"its name is that of another file than {wanted}; rename it, or hand it in where it belongs"
        raise FileError.whole(path, problem, "other-target")


def live_file_name(team: int, number: int) -> str:
    """Return the name of the file with the users of the live board, next to the ID table.

    >>> live_file_name(1, 1)
    'live_team001_data01_IDP.csv'
    """
    return "live" + str(official_file_name("ptable", team, number)).removeprefix("ptable")


def team_folder(folder: Path, team: str) -> Path:
    """Return the folder of one team."""
    return folder / TEAMS / f"team{team}"


def write_traces(
    judge: Path, team: int, number: int, reference: Traces, original: Traces, *, days: tuple[int, int]
) -> dict[str, str]:
    """Write the traces of one data set into the judge's folder, with regions and times next to them."""
    if not (judge / REGIONS).exists():
        pwscup.write_places(original.places, judge / REGIONS)
        pwscup.write_times(pwscup.ContestTimes(original.clock, *days), judge / TIMES)
    kinds = {"reference": "reftraces", "original": "orgtraces"}
    names = {what: str(official_file_name(kind, team, number)) for what, kind in kinds.items()}
    pwscup.write_traces(reference, judge / names["reference"])
    pwscup.write_traces(original, judge / names["original"])
    return names


def write_release(
    judge: Path,
    team: int,
    number: int,
    obfuscated: ObfuscatedTraces,
    release: Release[ObfuscatedTraces],
    live: Any = None,
) -> dict[str, str]:
    """Write what the judge makes of obfuscated traces, and the obfuscated traces, for the judge.

    Where there is a live board, `live` are its users.
    """
    kinds = {"obfuscated": "anotraces", "anonymized": "pubtraces", "id_table": "ptable"}
    names = {what: str(official_file_name(kind, team, number)) for what, kind in kinds.items()}
    pwscup.write_obfuscated(obfuscated, judge / names["obfuscated"])
    pwscup.write_anonymized(release.anonymized, judge / names["anonymized"])
    pwscup.write_id_table(release.id_table, judge / names["id_table"])
    if live is not None:
        names["live"] = live_file_name(team, number)
        write_live_users(judge / names["live"], live)
    return names


def write_commitments(folder: Path, made: Mapping[str, Commitment]) -> None:
    """Write the hashes for everybody and the salts for the judge, by the name of the ID table."""
    tables = sorted(made)
    digests = csv_text(["file", "sha256"], ([name, made[name].digest] for name in tables))
    salts = csv_text(["file", "salt"], ([name, made[name].salt] for name in tables))
    _write_text(folder / EVERYBODY / COMMITMENTS, digests)
    _write_text(folder / JUDGE / SALTS, salts, private=True)


def read_commitments(folder: Path) -> dict[str, Commitment]:
    """Read hashes and salts back; nothing if there are none yet."""
    digests = _read_column(folder / EVERYBODY / COMMITMENTS, "sha256")
    salts = _read_column(folder / JUDGE / SALTS, "salt")
    if set(digests) != set(salts):
        only = sorted(set(digests) ^ set(salts))[0]
        raise FileError.whole(
            folder / JUDGE / SALTS, f"{only} must have both a hash and a salt", "contradiction"
        )
    return {name: Commitment(digests[name], salts[name]) for name in digests}


def _read_column(path: Path, name: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    if not lines or lines[0] != f"file,{name}" or any(len(row) != 2 for row in rows):
        raise FileError.whole(path, f"is not a table of file,{name}", "wrong-header")
    return {row[0]: row[1] for row in rows}


def write_initial_files(folder: Path, charter: ContestFile) -> None:
    """Write the contest's file and hand out what is there before the first phase."""
    said = contest_file.format_contest_file(charter.for_everybody)
    _write_text(folder / contest_file.NAME, said)
    judge, everybody = folder / JUDGE, folder / EVERYBODY
    info = [judge / REGIONS, judge / TIMES]
    traces = sorted([*judge.glob("reftraces_*.csv"), *judge.glob("orgtraces_*.csv")])
    samples = {int(number) for number in charter.sample_numbers}
    copy_files(info, everybody)
    copy_files((path for path in traces if PwsName.parse(path).team in samples), everybody)
    _write_text(everybody / contest_file.NAME, said)
    for team in charter.numbers:
        own = team_folder(folder, team)
        own.mkdir(parents=True)
        copy_files(info, own)
        mine = (path for path in traces if PwsName.parse(path).team == int(team))
        copy_files(mine, own, private=True)
        _write_text(own / contest_file.NAME, said)
        _write_text(own / LETTER, format_team_letter(charter, team))
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
        "sha256": {path.name: digest_file(path) for path in sorted(judge.iterdir())},
    }
    _write_text(judge / MANIFEST, json.dumps(manifest, indent=1) + "\n", private=True)
    return manifest


def _write_text(path: Path, text: str, *, private: bool = False) -> None:
    with replacing(path, private=private) as file:
        file.write(text.encode())


# Sensitive regions: those with a hospital in them, or with places of the categories that are named.


def parse_categories(text: str) -> tuple[str, ...]:
    """Read which categories are sensitive, such as ``category=hospital`` or ``category=hospital,clinic``.

    >>> parse_categories("category=Hospital, clinic")
    ('hospital', 'clinic')
    """
    match = re.fullmatch(r"\s*category\s*=(.*)", text, re.DOTALL)
    names = [] if match is None else [name.strip().casefold() for name in match[1].split(",")]
    if not names or not all(names):
        raise ParameterError.of(
            "sensitive", text, "category= and one or more categories, separated by commas"
        )
    return tuple(names)


def select_categories(points: Places, categories: tuple[str, ...]) -> Places:
    """Return the points of some categories; of ``building/Hospital/7`` each part is one.

    >>> places = Places([35.0, 35.1], [139.0, 139.1], categories=["building/Hospital/7", "food/Ramen"])
    >>> select_categories(places, ("hospital",)).latitude.tolist()
    [35.0]
    """
    if points.categories is None:
        raise DataError("the places have no categories")
    kinds, kind_of = np.unique(points.categories, return_inverse=True)
    parts = [{part.strip().casefold() for part in (kind, *kind.split("/"))} for kind in kinds.tolist()]
    unknown = [name for name in categories if not any(name in one for one in parts)]
    if unknown:
        known = sorted({part for one in kinds.tolist() for part in one.split("/")[:2] if part})
        shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if known[10:] else "")
        raise DataError(f"no place has category {unknown[0]!r}; the categories are {shown or 'none'}")
    chosen = np.array([bool(one.intersection(categories)) for one in parts])[kind_of]
    return Places(points.latitude[chosen], points.longitude[chosen])


def mark_sensitive(traces: Traces, points: Places) -> Traces:
    """Return the traces with exactly those regions sensitive that contain one of the points."""
    places = traces.places
    if places.grid is None:
        raise DataError("sensitive places can only mark the regions of a grid (--grid 32x32)")
    cells: NDArray[np.int32] = places.grid.cell_of(points.latitude, points.longitude)
    if not (cells >= 0).any():
        raise DataError(f"none of the {len(points):,} sensitive places is inside the area of the regions")
    marked = Places(
        places.latitude,
        places.longitude,
        ids=places.ids,
        sensitive=np.isin(np.arange(len(places)), cells),
        categories=places.categories,
        grid=places.grid,
        km_per_degree=places.km_per_degree,
    )
    return traces.onto(marked)


# Letters to the teams: what to do, and until when.

_LATER = "at the time that the organiser announces"


def format_team_letter(charter: ContestFile, team: str) -> str:
    """Return the letter that goes with a team's own traces."""
    rules, schedule = charter.rules, charter.schedule_of(team)
    sets = ("data01_IDP", "data02_TRP")[: rules.data_sets]
    hand_in = " and ".join(f"anotraces_team{team}_{data}.csv" for data in sets)
    until = _format_deadline(None if schedule is None else schedule.anonymization_end)
    attack = _LATER
    if schedule is not None:
        attack = f"{_format_time(schedule.attack_begin)} to {_format_time(schedule.attack_end)}"
    # The options by which a team scores as the judge does, where the rules are not the usual ones.
    usual, options = Rules(), ""
    if rules.utility_rule != usual.utility_rule:
        options += f" --rule {rules.utility_rule}"
    if rules.utility_threshold != usual.utility_threshold:
        options += f" --threshold {rules.utility_threshold:g}"
    practice = []
    if charter.sample_numbers:
        samples = " and ".join(charter.sample_numbers)
        practice.append(
            "To practise: the folder for everybody has reference and original traces of the sample teams "
            f"{samples}."
        )
    return _format_letter(
        f"{charter.name}: the {rules.challenge}",
        [
            f"To team {charter.team_label(team)}.",
            "This folder is only for your team. It contains the traces of your people: reftraces_… are the "
            "days that every attacker will know, and orgtraces_… are the days that you defend. Do not show "
            "orgtraces_… to anybody. info_region.csv says where the regions are, info_time.csv says what "
            "the times mean, and contest.toml has all rules.",
            f"Now: change your original traces so that they stay useful (utility at least "
            f"{rules.utility_threshold:g}) and reveal as little as possible, and hand in {hand_in}, {until}. "
            f"{_name_challenges(rules)}Below its header reg_id, a file has one cell per row of orgtraces_…, "
            "in the same order: a region, several regions separated by one space, or * for a deleted event.",
            "Check your files before you hand them in, with the programs that the judge uses:",
        ],
        [
            f"tracearena check obfuscated anotraces_team{team}_{data}.csv "
            f"--original orgtraces_team{team}_{data}.csv --places info_region.csv"
            for data in sets
        ]
        + [
            f"tracearena score utility --obfuscated anotraces_team{team}_{data}.csv "
            f"--original orgtraces_team{team}_{data}.csv --places info_region.csv{options}"
            for data in sets
        ],
        [
            f"Then ({attack}) you get the reference traces and released traces of all teams, and attack: "
            f"etable_team{team}-NNN_… says who is behind each pseudonym of team NNN, and "
            f"etraces_team{team}-NNN_… says where each of its users was. A second letter, {ATTACK_LETTER}, "
            "explains this.",
            *practice,
        ],
    )


def format_public_letter(charter: ContestFile, targets: Sequence[str]) -> str:
    """Return the letter that goes with the released traces."""
    until = _format_deadline(None if charter.schedule is None else charter.schedule.attack_end)
    live = " and of the users of its live board" if charter.rules.mode == "live" else ""
    return _format_letter(
        f"{charter.name}: attack",
        [
            "To all teams.",
            "This folder is for everybody. pubtraces_… are released traces with pseudonyms, and reftraces_… "
            "are traces of the same people on other days. Attack every target except your own team: "
            f"{', '.join(targets)}.",
            f"{_name_challenges(charter.rules)}For each target NNN, hand in an inferred ID table, inferred "
            f"traces, or both, {until}. Your own number YYY comes first in the file names. "
            "etable_teamYYY-NNN_data01_IDP.csv has, below its header user_id, one user per pseudonym in "
            "ascending order of pseudonyms. etraces_teamYYY-NNN_data01_IDP.csv has, below its header "
            "reg_id, one region per user and time, ordered by user and then by time. A target that you do "
            "not attack counts as 1, the worst score.",
            f"commitments.csv has a salted hash of every ID table{live}. When the contest is over, the judge "
            "publishes tables and salts, and you can check that no table was changed.",
        ],
    )


def _name_challenges(rules: Rules) -> str:
    """Return a sentence that says which data set is for which challenge; none if there is one data set."""
    if rules.data_sets == 1:
        return ""
    return "data01_IDP is for the re-identification challenge, data02_TRP for the trace-inference challenge. "


def _format_letter(
    title: str, first: Sequence[str], commands: Sequence[str] = (), last: Sequence[str] = ()
) -> str:
    def fill(paragraphs: Sequence[str]) -> list[str]:
        wrapper = textwrap.TextWrapper(92, break_long_words=False, break_on_hyphens=False)
        return [line for paragraph in paragraphs for line in (wrapper.fill(paragraph), "")]

    listed = [*(f"    {command}" for command in commands), *([""] if commands else [])]
    return "\n".join([title, "=" * len(title), "", *fill(first), *listed, *fill(last)])


def _format_deadline(end: datetime | None) -> str:
    return _LATER if end is None else f"before {_format_time(end)}"


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
