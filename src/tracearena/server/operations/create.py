"""A contest of files becomes a contest on a server: everything secret is sealed, everybody gets a row.

The files are those of `tracearena.contest.write_contest_data`, or official files that somebody else has made.
"""

from __future__ import annotations

import io
import re
import secrets
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena import __version__, arena
from tracearena.contest import ContestFile, ContestPlan, Role, data, format_contest_file, read_contest_file
from tracearena.contest.board import PSEUDONYMISED_DATA_SET
from tracearena.contest.contest_file import NAME, PSEUDONYMISED
from tracearena.contest.data import PRELIMINARY, REGIONS, TIMES
from tracearena.errors import DataError, FileError
from tracearena.files import replacing, replacing_folder
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.server.settings import configure
from tracearena.server.store.crypto import make_key_pair, seal
from tracearena.server.store.folder import Folder, Secrets

_MEMORY = Path("/dev/shm")
_PRELIMINARY_SEED = 1
_WHEEL = re.compile(r"tracearena-[\w.!+]+(-\w+)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII)


@dataclass(frozen=True)
class ContestLinks:
    """What was made, and the secrets of the links, which are shown once.

    Attributes
    ----------
    organiser
        Secret of the organiser's link.
    invitations
        Secret of each team's link, by its number.
    """

    organiser: str
    invitations: dict[str, str]


@contextmanager
def open_private_folder() -> Iterator[Path]:
    """Give a folder for clear text: in memory where the system has such a place, and gone afterwards."""
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="tracearena-", dir=place) as folder:
        yield Path(folder)


def create_contest(
    path: str | PathLike[str],
    prepared: Path,
    *,
    judge_public_key: bytes,
    people: str = "virtual",
    database: str | None = None,
    wheel: Path | None = None,
    **contest: Any,
) -> ContestLinks:
    """Take in a contest by files, as `tracearena.contest.write_contest_data` makes it.

    Parameters
    ----------
    path
        The new folder; it appears when all is in it.
    prepared
        The contest by files: contest.toml with a schedule, judge, everybody, teams.
    judge_public_key
        To whom secrets are sealed.
    people
        ``"virtual"``, or ``"real"`` for traces of people that are never given away.
    database
        URL of a PostgreSQL database; SQLite in the folder if left out.
    wheel
        A wheel of tracearena that the contest serves; none if left out.
    contest
        Further values of the contest's row, such as ``base_url``: where browsers will reach it, for links.
    """
    charter = read_contest_file(prepared / "contest.toml")
    if charter.schedule is None:
        raise DataError(f"{prepared / 'contest.toml'}: a contest on a server needs a [schedule]")
    with replacing_folder(path, private=True) as place:
        folder = Folder(place)
        folder.make()
        keys = {team: make_key_pair() for team in charter.numbers}
        _seal_files(prepared, folder, charter, judge_public_key, keys)
        folder.write_secrets(Secrets(secrets.token_urlsafe(50), judge_public_key.hex(), database))
        if wheel is not None:
            data.copy_files([wheel], folder.wheels)
        configure(folder)
        contest = {"base_url": "http://127.0.0.1:8000", **contest}
        contest |= {"schedule_values": charter.schedule.to_dict(), "people": people}
        return _fill_database(charter, contest, judge_public_key, keys)


def check_wheel(path: Path) -> None:
    """Refuse a file that is not a wheel of tracearena, before anything is created."""
    if not _WHEEL.fullmatch(path.name) or path.name.split("-")[1] != __version__:
        # Another version might check otherwise at home than here.
        problem = f"is not a wheel of this version, such as tracearena-{__version__}-py3-none-any.whl"
        raise FileError.whole(path, problem, "no-wheel")
    path.stat()
    if not zipfile.is_zipfile(path):
        raise FileError.whole(path, "is not a ZIP archive, as a wheel is", "no-wheel")


def _seal_files(
    prepared: Path,
    folder: Folder,
    charter: ContestFile,
    judge: bytes,
    keys: dict[str, tuple[bytes, bytes]],
) -> None:
    with replacing(folder.contest_file) as file:
        file.write(format_contest_file(charter).encode())
    # Pseudonyms of the team without obfuscation are drawn at the release, like everybody's.
    public = (one for one in (prepared / data.EVERYBODY).iterdir() if one.name != data.COMMITMENTS)
    data.copy_files(public, folder.everybody)
    for one in sorted((prepared / data.JUDGE).glob("*traces_team*.csv")):
        if PwsName.parse(one).kind in ("orgtraces", "reftraces"):
            _write_private(folder.for_judge(one.name), seal(judge, one.read_bytes()))
    for team, (_, public_key) in keys.items():
        bundle = io.BytesIO()
        with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
            for own in sorted(data.team_folder(prepared, team).iterdir()):
                # Letter and contest's file change with the schedule: they are added when it is fetched.
                if own.name not in (NAME, data.LETTER):
                    archive.write(own, own.name)
        _write_private(folder.for_team(team), seal(public_key, bundle.getvalue()))


def _write_private(path: Path, content: bytes) -> None:
    with replacing(path, private=True) as file:
        file.write(content)


def _fill_database(
    charter: ContestFile, contest: dict[str, Any], judge: bytes, keys: dict[str, tuple[bytes, bytes]]
) -> ContestLinks:
    from django.core.management import call_command
    from django.db import connection, transaction

    from tracearena.server import accounts, clock
    from tracearena.server.models import Contest, DataSet, Team
    from tracearena.server.store.audit_log import log_act

    call_command("migrate", verbosity=0)
    if Contest.objects.exists():
        raise DataError("the database already contains a contest; name an empty one")
    now = clock.read_clock()
    with transaction.atomic():
        Contest.objects.create(
            pk=1, name=charter.name, rules_values=charter.rules.to_dict(), created_at=now, **contest
        )
        data_sets = {
            Role.TEAM: charter.rules.data_sets,
            Role.PSEUDONYMISED: PSEUDONYMISED_DATA_SET,
            Role.SAMPLE: 0,
        }
        invitations = {}
        for number, role in _list_parties(charter):
            called = charter.names.get(number, number)
            team = Team.objects.create(number=number, name=called, role=role, created_at=now)
            for data_set in range(1, data_sets[role] + 1):
                DataSet.objects.create(team=team, number=data_set)
            if number in keys:
                private, team.public_key = keys[number]
                team.escrow = seal(judge, private)
                team.save()
                invitations[number] = accounts.make_invitation(team, private)
        made = ContestLinks(accounts.make_organiser_link(), invitations)
        log_act("command line", "contest made", teams=charter.teams, rules=charter.rules.to_dict())
    connection.close()
    return made


def _list_parties(charter: ContestFile) -> Iterator[tuple[str, Role]]:
    if charter.rules.pseudonymised_team:
        yield PSEUDONYMISED, Role.PSEUDONYMISED
    for number in charter.numbers:
        yield number, Role.TEAM
    for number in charter.sample_numbers:
        yield number, Role.SAMPLE


def write_preliminary_results(place: Path, charter: ContestFile) -> None:
    """Try all sample defences and attacks on the first sample team, and write the table for everybody.

    Everybody has that team's original traces, so nothing in the table is a secret.
    """
    if not charter.sample_numbers:
        return
    everybody, sample = place / data.EVERYBODY, int(charter.sample_numbers[0])
    grid = pwscup.read_places(everybody / REGIONS), pwscup.read_times(everybody / TIMES)
    reference, original = (
        pwscup.read_traces(everybody / str(data.official_file_name(kind, sample, 1)), *grid)
        for kind in ("reftraces", "orgtraces")
    )
    rows = arena.run_sweep(reference, original, scoring=charter.rules.scoring, seed=_PRELIMINARY_SEED)
    arena.write_table(rows, everybody / PRELIMINARY)


def copy_official_files(files: Path, charter: ContestFile, place: Path) -> None:
    """Lay official files out as a contest by files, each of them read and checked first.

    Parameters
    ----------
    files
        The folder with them: of `contest data`, or one with all files side by side.
    charter
        What the contest is; every data set of it must be there.
    place
        A new folder.
    """
    source = files / data.JUDGE if (files / data.JUDGE).is_dir() else files
    wanted = [
        str(data.official_file_name(kind, team, n + 1))
        for team, n in ContestPlan.of(charter).sets()
        for kind in ("reftraces", "orgtraces")
    ]
    missing = [name for name in (REGIONS, TIMES, *wanted) if not (source / name).is_file()]
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise FileError.whole(source, f"lacks {shown}", "missing-files")
    _require_rules_match(source, wanted, charter)
    judge = place / data.JUDGE
    judge.mkdir(parents=True, mode=0o700)
    (place / data.EVERYBODY).mkdir()
    data.copy_files((source / name for name in (REGIONS, TIMES, *wanted)), judge, private=True)
    data.write_initial_files(place, charter)


def _require_rules_match(source: Path, wanted: list[str], charter: ContestFile) -> None:
    """Refuse traces of other people, days or times than the rules and the table of times say."""
    rules, places = charter.rules, pwscup.read_places(source / REGIONS)
    times = pwscup.read_times(source / TIMES)
    if (times.reference_days, times.original_days) != (rules.reference_days, rules.original_days):
        raise DataError(
            f"{source / TIMES}: has {times.reference_days} + {times.original_days} days, and the rules say "
            f"{rules.reference_days} + {rules.original_days}: they must agree"
        )
    for name in wanted:
        traces = pwscup.read_traces(source / name, places, times)
        days = rules.reference_days if name.startswith("reftraces") else rules.original_days
        events = rules.users * days * times.clock.instants_per_day
        if traces.n_users != rules.users or traces.n_events != events:
            raise DataError(
                f"{source / name}: has {traces.n_users:,} users and {traces.n_events:,} events; by the rules "
                f"it must have {rules.users:,} and {events:,}"
            )
