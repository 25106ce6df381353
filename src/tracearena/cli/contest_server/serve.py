"""``tracearena contest serve``: web and judges from one command."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import note
from tracearena.cli._stopping import unhurried
from tracearena.cli.contest_server.opening import (
    JudgeKeyOption,
    PassphraseFdOption,
    opened,
    read_key,
    require_extra,
)
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.server.processes.supervisor import Serving


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(serve)


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
    from tracearena.cli._refusing import refuse

    if demo:
        given = {"only": only, "allowed_host": allowed_host, "trusted_proxy": trusted_proxy, "secure": secure}
        refuse("a demo", **given, log=log, judge_key=judge_key, passphrase_fd=passphrase_fd)
        _show(folder, host, port, workers, phase or "attack")
        return
    if folder is None:
        raise ParameterError("which contest? Name its folder, or say --demo")
    refuse("a contest of yours; `contest phase` moves it", phase=phase)
    if only is not None:
        require_choice("--only", only, ("web", "judges"))
    # First, since SQLite on a disk that cannot be written looks damaged.
    _require_writable(folder)
    contest = opened(folder)
    from tracearena.server.processes.supervisor import Serving, log_file, serve
    from tracearena.server.settings import Address

    address = Address(
        hosts=tuple(allowed_host or ()), secure=secure, trusted_proxies=tuple(trusted_proxy or ())
    )
    serving = Serving(
        host=host, port=port, workers=workers, web_workers=web_workers, address=address, web=only != "judges"
    )
    key = None if only == "web" else read_key(folder, judge_key, passphrase_fd)
    _require_whole()

    def announce(url: str) -> None:
        typer.echo(f"The contest is at {url}")
        _remember_address(serving)

    with unhurried(), nullcontext() if log is None else log_file(log) as pipe:
        serve(contest, key, serving, ready=announce, log=pipe)
    note("ended; what was handed in is safe, and work that was not finished goes on at the next start")


def _show(folder: Path | None, host: str, port: int, workers: int, phase: str) -> None:
    from tracearena.checks import require_choice
    from tracearena.cli.contest_server.demo import show

    if folder is not None:
        raise ParameterError(f"{folder}: a demo makes a contest of its own; leave the folder or --demo out")
    require_extra("server")
    require_choice("--phase", phase, ("anonymization", "attack", "ceremony", "results"))
    show(host, port, workers, phase)


def _require_writable(folder: Path) -> None:
    """Refuse a folder that nothing can be handed in to, as after a fault of its disk."""
    if folder.is_dir() and os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise ParameterError(f"{folder}: cannot be written; its disk is mounted read-only")


def _remember_address(serving: Serving) -> None:
    """Let links that commands print name where browsers come, unless somebody has said it otherwise."""
    from urllib.parse import urlsplit

    from django.db import Error, connections

    from tracearena.server import accounts
    from tracearena.server.settings import is_loopback

    names = [host for host in serving.address.hosts if not host.startswith(".")]
    with suppress(Error):  # a database that is busy now is no reason to end
        if is_loopback(urlsplit(accounts.base_url()).hostname or ""):
            accounts.base_url(f"https://{names[0]}" if serving.address.secure and names else serving.url)
    connections.close_all()


def _require_whole() -> None:
    """Refuse a damaged database, before processes are started that could do nothing with it."""
    from django.db import connections

    from tracearena.server.store.database import require_whole

    require_whole()
    connections.close_all()
