"""``tracearena contest serve``, ``status``, ``backup``, ``restore``, ``move``, ``upgrade`` and ``export``.

They run the server of a contest and manage its storage. At the end of the file is what all commands on the
folder of a contest share: its argument, the judge's key, and the check of installed extras.
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
        typer.Argument(metavar="DIR", help="Folder of the contest, made by `contest new`."),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Without DIR: serve a demo contest with invented teams, deleted at the end."
        ),
    ] = False,
    phase: Annotated[
        str | None,
        typer.Option(
            "--phase",
            help="Phase in which the demo begins: anonymization, attack, ceremony or results. "
            "[default: attack]",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="Port to listen on.")] = 8_000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; only loopback is closed to other machines.")
    ] = "127.0.0.1",
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Number of judges.")] = 2,
    web_workers: Annotated[
        int, typer.Option("--web-workers", min=1, max=16, help="Number of processes that answer requests.")
    ] = 1,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Run one half, as its own system user: web or judges. [default: both]"),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="Host name that browsers may use; repeat for more."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy", help="Address of a proxy whose forwarded headers are trusted; repeat for more."
        ),
    ] = None,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure", help="Browsers use HTTPS only, which a proxy in front of the server terminates."
        ),
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Serve HTTPS with this certificate (PEM); needs --key."),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Private key of the certificate (PEM).")] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Append the log to this file, which may be rotated. [default: terminal]"),
    ] = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
) -> None:
    """Run the server of a contest: the web pages on one port, and the judges.

    It runs until Ctrl-C or SIGTERM, and restarts processes that die. Only the judges get the judge's key. To
    listen on an address other than loopback, --host, --allowed-host and HTTPS are required: either
    --certificate and --key, or --secure and a proxy in front that speaks HTTPS.

    With --demo it serves a contest with invented teams in the embedded city, to this machine only. It prints
    accounts of an organiser and of two teams, and deletes everything at the end.

    Example:
      tracearena contest serve friday --port 8000
    """
    from tracearena.checks import require_choice

    if demo:
        given = {"only": only, "allowed_host": allowed_host, "trusted_proxy": trusted_proxy, "secure": secure}
        from tracearena.cli.demo import run_demo

        files = {"certificate": certificate, "key": key, "log": log, "judge_key": judge_key}
        refuse_options("a demo", **given, **files, passphrase_fd=passphrase_fd)
        if folder is not None:
            raise ParameterError(f"{folder}: --demo makes its own contest; leave out the folder or --demo")
        require_extra("server")
        begin = phase or "attack"
        require_choice("--phase", begin, ("anonymization", "attack", "ceremony", "results"))
        run_demo(host, port, workers, begin)
        return
    if folder is None:
        raise ParameterError("name the folder of the contest, or use --demo")
    refuse_options("a contest of yours; `contest phase` moves it", phase=phase)
    if only is not None:
        require_choice("--only", only, ("web", "judges"))
    # First, since SQLite on a disk that cannot be written looks damaged.
    if folder.is_dir() and os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise ParameterError(f"{folder}: cannot be written, because its file system is mounted read-only")
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
    if (certificate is None) != (key is None):
        raise ParameterError("--certificate and --key must be used together")
    serving = ServerOptions(
        host=host, port=port, workers=workers, web_workers=web_workers, address=address,
        web=only != "judges", tls=None if certificate is None or key is None else (certificate, key),
    )  # fmt: skip
    judge = None if only == "web" else read_contest_key(folder, judge_key, passphrase_fd)
    require_intact()  # before processes are started that could do nothing with a damaged database
    connections.close_all()

    def announce(url: str) -> None:
        typer.echo(f"The contest is at {url}")
        # Links that commands print use the address of this server, unless --base-url set another.
        names = [name for name in serving.address.hosts if not name.startswith(".")]
        with suppress(Error):  # a busy database is not a reason to end
            if is_loopback(urlsplit(accounts.update_base_url()).hostname or ""):
                behind = f"https://{names[0]}" if secure and names else serving.url
                if certificate is not None and names:
                    behind = f"https://{names[0]}" + ("" if port == 443 else f":{port}")
                accounts.update_base_url(behind)
        connections.close_all()

    with delay_stop(), nullcontext() if log is None else open_log_file(log) as pipe:
        run_processes(contest, judge, serving, ready=announce, log=pipe)
    note("stopped; submissions are stored, and unfinished work continues at the next start")


def status(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show clock, phase, queue of the judges, last error, free disk space and age of the backup.

    Example:
      tracearena contest status friday
    """
    contest = open_contest(folder)
    from tracearena.server.operations.status import collect_status

    found = collect_status(contest)
    if as_json:
        typer.echo(json.dumps(found))
        return
    for label, said in _format_status(found):
        typer.echo(f"{label:<11}  {said}")


def _format_status(found: dict[str, Any]) -> list[tuple[str, str]]:
    from tracearena.contest.phases import name_phase
    from tracearena.pages.html import format_duration

    queue, error, backup = found["queue"], found["last_error"], found["backup_age_s"]
    driven = " (set by hand)" if found["clock_is_driven"] else ""
    if found["clock_ahead_s"] > 1:
        ahead = format_duration(timedelta(seconds=found["clock_ahead_s"]))
        driven += f", {ahead} ahead of this machine's clock (`contest clock`)"
    until = f", until {found['next_change']}" if found["next_change"] else ""
    working = [judge for judge in found["judges"] if judge["works"]]
    # Protections that a judge's kernel lacks, against uploads that take over the process reading them.
    missing = [f"{judge['name']}: {judge['missing_guards']}" for judge in working if judge["missing_guards"]]
    guards = " ".join(missing) or ("all active" if working else "unknown while no judge is running")
    return [
        ("contest", found["contest"]),
        ("clock", found["clock"] + driven),
        ("phase", name_phase(found) + until),
        ("teams", f"{found['teams']}, with {found['members']} members"),
        ("uploads", format_for_people(found["uploads"])),
        ("queue", f"{queue['waiting']} waiting, {queue['running']} running, "
f"{queue['failed']} failed; the oldest "
                  f"has waited {format_duration(timedelta(seconds=queue['oldest_s']))}"),
        ("last error", "none" if error is None else f"{error['job']} at {error['at']}: {error['error']}"),
        ("judges", f"{len(working)} running: " + ", ".join(f"{judge['name']} ({judge['doing'] or 'idle'})"
                                                        for judge in working) if working else "none running"),
        ("guards", guards),
        ("disk", f"{found['disk_free_bytes'] / 2**30:,.1f} GB free"),
        ("backup", "none yet" if backup is None else f"{format_duration(timedelta(seconds=backup))} old"),
        ("results", "published" if found["published"] else "not published"),
        ("database", found["database"]),
    ]  # fmt: skip


def backup(
    folder: ContestArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New archive, such as friday.tar.")],
    as_json: JsonOption = False,
) -> None:
    """Write a contest to one archive, also while it runs, without the judge's private key.

    Example:
      tracearena contest backup friday friday.tar
    """
    contest = open_contest(folder)
    from tracearena.server.operations.backup import write_backup

    files = write_backup(contest, file)["files"]
    size = sum(one["size"] for one in files.values())
    print_result({"backup": str(file), "files": len(files), "bytes": size}, as_json)
    note("keep it separate from the judge's key, which decrypts the secrets in it")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive written by `contest backup`.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest.")],
    database: DatabaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the folder and database of a contest from a backup, completely or not at all.

    Example:
      tracearena contest restore friday.tar friday
    """
    require_extra("server")
    from tracearena.server.operations.backup import restore_backup
    from tracearena.server.store.database import format_database_url

    restore_backup(file, folder, database=database)
    print_result({"folder": str(folder), "database": format_database_url(database)}, as_json)
    note(f"the judge's key is not in a backup: copy it to {folder}.judge-key, or name it with --judge-key")


def move(
    folder: ContestArgument,
    database: Annotated[
        str, typer.Option("--database", callback=check_database_url, help=f"sqlite, or {DATABASE_HELP}")
    ],
    as_json: JsonOption = False,
) -> None:
    """Move a contest to another database, while its server is stopped; every table is compared.

    Example:
      tracearena contest move friday --database postgresql://judge@db/contest
    """
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
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="New archive, for the backup that is made first.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Upgrade a contest to this version of tracearena, while its server is stopped.

    A backup is made first.

    Example:
      tracearena contest upgrade friday before-upgrade.tar
    """
    contest = open_contest(folder, any_version=True)
    from tracearena.server.operations.backup import upgrade_database

    steps = upgrade_database(contest, file)
    print_result({"applied": len(steps), **({"backup": str(file)} if steps else {})}, as_json)
    if not steps:
        note("the database is up to date: nothing was changed, and no backup was made")


def export(
    folder: ContestArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="New archive, such as friday.zip.")],
    include_originals: Annotated[
        bool,
        typer.Option(
            "--include-originals",
            help="Include original traces of your own people; those of the embedded city are always "
            "included.",
        ),
    ] = False,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a finished contest to one archive, which `contest verify` can judge again.

    The archive has the released and submitted files, ID tables and salts, board and awards. The command is
    refused before the results are published and while the judge has work to do.

    Example:
      tracearena contest export friday friday.zip
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
    note(f"anyone can judge it again: tracearena contest verify {out}")


_NEEDED = {
    "server": ("django", "ninja", "argon2", "gunicorn", "markdown_it", "psycopg", "whitenoise"),
    "client": ("httpx",),
}
ContestArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the contest, made by `contest new`.")
]
_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.ASCII)


def check_base_url(url: str | None) -> str | None:
    """Refuse a wrong base of links before anything is made, since links are shown only once."""
    if url is not None and (len(url) > 200 or not _BASE_URL.fullmatch(url)):
        raise ParameterError.of("--base-url", url, "an address such as https://contest.example.org")
    return url


BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        callback=check_base_url,
        help="Address of the contest for browsers, for links; it is stored. [default: the stored one]",
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
        help="Read the passphrase of the judge's key from this file descriptor. By default the command asks "
        "for it.",
    ),
]


def require_extra(extra: str) -> None:
    """Raise an error if packages of an extra are missing; it names the command that installs them."""
    if extra == "server" and sys.platform == "win32":
        raise ParameterError(
            "the contest server runs on Linux and macOS, not on Windows; contests by files (contest data, "
            "judge, board, verify) run everywhere"
        )
    missing = [name for name in _NEEDED[extra] if find_spec(name) is None]
    if missing:
        raise ParameterError(f"this needs {', '.join(missing)}: pip install 'tracearena[{extra}]'")


def open_contest(path: Path, *, any_version: bool = False) -> Folder:
    """Return the folder of a contest and set Django up for it; its tables must be those of this version."""
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
    """Return the path of the judge's private key: next to the folder unless an option names the file."""
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
        raise ParameterError(f"{path}: does not exist; name the file of the judge's key with --judge-key")
    passphrase = read_passphrase(passphrase_fd, str(path)) if needs_passphrase(path) else None
    private = read_judge_key(path, passphrase)
    if derive_public_key(private).hex() != secrets.judge_public_key:
        raise ParameterError(f"{path}: is the judge's key of another contest")
    return private


def read_passphrase(descriptor: int | None, what: str, *, twice: bool = False) -> str:
    """Return a passphrase, read from a file descriptor or typed in the terminal."""
    if descriptor is not None:
        try:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                line = file.readline(1_000).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ParameterError(f"--passphrase-fd {descriptor}: cannot be read: {error}") from None
        if not line:
            raise ParameterError(f"--passphrase-fd {descriptor}: the first line is empty")
        return line
    if not sys.stdin.isatty():
        raise ParameterError(
            f"{what}: the passphrase cannot be asked for without a terminal; use --passphrase-fd"
        )
    typed: str = typer.prompt(f"Passphrase for {what}", hide_input=True, confirmation_prompt=twice, err=True)
    return typed


def print_link(said: str, secret: str, base: str, as_json: bool, **facts: str) -> None:
    """Print a link with which somebody can make an account or set a password.

    Parameters
    ----------
    said
        The person or team that the link is for; `facts` say it in JSON.
    secret
        Secret part of the link.
    base
        Address of the contest for browsers.
    """
    from tracearena.server.accounts import build_link_path

    link = base + build_link_path(secret)
    if as_json:
        typer.echo(json.dumps(facts | {"link": link}))
        return
    typer.echo(f"{said}  {link}")
    note("the link is shown once and is valid for 72 hours")
    note_local_links(base)


def note_local_links(base: str) -> None:
    """Note that links work on this machine only, if their address is one of this machine."""
    from urllib.parse import urlsplit

    from tracearena.server.settings import is_loopback

    if is_loopback(urlsplit(base).hostname or ""):
        note(
            f"links begin with {base}, which only this machine can reach; "
            "set the public address with --base-url"
        )
