"""``tracearena contest client``: the commands of a team, which use the API of the contest's server."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, SeedOption, add_group
from tracearena.cli.contest_server import require_extra
from tracearena.errors import FileError, ParameterError
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import check_outputs, choose_seed

if TYPE_CHECKING:
    from tracearena.server.client import Client


FINAL = ("scored", "published", "late", "refused", "judge error")
_KINDS = ("inferred-table", "inferred-traces")
_HEADERS = {b"user_id": "inferred-table", b"reg_id": "inferred-traces"}

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .csv.gz or Parquet file.")]
DataSetOption = Annotated[int, typer.Option("--data-set", min=1, max=2, help="Number of the data set.")]
FolderOption = Annotated[
    Path, typer.Option("--data", help="Folder with the files of the contest, from `client data`.")
]
KindOption = Annotated[
    str | None,
    typer.Option("--kind", help="inferred-table or inferred-traces. [default: from the file's header]"),
]


def register_client(group: typer.Typer) -> None:
    """Add the group of commands."""
    commands = (login, data, practise, check, submit, attack, ask, status, watch, receipts, board)
    about = "Take part in a contest: download data, practise, check and submit files, see results."
    example = "tracearena contest client login https://contest.example.org"
    add_group(group, "client", about, example, {one.__name__: one for one in commands})


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the contest: https://…")],
    as_json: JsonOption = False,
) -> None:
    """Log in with a token, which a member makes on the team's page.

    In a terminal the command asks for the token; otherwise it reads it from stdin.

    Example:
      tracearena contest client login https://contest.example.org
    """
    require_extra("client")
    from tracearena.server.client import Client, Login, save_login

    asked = sys.stdin.isatty()
    token = (typer.prompt("Token", hide_input=True, err=True) if asked else sys.stdin.readline()).strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ParameterError(
            "the token is empty, or has characters that tokens never have; create a token on the team's page"
        )
    with Client(url, token) as client:
        me = client.get("me")
        path = save_login(Login(client.url, token))
    if as_json:
        typer.echo(json.dumps(me))
        return
    typer.echo(f"team {_format_team(me)}")
    note(f"the token is stored in {path}")


def data(
    to: Annotated[Path, typer.Option("--to", help="Folder for the files.")] = Path("contest-data"),
    as_json: JsonOption = False,
) -> None:
    """Download the traces of your team and the files for everybody; files you have are skipped.

    Example:
      tracearena contest client data --to contest-data
    """
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
    typer.echo(f"{to}: {len(own)} files of your team, {len(files)} files for everybody ({len(new)} new)")


def check(
    file: FileArgument,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", help="Team that the file attacks. Without it, the file has obfuscated traces."
        ),
    ] = None,
    data_set: DataSetOption = 1,
    kind: KindOption = None,
    folder: FolderOption = Path("contest-data"),
    as_json: JsonOption = False,
) -> None:
    """Check a file with the judge's own code: the exit status is 0 if it is valid, 2 if not.

    For obfuscated traces the utility is printed too; below the threshold of the rules they do not count.

    Example:
      tracearena contest client check obftraces.csv --data contest-data
    """
    require_extra("client")
    from tracearena.server.client import check_before_upload, find_own_team

    if target is None:
        team, what = find_own_team(folder), "obfuscated"
    else:
        team, what = _check_team_number(target), _choose_kind(file, kind)
    found = check_before_upload(file, what, folder, team, data_set)
    verdict = found.verdict
    if as_json:
        faults = {} if verdict is None else verdict.to_dict()
        utility = {} if found.utility is None else {"utility": found.utility, "threshold": found.threshold}
        typer.echo(json.dumps({"valid": found.is_valid, "kind": what} | utility | faults))
    if verdict is not None:
        raise FileError(file, verdict.faults, len(verdict.faults) + verdict.more)
    if not as_json:
        said = "" if found.utility is None else f", {_format_utility(found.utility, found.threshold)}"
        typer.echo(f"{'OK ' if found.is_valid else ''}{file}: {what}{said}")
    if not found.is_valid:
        raise typer.Exit(2)


def practise(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File for the table (CSV).")] = Path(
        "practise.csv"
    ),
    defences: Annotated[
        list[str] | None,
        typer.Option("--defences", help="Defence; repeat for more. [default: the 37 samples]"),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="Attack, or a group of them: samples, strongest or all; repeat for more. [default: samples]",
        ),
    ] = None,
    data_set: DataSetOption = 1,
    folder: FolderOption = Path("contest-data"),
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run attacks on defences of your team's own traces, scored by the rules of the contest.

    Nothing is sent to the server.

    Example:
      tracearena contest client practise --defences "PL(4,1)" --defences "RR(8)"
    """
    require_extra("client")
    from tracearena import arena
    from tracearena.contest import read_contest_file
    from tracearena.contest.contest_file import NAME
    from tracearena.server.client import read_own_traces

    check_outputs(out)
    reference, original = read_own_traces(folder, data_set)
    scoring = read_contest_file(folder / NAME).rules.scoring
    with show_progress("defences"):
        rows = arena.run_sweep(
            reference,
            original,
            defences=defences or arena.SAMPLE_DEFENCES,
            attacks=attacks or ("samples",),
            scoring=scoring,
            seed=choose_seed(seed),
        )
    arena.write_table(rows, out)
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows]))
        return
    width = max(len(row.defence) for row in rows)
    typer.echo(f"{'defence':<{width}}  utility  s_R,min  s_T,min")
    for row in rows:
        numbers = (row.utility, row.scores.s_R_min, row.scores.s_T_min)
        cells = "  ".join(f"{'–' if one is None else f'{one:.4f}':>7}" for one in numbers)
        typer.echo(f"{row.defence:<{width}}  {cells}{'' if row.valid else '  not valid'}")
    note(f"the table with every attack is in {out}")


def submit(file: FileArgument, data_set: DataSetOption = 1, as_json: JsonOption = False) -> None:
    """Submit obfuscated traces, and print the receipt.

    Example:
      tracearena contest client submit obftraces.csv --data-set 1
    """
    _submit_file(f"uploads/obfuscated/{data_set}", file, as_json)


def attack(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A .csv, .csv.gz or Parquet file.")
    ] = None,
    target: Annotated[
        str | None, typer.Argument(metavar="TEAM", help="The team that is attacked, such as 002.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--all", help="Submit every attack of this folder; the official names say which is which."
        ),
    ] = None,
    data_set: DataSetOption = 1,
    kind: KindOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit an attack on a team, or a folder of attacks, and print the receipts.

    Example:
      tracearena contest client attack etable.csv 002
    """
    if folder is not None:
        if file is not None:
            raise ParameterError(f"{file}: use either FILE and TEAM, or --all FOLDER, not both")
        _submit_folder(folder, as_json)
        return
    if file is None or target is None:
        raise ParameterError("name the attack and its target: FILE and TEAM, or --all FOLDER")
    _submit_file(
        f"uploads/attack/{_check_team_number(target)}/{data_set}/{_choose_kind(file, kind)}", file, as_json
    )


def status(as_json: JsonOption = False) -> None:
    """Show announcements, answers, the phase, your data sets, the teams you may attack, and your submissions.

    Example:
      tracearena contest client status
    """
    from tracearena.contest.phases import name_phase

    with _open_client() as client:
        names = (
            "contest",
            "phase",
            "me",
            "data_sets",
            "targets",
            "submissions",
            "announcements",
            "questions",
        )
        found = {name: client.get(name) for name in names}
    if as_json:
        typer.echo(json.dumps(found))
        return
    phase = found["phase"]
    until = f", until {phase['next_change']}" if phase["next_change"] else ""
    for one in found["announcements"]:
        typer.echo(_format_announcement(one))
    for one in found["questions"]:
        typer.echo(_format_question(one))
    typer.echo(f"team {_format_team(found['me'])}")
    typer.echo(f"{name_phase(phase)}{until}; the server's clock: {phase['now']}")
    rules = found["contest"]["rules"]
    for one in found["data_sets"]:
        what = "your data set" + _format_challenge(one["number"], rules)
        typer.echo(f"{what}: {_describe_defence(one)}; {one['uploads_left']} uploads left")
    for one in found["targets"]:
        what = f"target {_format_team(one)}{_format_challenge(one['data_set'], rules)}"
        typer.echo(f"{what}: {one['uploads_left']} uploads left")
    if phase["attacks"] == "open" and not found["targets"]:
        typer.echo("no targets yet: the judge releases them after it has checked the last upload")
    for one in found["submissions"]:
        typer.echo(_format_upload(one, rules))


def ask(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question, at most 2,000 characters.")],
    as_json: JsonOption = False,
) -> None:
    """Ask the organiser something; `contest client status` shows the answer.

    Example:
      tracearena contest client ask "May we use maps?"
    """
    from tracearena.server.client import ask_question

    with _open_client() as client:
        asked = ask_question(client, text)
    typer.echo(json.dumps(asked) if as_json else _format_question(asked))


def watch(
    every: Annotated[
        float, typer.Option("--every", min=0.2, max=3_600, help="Seconds between requests.")
    ] = 2.0,
) -> None:
    """Wait until every submission has a verdict, and print each change and announcement.

    Example:
      tracearena contest client watch --every 10
    """
    with _open_client() as client:
        rules = client.get("contest")["rules"]
        said: dict[int, str] = {}
        heard: set[int] = set()
        while True:
            for one in client.get("announcements"):
                if one["id"] not in heard:
                    heard.add(one["id"])
                    typer.echo(_format_announcement(one))
            found = client.get("submissions")
            for one in found:
                if said.get(one["id"]) != one["state"]:
                    said[one["id"]] = one["state"]
                    typer.echo(_format_upload(one, rules))
            # An attack is scored when its phase is over: nothing more becomes of it now.
            if all(
                one["state"] in FINAL or (one["state"] == "checked" and one["target"] is not None)
                for one in found
            ):
                return
            time.sleep(every)


def receipts(as_json: JsonOption = False) -> None:
    """Check that the judge's signed lists contain every receipt stored on this machine.

    A receipt is stored when this client submits a file. A list is published when its phase is closed. The
    exit status is 1 if a receipt is missing from its list or differs from it.

    Example:
      tracearena contest client receipts
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
            typer.echo("no receipts are stored on this machine")
    if any(one.is_wrong for one in found):
        raise typer.Exit(1)


def board(as_json: JsonOption = False) -> None:
    """Show the scores that are public now.

    Example:
      tracearena contest client board
    """
    with _open_client() as client:
        found = client.get("board")
    if as_json:
        typer.echo(json.dumps(found))
        return
    print_scores(found)


def print_scores(found: dict[str, Any]) -> None:
    """Print awards and board, or the names of the teams while no scores are public."""
    names = {one["team"]: _format_team(one) for one in found["names"]}
    snapshot = found["snapshot"]
    if snapshot is None:
        typer.echo("no scores are public yet; teams: " + ", ".join(names.values()))
        return
    for award in snapshot.get("awards", ()):
        winners = " and ".join(names.get(team, team) for team in award["winners"]) or "nobody"
        typer.echo(f"{award['title']}: {winners}")
    rules = {"data_sets": max((row["data_set"] for row in snapshot["board"]), default=1)}
    for row in snapshot["board"]:
        scores = (
            f"{name} {row[name]:.4f}" for name in ("utility", "s_R_min", "s_T_min") if row[name] is not None
        )
        who = names.get(row["team"], row["team"]) + _format_challenge(row["data_set"], rules)
        typer.echo(f"{who}: {', '.join(scores)}")


def _format_team(one: dict[str, Any]) -> str:
    """Return number and name of a team, or one of them if they are the same."""
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
        note("it arrived after the end of the phase: it is stored, but does not count")


def _submit_folder(folder: Path, as_json: bool) -> None:
    """Hand in a folder of attacks; one that is refused keeps no other from being taken."""
    from tracearena.server.client import ServerRefused, find_attacks, save_receipt, upload

    done: list[dict[str, Any]] = []
    with _open_client() as client:
        for path, place in find_attacks(folder, client.get("me")["team"]):
            try:
                with show_progress(path.name):
                    receipt = upload(client, place, path)
                save_receipt(client.url, receipt)
                done.append({"file": path.name, "receipt": receipt})
                said = f"receipt {receipt['id']}" + (", late: it does not count" if receipt["late"] else "")
            except (ServerRefused, FileError) as error:
                done.append({"file": path.name, "error": str(error)})
                said = f"REFUSED: {error}"
            if not as_json:
                typer.echo(f"{path.name}: {said}")
    if as_json:
        typer.echo(json.dumps(done))
    if any("error" in one for one in done):
        raise typer.Exit(2)


@contextmanager
def _open_client() -> Iterator[Client]:
    require_extra("client")
    from tracearena.server.client import Client, read_login

    login = read_login()
    with Client(login.url, login.token) as client:
        yield client


def _describe_defence(one: dict[str, Any]) -> str:
    """Return the utility of the submission that counts, and whether it is valid."""
    if one["utility"] is None:
        return "no valid submission yet"
    return _format_utility(one["utility"], one["threshold"])


def _format_utility(utility: float, threshold: float) -> str:
    """Say a utility, and plainly if it is not enough.

    >>> _format_utility(0.71, 0.7), _format_utility(0.5, 0.7)
    ('utility 0.7100', 'utility 0.5000, NOT VALID: it must be at least 0.7')
    """
    said = f"utility {utility:.4f}"
    return said if utility >= threshold else f"{said}, NOT VALID: it must be at least {threshold:g}"


def _format_announcement(one: dict[str, Any]) -> str:
    """Say what was announced, its times as the server has them."""
    said = one["text"]
    if one["point"] is not None:
        whose = f" for team {one['team']}" if one["team"] else ""
        said = f"{one['point']} is now {one['moved_to']}{whose}" + (f": {said}" if said else "")
    elif one["question"] is not None:
        said = f"Question: {one['question']}\nAnswer: {said}"
    return "\n".join([f"ANNOUNCEMENT of {one['made_at']}", *_indent(said)])


def _format_question(one: dict[str, Any]) -> str:
    """Say what the team asked, and the answer if there is one."""
    said = [f"QUESTION of {one['asked_at']}", *_indent(one["text"])]
    if one["answer"] is None:
        return "\n".join([*said, "  no answer yet"])
    return "\n".join([*said, f"  ANSWER of {one['answered_at']}", *_indent(one["answer"])])


def _indent(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


def _format_challenge(number: int, rules: dict[str, Any]) -> str:
    """Return which challenge a data set is for, in brackets, where teams defend two.

    >>> _format_challenge(2, {"data_sets": 2}), _format_challenge(1, {"data_sets": 1})
    (' (TRP)', '')
    """
    from tracearena.contest.data import PURPOSES

    return f" ({PURPOSES[number - 1]})" if rules["data_sets"] > 1 else ""


def _format_upload(one: dict[str, Any], rules: dict[str, Any]) -> str:
    target = f" of {one['target']}" if one["target"] else ""
    what = f"{one['kind']}{target}{_format_challenge(one['data_set'], rules)}"
    said = f"{one['id']:>5}  {what}: {one['state']}"
    if one.get("utility") is not None:
        said += f", {_format_utility(one['utility'], rules['utility_threshold'])}"
    # A verdict has one line per wrong row, and its first line is the reason as well.
    why = one["verdict"]["reason"] if one.get("verdict") else one.get("reason") or ""
    return said + "".join(f"\n       {line}" for line in why.splitlines())


def _choose_kind(file: Path, kind: str | None) -> str:
    """Return the kind of an attack: the given one, or that of the header of a CSV file."""
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
            raise FileError.whole(file, "is not a complete gzip file", "bad-gzip") from None
    found = _HEADERS.get(header.strip(b'\xef\xbb\xbf\r\n"'))
    if found is None:
        raise ParameterError(
            f"{file}: the first line does not show what the file is; use --kind {' or '.join(_KINDS)}"
        )
    return found


def _check_team_number(team: str) -> str:
    if not (team.isascii() and team.isdigit() and len(team) == 3):
        raise ParameterError.of("team", team, "three digits, such as 002")
    return team
