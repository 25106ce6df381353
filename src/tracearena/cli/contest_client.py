"""``tracearena contest client``: a team's side, by the API of the contest's server."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption
from tracearena.cli.contest_server import require_extra
from tracearena.errors import FileError, ParameterError
from tracearena.jobs.feedback import note, show_progress

if TYPE_CHECKING:
    from tracearena.server.client import Client


FINAL = ("scored", "published", "late", "refused", "judge error")
_KINDS = ("inferred-table", "inferred-traces")
_HEADERS = {b"user_id": "inferred-table", b"reg_id": "inferred-traces"}

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .csv.gz or Parquet file.")]
DataSetOption = Annotated[int, typer.Option("--data-set", min=1, max=2, help="Number of the data set.")]
FolderOption = Annotated[
    Path, typer.Option("--data", help="Where the contest's files are, as `client data` fetches them.")
]
KindOption = Annotated[
    str | None,
    typer.Option("--kind", help="inferred-table or inferred-traces; by the file's header if omitted."),
]


def register_client(group: typer.Typer) -> None:
    """Add the group of commands."""
    team = typer.Typer(
        help="Take part: fetch data, check, hand in, watch.", no_args_is_help=True, rich_markup_mode=None
    )
    for command in (login, data, check, submit, attack, status, watch, receipts, board):
        team.command()(command)
    group.add_typer(team, name="client")


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the contest is: https://…")],
    as_json: JsonOption = False,
) -> None:
    """Log in with a token of the team, which its page makes; it is asked for, or read from stdin."""
    require_extra("client")
    from tracearena.server.client import Client, Login, save_login

    asked = sys.stdin.isatty()
    token = (typer.prompt("Token", hide_input=True, err=True) if asked else sys.stdin.readline()).strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ParameterError("there is no token; make one on the team's page, and give it here")
    with Client(url, token) as client:
        me = client.get("me")
        path = save_login(Login(client.url, token))
    if as_json:
        typer.echo(json.dumps(me))
        return
    typer.echo(f"team {_format_team(me)}")
    note(f"the token is kept in {path}")


def data(
    to: Annotated[Path, typer.Option("--to", help="Folder for the files.")] = Path("contest-data"),
    as_json: JsonOption = False,
) -> None:
    """Fetch the team's own traces and everybody's files; what is there is not fetched again."""
    from tracearena.server.client import download, download_bundle

    with _open_client() as client:
        with show_progress("own traces"):
            own = download_bundle(client, to)
        files, new = client.get("data")["files"], []
        for one in files:
            target = to / Path(one["name"]).name
            with show_progress(one["name"]):
                if download(client, f"files/{one['name']}", target, sha256=one["sha256"], size=one["size"]):
                    new.append(one["name"])
    if as_json:
        typer.echo(json.dumps({"folder": str(to), "own": [path.name for path in own], "new": new}))
        return
    typer.echo(f"{to}: {len(own)} files of your own, {len(files)} of everybody's, {len(new)} of them new")


def check(
    file: FileArgument,
    target: Annotated[
        str | None, typer.Option("--target", help="The team attacked; obfuscated traces if omitted.")
    ] = None,
    data_set: DataSetOption = 1,
    kind: KindOption = None,
    folder: FolderOption = Path("contest-data"),
    as_json: JsonOption = False,
) -> None:
    """Check a file as the judge will, with the same code: exit 0 if it is good, 2 if not."""
    require_extra("client")
    from tracearena.contest import read_contest_file
    from tracearena.contest.contest_file import NAME
    from tracearena.io.pwscup import PwsName
    from tracearena.server.client import check_before_upload

    if target is None:
        # The team whose original traces were fetched; those of sample teams are everybody's.
        samples = read_contest_file(folder / NAME).sample_numbers if (folder / NAME).is_file() else ()
        own = {f"{PwsName.parse(path).team:03d}" for path in folder.glob("orgtraces_team*.csv")}
        own -= set(samples)
        if len(own) != 1:
            raise ParameterError(
                f"{folder}: has not the traces of one team; `contest client data` fetches them"
            )
        team, what = own.pop(), "obfuscated"
    else:
        team, what = target, _choose_kind(file, kind)
    verdict = check_before_upload(file, what, folder, _check_team_number(team), data_set)
    if as_json:
        faults = {} if verdict is None else verdict.to_dict()
        typer.echo(json.dumps({"valid": verdict is None, "kind": what} | faults))
    if verdict is not None:
        raise FileError(file, verdict.faults, len(verdict.faults) + verdict.more)
    if not as_json:
        typer.echo(f"OK {file}: {what}")


def submit(file: FileArgument, data_set: DataSetOption = 1, as_json: JsonOption = False) -> None:
    """Hand in obfuscated traces, and print the receipt."""
    _submit_file(f"uploads/obfuscated/{data_set}", file, as_json)


def attack(
    file: FileArgument,
    target: Annotated[str, typer.Argument(metavar="TEAM", help="The team attacked, such as 002.")],
    data_set: DataSetOption = 1,
    kind: KindOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand in an attack on a team, and print the receipt."""
    _submit_file(
        f"uploads/attack/{_check_team_number(target)}/{data_set}/{_choose_kind(file, kind)}", file, as_json
    )


def status(as_json: JsonOption = False) -> None:
    """Show the phase, what the team defends, whom it may attack, and what it handed in."""
    with _open_client() as client:
        names = ("phase", "me", "data_sets", "targets", "submissions")
        found = {name: client.get(name) for name in names}
    if as_json:
        typer.echo(json.dumps(found))
        return
    phase = found["phase"]
    until = f", until {phase['next_change']}" if phase["next_change"] else ""
    typer.echo(f"team {_format_team(found['me'])}")
    typer.echo(f"{phase['phase'] or 'between two phases'}{until}; the server's clock: {phase['now']}")
    for one in found["data_sets"]:
        typer.echo(f"data set {one['number']}: {_describe_defence(one)}; {one['uploads_left']} uploads left")
    for one in found["targets"]:
        what = f"target {_format_team(one)}, data set {one['data_set']}"
        typer.echo(f"{what}: {one['uploads_left']} uploads left")
    if phase["attacks"] == "open" and not found["targets"]:
        typer.echo("no targets yet: the judge releases them when it has looked at the last upload")
    for one in found["submissions"]:
        typer.echo(_format_upload(one))


def watch(
    every: Annotated[float, typer.Option("--every", min=0.2, max=3_600, help="Seconds between looks.")] = 2.0,
) -> None:
    """Wait until everything that was handed in has its verdict, and say each change."""
    with _open_client() as client:
        said: dict[int, str] = {}
        while True:
            found = client.get("submissions")
            for one in found:
                if said.get(one["id"]) != one["state"]:
                    said[one["id"]] = one["state"]
                    typer.echo(_format_upload(one))
            # An attack is scored when its phase is over: nothing more becomes of it now.
            if all(
                one["state"] in FINAL or (one["state"] == "checked" and one["target"] is not None)
                for one in found
            ):
                return
            time.sleep(every)


def receipts(as_json: JsonOption = False) -> None:
    """Check that the lists of receipts which the judge signed have every receipt that was kept here.

    A receipt is kept when a file is handed in with this client; a list is published when its phase is closed.
    The exit status is 1 if a receipt is missing or a list says something else.
    """
    from tracearena.server.client import check_receipts

    with _open_client() as client:
        found = check_receipts(client)
    if as_json:
        typer.echo(json.dumps([{"receipt": one.receipt, "state": one.state} for one in found]))
    else:
        for one in found:
            typer.echo(f"{one.receipt:>5}  {one.state}")
        if not found:
            typer.echo("no receipts are kept here")
    if any(one.is_wrong for one in found):
        raise typer.Exit(1)


def board(as_json: JsonOption = False) -> None:
    """Show what may be seen of the scores now."""
    with _open_client() as client:
        found = client.get("board")
    if as_json:
        typer.echo(json.dumps(found))
        return
    print_scores(found)


def print_scores(found: dict[str, Any]) -> None:
    """Print what may be seen of the scores: awards and board, or who takes part."""
    names = {one["team"]: _format_team(one) for one in found["names"]}
    snapshot = found["snapshot"]
    if snapshot is None:
        typer.echo("no scores are shown yet; taking part: " + ", ".join(names.values()))
        return
    for award in snapshot.get("awards", ()):
        winners = " and ".join(names.get(team, team) for team in award["winners"]) or "nobody"
        typer.echo(f"{award['title']}: {winners}")
    for row in snapshot["board"]:
        scores = (
            f"{name} {row[name]:.4f}" for name in ("utility", "s_R_min", "s_T_min") if row[name] is not None
        )
        typer.echo(f"{names.get(row['team'], row['team'])}, data set {row['data_set']}: {', '.join(scores)}")


def _format_team(one: dict[str, Any]) -> str:
    """Return number and name of a team, once if they are the same."""
    number, name = one["team"], one["name"]
    return str(number) if name == number else f"{number} {name}"


def _submit_file(path: str, file: Path, as_json: bool) -> None:
    from tracearena.server.client import save_receipt, upload

    with _open_client() as client, show_progress(file.name):
        receipt = upload(client, path, file)
        save_receipt(client.url, receipt)
    if as_json:
        typer.echo(json.dumps(receipt))
    else:
        typer.echo(f"receipt {receipt['id']}: {receipt['size']:,} bytes, SHA-256 {receipt['sha256']}")
        typer.echo(f"received {receipt['received_at']}")
    if receipt["late"]:
        note("it came after the end of the phase: it is kept, and does not count")


@contextmanager
def _open_client() -> Iterator[Client]:
    require_extra("client")
    from tracearena.server.client import Client, read_login

    login = read_login()
    with Client(login.url, login.token) as client:
        yield client


def _describe_defence(one: dict[str, Any]) -> str:
    """Say how well a data set is defended, and plainly if it is not valid."""
    if one["utility"] is None:
        return "nothing counts yet"
    said = f"utility {one['utility']:.4f}"
    return said if one["valid"] else f"{said}, NOT VALID: it must be at least {one['threshold']:g}"


def _format_upload(one: dict[str, Any]) -> str:
    where = f"data set {one['data_set']}" + (f" of {one['target']}" if one["target"] else "")
    said = f"{one['id']:>5}  {one['kind']}, {where}: {one['state']}"
    if one.get("utility") is not None:
        said += f", utility {one['utility']:.4f}"
    # A verdict has one line per wrong row, and its first line is the reason as well.
    why = one["verdict"]["reason"] if one.get("verdict") else one.get("reason") or ""
    return said + "".join(f"\n       {line}" for line in why.splitlines())


def _choose_kind(file: Path, kind: str | None) -> str:
    """Return what an attack is, by what is said or by the header of a CSV file."""
    import gzip

    from tracearena.checks import require_choice

    if kind is not None:
        require_choice("--kind", kind, _KINDS)
        return kind
    with open(file, "rb") as raw:
        is_gzip = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            header = gzip.GzipFile(fileobj=raw).readline(100) if is_gzip else raw.readline(100)
        except (OSError, EOFError):
            raise FileError.whole(file, "is not a whole gzip file", "bad-gzip") from None
    found = _HEADERS.get(header.strip(b'\xef\xbb\xbf\r\n"'))
    if found is None:
        raise ParameterError(f"{file}: its first line does not say what it is; --kind {' or '.join(_KINDS)}")
    return found


def _check_team_number(team: str) -> str:
    if not (team.isascii() and team.isdigit() and len(team) == 3):
        raise ParameterError.of("team", team, "three digits, such as 002")
    return team
