"""``tracearena contest backup``, ``restore``, ``move`` and ``upgrade``: where a contest lies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, note, print_result
from tracearena.cli.contest_server.opening import (
    DATABASE_HELP,
    ContestArgument,
    DatabaseOption,
    checked_database,
    opened,
    require_extra,
)

_SQLITE = "sqlite"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(backup)
    group.command()(restore)
    group.command()(move)
    group.command()(upgrade)


def backup(
    folder: ContestArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New archive, such as friday.tar.")],
    as_json: JsonOption = False,
) -> None:
    """Write a contest to one archive, while it runs. The judge's private key is not in it."""
    contest = opened(folder)
    from tracearena.server.operations.backup import backup as write

    manifest = write(contest, file)
    files = manifest["files"]
    size = sum(one["size"] for one in files.values())
    print_result({"backup": str(file), "files": len(files), "bytes": size}, as_json)
    note("keep it apart from the judge's key, which opens what is sealed in it")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive that `contest backup` wrote.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest.")],
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a contest's folder and database of a backup: all of it, or nothing."""
    require_extra("server")
    from tracearena.server.operations.backup import restore as make
    from tracearena.server.store.database import shown

    make(file, folder, database=database)
    print_result({"folder": str(folder), "database": shown(database)}, as_json)
    note(f"the judge's key is not in a backup: bring it as {folder}.judge-key, or name it with --judge-key")


def move(
    folder: ContestArgument,
    database: Annotated[
        str, typer.Option("--database", callback=checked_database, help=f"sqlite, or {DATABASE_HELP}")
    ],
    as_json: JsonOption = False,
) -> None:
    """Move a contest that nobody serves to another database; every table is compared before it counts."""
    contest = opened(folder)
    from tracearena.server.operations.backup import move as turn
    from tracearena.server.store.database import shown

    url = None if database == _SQLITE else database
    rows = turn(contest, url)
    print_result({"database": shown(url), "tables": len(rows), "rows": sum(rows.values())}, as_json)


def upgrade(
    folder: ContestArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New archive for a backup made before it.")],
    as_json: JsonOption = False,
) -> None:
    """Let a contest that nobody serves go on with this version of tracearena; a backup is made first."""
    contest = opened(folder, any_version=True)
    from tracearena.server.operations.backup import upgrade as bring_up_to_date

    steps = bring_up_to_date(contest, file)
    print_result({"applied": len(steps), **({"backup": str(file)} if steps else {})}, as_json)
    if not steps:
        note("the database is up to date; nothing was changed, and no backup was made")
