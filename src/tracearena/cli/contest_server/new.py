"""``tracearena contest new``: everything of a contest, made at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, ReleaseSeedOption, note, print_result
from tracearena.cli._contest_people import (
    MinEventsOption,
    PoisOption,
    SensitiveOption,
    WalkOption,
    ZerosOption,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions
from tracearena.cli.contest_server.chartering import Wanted
from tracearena.cli.contest_server.opening import (
    DatabaseOption,
    PassphraseFdOption,
    checked_base_url,
    given_passphrase,
    key_file,
    require_extra,
)
from tracearena.cli.contest_server.people import USUAL, People
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.contest import Charter
    from tracearena.server.operations.create import Created


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(new)


@reads_traces(without=("format",))
def new(
    reading: ReadingOptions,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest.")],
    file: Annotated[
        Path | None,
        typer.Option("--from", help="The contest's file (contest.toml): name, teams, rules, schedule."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What the contest is called.")] = None,
    teams: Annotated[int | None, typer.Option("--teams", help="Teams that take part; 21.")] = None,
    users: Annotated[int | None, typer.Option("--users", help="Virtual users of a team; 2,000.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="Days of a user, half reference, half original; 40.")
    ] = None,
    data_sets: Annotated[
        int | None, typer.Option("--data-sets", help="1 (as usual): data01_IDP. 2: data02_TRP as well.")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option("--begin", help="When teams may hand in, such as 2026-05-01T09:00+09:00; now."),
    ] = None,
    anonymization_days: Annotated[
        float | None, typer.Option("--anonymization-days", help="Days of the anonymization phase; 7.")
    ] = None,
    attack_days: Annotated[
        float | None, typer.Option("--attack-days", help="Days of the attack phase; 7.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Learn from these traces, of any format, not from the embedded city."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option("--files", help="Take these official files, as `contest data` makes them."),
    ] = None,
    walk: WalkOption = "5min",
    min_events: MinEventsOption = 0,
    sensitive: SensitiveOption = None,
    pois: PoisOption = None,
    factors: Annotated[int, typer.Option("--factors", help="Factors of the model.")] = 32,
    iterations: Annotated[int, typer.Option("--iterations", help="Gibbs iterations.")] = 100,
    zeros: ZerosOption = "all",
    database: DatabaseOption = None,
    judge_key: Annotated[
        Path | None,
        typer.Option(
            "--judge-key", help="New file for the judge's private key, outside DIR. [default: DIR.judge-key]"
        ),
    ] = None,
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase, and lock the judge's key with it.")
    ] = False,
    passphrase_fd: PassphraseFdOption = None,
    base_url: Annotated[
        str,
        typer.Option(
            "--base-url",
            callback=checked_base_url,
            help="Where browsers will reach the contest, for links; remembered.",
        ),
    ] = "http://127.0.0.1:8000",
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a contest that a server can hold: people of every team, keys, database, links.

    The people are virtual users learned from the embedded city; from traces of your own with --data; or
    ready-made with --files. In a terminal it asks for what is not said. The links that it prints are
    shown once: the organiser's is for one person, a team's for its members; they are good for 72 hours.
    """
    require_extra("server")
    from tracearena.files import require_new
    from tracearena.server.operations.create import out_of_sight
    from tracearena.server.store.database import require_empty

    wanted = Wanted(
        name=name, teams=teams, users=users, days=days, data_sets=data_sets, begin=begin,
        anonymization_days=anonymization_days, attack_days=attack_days, traces=data, files=files,
    )  # fmt: skip
    charter_file = file or _charter_beside(files)
    if charter_file is None and sys.stdin.isatty() and not as_json:
        wanted = wanted.asked()
    charter = wanted.charter(charter_file)
    parameters = USUAL | {"factors": factors, "iterations": iterations, "zeros": zeros}
    people = People(reading, parameters, walk, min_events, sensitive, pois, seed)
    people.require_use(charter)
    require_new(folder)
    key = _new_key(folder, judge_key)
    require_empty(database)
    has_lock = passphrase or passphrase_fd is not None
    lock = given_passphrase(passphrase_fd, str(key), twice=True) if has_lock else None
    with out_of_sight() as place:
        people.write(place / "contest", charter)
        base = base_url.rstrip("/")
        made = create(folder, place / "contest", key, lock, charter, database=database, base_url=base)
    _print(_result(folder, key, charter, made, database, base), as_json)


def _charter_beside(files: Path | None) -> Path | None:
    """Return the contest's file of ready-made data, if it comes with one."""
    from tracearena.contest.contest_file import NAME

    return files / NAME if files is not None and (files / NAME).is_file() else None


def _new_key(folder: Path, judge_key: Path | None) -> Path:
    """Return where the judge's key will lie: in a new file, and not in the folder that is backed up."""
    path = key_file(folder, judge_key)
    if os.path.lexists(path):
        raise ParameterError(f"{path}: is there already; a judge's key is never written over")
    if folder.resolve() in path.resolve().parents:
        raise ParameterError(f"{path}: lies in {folder}; the judge's key must lie outside")
    if not path.parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {path.parent}")
    return path


def create(
    folder: Path, prepared: Path, key: Path, lock: str | None, charter: Charter, **server: Any
) -> Created:
    """Make key, folder and database; the key goes again if the rest fails."""
    from tracearena.server.operations import create as creation
    from tracearena.server.store.crypto import write_judge_key

    assert charter.data is not None
    people, public = charter.data.people, write_judge_key(key, lock)
    try:
        return creation.create(folder, prepared, judge_public_key=public, people=people, **server)
    except BaseException:
        key.unlink()
        raise


def _result(
    folder: Path,
    key: Path,
    charter: Charter,
    made: Created,
    database: str | None,
    base_url: str,
) -> dict[str, Any]:
    from tracearena.server.accounts import path_of
    from tracearena.server.store.database import shown

    rules, schedule = charter.rules, charter.schedule
    assert schedule is not None
    assert charter.data is not None
    return {
        "contest": charter.name,
        "folder": str(folder),
        "judge_key": str(key),
        "database": shown(database),
        "teams": charter.teams,
        "users": rules.users,
        "days": rules.reference_days + rules.original_days,
        "people": charter.data.source,
        "mode": rules.mode,
        "schedule": schedule.to_dict(),
        "organiser": base_url + path_of(made.organiser),
        "invitations": {team: base_url + path_of(secret) for team, secret in made.invitations.items()},
    }


def _print(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_result(result, True)
        return
    schedule, invitations = result.pop("schedule"), result.pop("invitations")
    organiser = result.pop("organiser")
    print_result(result, False)
    typer.echo("")
    for point, at in schedule.items():
        typer.echo(f"{point.replace('_', ' '):<20} {at}")
    typer.echo("\nLinks, shown once and good for 72 hours:")
    typer.echo(f"organiser  {organiser}")
    for team, link in invitations.items():
        typer.echo(f"team {team}   {link}")
    note(f"keep {result['judge_key']} apart from backups of {result['folder']}: it opens everything in them")
    typer.echo(f"\nNow: tracearena contest serve {result['folder']}")
