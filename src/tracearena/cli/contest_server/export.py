"""``tracearena contest export``: a contest that is over, in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, check_outputs, note, print_result
from tracearena.cli.contest_server.opening import (
    ContestArgument,
    JudgeKeyOption,
    PassphraseFdOption,
    opened,
    read_key,
)


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(export)


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
    contest = opened(folder)
    from tracearena.server.judge.export import export as write
    from tracearena.server.judge.scoring import Bench

    manifest = write(
        Bench(contest, read_key(folder, judge_key, passphrase_fd)), out, include_originals=include_originals
    )
    files, originals = len(manifest["sha256"]), manifest["originals"]
    print_result({"archive": str(out), "files": files, "originals": originals}, as_json)
    note(f"anybody can judge it again: tracearena contest verify {out}")
