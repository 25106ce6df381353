"""``tracearena contest serve``, ``status``, ``backup``, ``restore``, ``move``, ``upgrade`` and ``export``.

Web and judges of a contest, how it stands, and where it is stored. Below them is what all commands on a
contest's folder share: the folder, the judge's key, the extra they need.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import nullcontext, suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import delay_stop
from tracearena.cli._output import JsonOption, format_for_people, print_result
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note
from tracearena.jobs.outputs import check_outputs, refuse_options

if TYPE_CHECKING:
    from tracearena.server.store.folder import Folder


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="The contest's folder, as `contest new` makes it."),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="No DIR: a contest in full swing with invented teams, gone at the end."),
    ] = False,
    phase: Annotated[
        str | None,
        typer.Option(
            "--phase",
            help="Where a demo begins: anonymization, attack, ceremony or results. [default: attack]",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="Port to listen on.")] = 8_000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others can reach what is not loopback.")
    ] = "127.0.0.1",
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Judges.")] = 2,
    web_workers: Annotated[
        int, typer.Option("--web-workers", min=1, max=16, help="Processes that answer requests.")
    ] = 1,
    only: Annotated[
        str | None,
        typer.Option("--only", help="web or judges: one half, for two users of the system. [default: both]"),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="Name under which browsers reach it; repeat for more."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option("--trusted-proxy", help="Address of a proxy whose forwarded headers count; repeat."),
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="Browsers come by HTTPS only, which a proxy in front speaks.")
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Add the log to this file, which may be renamed. [default: terminal]"),
    ] = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
) -> None:
    """Hold a contest: the web on one port, and the judges, which alone are given the judge's key.

    It runs until Ctrl-C or SIGTERM. What dies is started again. To other than loopback it listens only
    with --host, --allowed-host and --secure.

    With --demo, teams are invented on people of the embedded city; the accounts of an organiser and two
    teams are drawn and printed, only this machine is listened to, and nothing is left behind.
    """
    from tracearena.checks import require_choice

    if demo:
        given = {"only": only, "allowed_host": allowed_host, "trusted_proxy": trusted_proxy, "secure": secure}
        from tracearena.cli.demo import run_demo

        refuse_options("a demo", **given, log=log, judge_key=judge_key, passphrase_fd=passphrase_fd)
        if folder is not None:
            raise ParameterError(
                f"{folder}: a demo makes a contest of its own; leave the folder or --demo out"
            )
        require_extra("server")
        begin = phase or "attack"
        require_choice("--phase", begin, ("anonymization", "attack", "ceremony", "results"))
        run_demo(host, port, workers, begin)
        return
    if folder is None:
        raise ParameterError("which contest? Name its folder, or say --demo")
    refuse_options("a contest of yours; `contest phase` moves it", phase=phase)
    if only is not None:
        require_choice("--only", only, ("web", "judges"))
    # First, since SQLite on a disk that cannot be written looks damaged.
    if folder.is_dir() and os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise ParameterError(f"{folder}: cannot be written; its disk is mounted read-only")
    contest = open_contest(folder)
    from urllib.parse import urlsplit

    from django.db import Error, connections

    from tracearena.server import accounts
    from tracearena.server.processes.supervisor import ServerOptions, open_log_file, run_processes
    from tracearena.server.settings import Address, is_loopback
    from tracearena.server.store.database import require_intact

    address = Address(
        hosts=tuple(allowed_host or ()), secure=secure, trusted_proxies=tuple(trusted_proxy or ())
    )
    serving = ServerOptions(
        host=host, port=port, workers=workers, web_workers=web_workers, address=address, web=only != "judges"
    )
    key = None if only == "web" else read_contest_key(folder, judge_key, passphrase_fd)
    require_intact()  # before processes are started that could do nothing with a damaged database
    connections.close_all()

    def announce(url: str) -> None:
        typer.echo(f"The contest is at {url}")
        # Links that commands print name where browsers come, unless somebody has said it otherwise.
        names = [name for name in serving.address.hosts if not name.startswith(".")]
        with suppress(Error):  # a database that is busy now is no reason to end
            if is_loopback(urlsplit(accounts.update_base_url()).hostname or ""):
                accounts.update_base_url(f"https://{names[0]}" if secure and names else serving.url)
        connections.close_all()

    with delay_stop(), nullcontext() if log is None else open_log_file(log) as pipe:
        run_processes(contest, key, serving, ready=announce, log=pipe)
    note("ended; what was handed in is safe, and work that was not finished goes on at the next start")


def status(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show the clock, the phase, the judges' queue, the last error, the disk and the age of the backup."""
    contest = open_contest(folder)
    from tracearena.server.operations.status import collect_status

    found = collect_status(contest)
    if as_json:
        typer.echo(json.dumps(found))
        return
    for label, said in _format_status(found):
        typer.echo(f"{label:<11}  {said}")


def _format_status(found: dict[str, Any]) -> list[tuple[str, str]]:
    queue, error, backup = found["queue"], found["last_error"], found["backup_age_s"]
    driven = " (driven by hand)" if found["clock_is_driven"] else ""
    if found["clock_ahead_s"] > 1:
        driven += f", {_format_age(found['clock_ahead_s'])} ahead of this machine's clock (`contest clock`)"
    until = f", until {found['next_change']}" if found["next_change"] else ""
    working = [judge for judge in found["judges"] if judge["works"]]
    # What the kernels of the judges lack to guard against uploads that take a child process over.
    missing = [f"{judge['name']}: {judge['missing_guards']}" for judge in working if judge["missing_guards"]]
    guards = " ".join(missing) or ("all in place" if working else "unknown while no judge works")
    return [
        ("contest", found["contest"]),
        ("clock", found["clock"] + driven),
        ("phase", (found["phase"] or "between two phases") + until),
        ("teams", f"{found['teams']}, with {found['members']} members"),
        ("uploads", format_for_people(found["uploads"])),
        ("queue", f"{queue['waiting']} wait, {queue['running']} run, {queue['failed']} failed; the oldest "
                  f"has waited {_format_age(queue['oldest_s'])}"),
        ("last error", "none" if error is None else f"{error['job']} at {error['at']}: {error['error']}"),
        ("judges", f"{len(working)} work: " + ", ".join(f"{judge['name']} ({judge['doing'] or 'idle'})"
                                                        for judge in working) if working else "none works"),
        ("guards", guards),
        ("disk", f"{found['disk_free_bytes'] / 2**30:,.1f} GB free"),
        ("backup", "none yet" if backup is None else f"{_format_age(backup)} old"),
        ("results", "published" if found["published"] else "not published"),
        ("database", found["database"]),
    ]  # fmt: skip


def _format_age(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def register_storage(group: typer.Typer) -> None:
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
    contest = open_contest(folder)
    from tracearena.server.operations.backup import write_backup

    files = write_backup(contest, file)["files"]
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
    from tracearena.server.operations.backup import restore_backup
    from tracearena.server.store.database import format_database_url

    restore_backup(file, folder, database=database)
    print_result({"folder": str(folder), "database": format_database_url(database)}, as_json)
    note(f"the judge's key is not in a backup: bring it as {folder}.judge-key, or name it with --judge-key")


def move(
    folder: ContestArgument,
    database: Annotated[
        str, typer.Option("--database", callback=check_database_url, help=f"sqlite, or {DATABASE_HELP}")
    ],
    as_json: JsonOption = False,
) -> None:
    """Move a contest that nobody serves to another database; every table is compared before it counts."""
    contest = open_contest(folder)
    from tracearena.server.operations.backup import move_database
    from tracearena.server.store.database import format_database_url

    url = None if database == "sqlite" else database
    rows = move_database(contest, url)
    print_result(
        {"database": format_database_url(url), "tables": len(rows), "rows": sum(rows.values())}, as_json
    )


def upgrade(
    folder: ContestArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New archive for a backup made before it.")],
    as_json: JsonOption = False,
) -> None:
    """Let a contest that nobody serves go on with this version of tracearena; a backup is made first."""
    contest = open_contest(folder, any_version=True)
    from tracearena.server.operations.backup import upgrade_database

    steps = upgrade_database(contest, file)
    print_result({"applied": len(steps), **({"backup": str(file)} if steps else {})}, as_json)
    if not steps:
        note("the database is up to date; nothing was changed, and no backup was made")


def export(
    folder: ContestArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New archive, such as friday.zip.")],
    include_originals: Annotated[
        bool,
        typer.Option(
            "--include-originals",
            help="Original traces too, where they are of your own people; of the embedded city's they "
            "always are.",
        ),
    ] = False,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a contest whose results are published to one archive, which `contest verify` judges again.

    It holds the released and handed-in files, ID tables and salts, board and awards. It is refused before
    the results are published and while the judge has work to do.
    """
    check_outputs(out)
    contest = open_contest(folder)
    from tracearena.server.judge.export import export_contest
    from tracearena.server.judge.scoring import JudgeFiles

    manifest = export_contest(
        JudgeFiles(contest, read_contest_key(folder, judge_key, passphrase_fd)),
        out,
        include_originals=include_originals,
    )
    files, originals = len(manifest["sha256"]), manifest["originals"]
    print_result({"archive": str(out), "files": files, "originals": originals}, as_json)
    note(f"anybody can judge it again: tracearena contest verify {out}")


_NEEDED = {
    "server": ("django", "ninja", "argon2", "gunicorn", "psycopg", "whitenoise"),
    "client": ("httpx",),
}
ContestArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The contest's folder, as `contest new` makes it.")
]
_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.ASCII)


def check_base_url(url: str | None) -> str | None:
    """Refuse what is no beginning of a link, before anything is done whose link would be lost."""
    if url is not None and (len(url) > 200 or not _BASE_URL.fullmatch(url)):
        raise ParameterError.of("--base-url", url, "an address such as https://contest.example.org")
    return url


BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        callback=check_base_url,
        help="Where browsers reach the contest, for links; remembered. [default: what was said before]",
    ),
]
JudgeKeyOption = Annotated[
    Path | None,
    typer.Option("--judge-key", help="File of the judge's private key. [default: DIR.judge-key]"),
]
DATABASE_HELP = "postgresql://user@host/name, without its password."


def check_database_url(url: str | None) -> str | None:
    """Refuse a password in an option."""
    if url is None:
        return None
    from tracearena.server.store.database import require_no_password

    return require_no_password(url)


DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", callback=check_database_url, help=f"{DATABASE_HELP} [default: SQLite]"),
]
PassphraseFdOption = Annotated[
    int | None,
    typer.Option(
        "--passphrase-fd",
        min=0,
        max=1_023,
        help="Read the passphrase of the judge's key from this file descriptor; asked for if omitted.",
    ),
]


def require_extra(extra: str) -> None:
    """Refuse to go on without the packages of an extra, and say how they come."""
    missing = [name for name in _NEEDED[extra] if find_spec(name) is None]
    if missing:
        raise ParameterError(f"this needs {', '.join(missing)}: pip install 'tracearena[{extra}]'")


def open_contest(path: Path, *, any_version: bool = False) -> Folder:
    """Return a contest's folder, with Django turned to it; its tables must be those of this version."""
    require_extra("server")
    from tracearena.server.settings import configure
    from tracearena.server.store.folder import Folder

    folder = Folder(path)
    configure(folder)
    folder.require_database()
    if not any_version:
        from tracearena.server.store.database import require_current

        require_current(folder)
    return folder


def find_key_file(folder: Path, judge_key: Path | None) -> Path:
    """Return where the judge's private key lies: next to the folder unless an option names the file."""
    whole = folder.absolute()
    return judge_key or whole.with_name(f"{whole.name}.judge-key")


def read_contest_key(folder: Path, judge_key: Path | None, passphrase_fd: int | None) -> bytes:
    """Return the judge's private key, which must be that of the contest."""
    from tracearena.server.sandbox import confinement
    from tracearena.server.store.crypto import derive_public_key, needs_passphrase, read_judge_key
    from tracearena.server.store.folder import Folder

    confinement.hide_process_memory()
    path = find_key_file(folder, judge_key)
    secrets = Folder(folder).read_secrets()
    if not path.is_file():
        raise ParameterError(f"{path}: is not there; --judge-key names the file of the judge's key")
    passphrase = read_passphrase(passphrase_fd, str(path)) if needs_passphrase(path) else None
    private = read_judge_key(path, passphrase)
    if derive_public_key(private).hex() != secrets.judge_public_key:
        raise ParameterError(f"{path}: is the key of another contest")
    return private


def read_passphrase(descriptor: int | None, what: str, *, twice: bool = False) -> str:
    """Return a passphrase: a line of a file descriptor, or what is typed in the terminal."""
    if descriptor is not None:
        try:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                line = file.readline(1_000).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(f"--passphrase-fd {descriptor}: cannot be read: {error}") from None
        if not line:
            raise ParameterError(f"--passphrase-fd {descriptor}: holds no passphrase")
        return line
    if not sys.stdin.isatty():
        raise ParameterError(f"{what}: there is no terminal to ask for the passphrase; use --passphrase-fd")
    typed: str = typer.prompt(f"Passphrase of {what}", hide_input=True, confirmation_prompt=twice, err=True)
    return typed


def print_link(said: str, secret: str, base: str, as_json: bool, **facts: str) -> None:
    """Print a link by which somebody comes in, and for whom it is.

    Parameters
    ----------
    said
        For whom, for people; `facts` say so in JSON.
    secret
        The link's.
    base
        Where browsers reach the contest.
    """
    from tracearena.server.accounts import build_link_path

    link = base + build_link_path(secret)
    if as_json:
        typer.echo(json.dumps(facts | {"link": link}))
        return
    typer.echo(f"{said}  {link}")
    note("the link is shown once, and is good for 72 hours")
