"""The page of the documentation that compares the findings of the papers with our numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tracearena.checks import require_choice
from tracearena.errors import ParameterError
from tracearena.papers import claim_rows, claim_rows_geo, claim_rows_synthesis
from tracearena.papers.published_claims import (
    HOLDS,
    HOLDS_NOT,
    SHOWN,
    UNMEASURED,
    UNTRIED,
    ClaimRow,
    CommandRun,
    read_run,
)

_HEAD = """# Findings of the papers

<!-- Written by `tracearena findings --page`. -->

Every figure, table and stated finding of the [five papers](../reference/papers.md), with the command that
tests it, our number, the published one, and whether it holds. Run the commands in a folder with the
[published data](../reference/datasets.md); without `--data` a command uses the simulated city, which is
not the city of the paper. Rows that cannot be tested here name the missing data.

A limit is a number of the paper, another number of the same run where the paper compares two, or follows from
the spread of a number over seeds, teams or halves of the people. Limits stand in parentheses next to our
number. A row is "shown, not tested" if the paper has neither a number nor a comparison to test, or if the
statement cannot fail.

The numbers under "here" were printed by the commands and are stored with version and seed in
`src/tracearena/papers/measured`; none of them is typed by hand. Remarks next to a
verdict are ours. `tracearena findings --measure TEXT --data DATA --record FOLDER` runs the commands that
contain a text again, and `tracearena findings --page FILE` writes this page.
"""

_IN_SUM = {
    HOLDS: "hold",
    HOLDS_NOT: "do not hold",
    SHOWN: "are shown, not tested",
    UNTRIED: "cannot be tried here",
    UNMEASURED: "are not measured",
}


def iterate_claims(
    folder: Path | None = None, only: str | None = None
) -> Iterator[tuple[str, ClaimRow, CommandRun | None]]:
    """Yield every row, or those of one paper, with what its command printed, if it was run."""
    if only is not None:
        require_choice("paper", only, tuple(PAPERS))
    for paper, (_, rows) in PAPERS.items():
        if only not in (None, paper):
            continue
        for row in rows:
            yield paper, row, None if row.command is None else read_run(row.command, folder)


def select_commands(texts: Sequence[str], folder: Path | None = None) -> list[str]:
    """Return the commands with one of the texts in them; "missing" asks for those never run."""
    known = {row.command: run for _, row, run in iterate_claims(folder) if row.command is not None}
    found = [
        command
        for command, run in known.items()
        if any(text in command or (text == "missing" and run is None) for text in texts)
    ]
    if not found and "missing" not in texts:
        raise ParameterError(f"no command contains {' or '.join(map(repr, texts))}")
    return found


def claim_to_dict(paper: str, row: ClaimRow, run: CommandRun | None) -> dict[str, Any]:
    """Return a row as plain values."""
    return {
        "paper": paper,
        "where": row.item,
        "states": row.states,
        "command": None if row.command is None else f"tracearena {row.command}",
        "here": row.ours(run),
        "published": row.published,
        "verdict": row.verdict(run),
        "missing": row.missing,
        "note": row.note,
        "seed": None if run is None else run.seed,
        "version": None if run is None else run.version,
    }


def format_claims_page(folder: Path | None = None) -> str:
    """Return the page."""
    found = list(iterate_claims(folder))
    count = Counter(row.verdict(run) for paper, row, run in found if paper != "ours")
    sums = [f"{count[verdict]} {words}" for verdict, words in _IN_SUM.items() if count[verdict]]
    parts = [_HEAD, f"Of the {sum(count.values())} rows of the papers: {', '.join(sums)}."]
    for paper, (heading, _) in PAPERS.items():
        parts += ["", f"## {heading}", "", "| where | what it says | command | here | published | verdict |"]
        parts.append("|---|---|---|---|---|---|")
        parts += [_format_line(row, run) for name, row, run in found if name == paper]
    return "\n".join(parts) + "\n"


def _format_line(row: ClaimRow, run: CommandRun | None) -> str:
    command = "" if row.command is None else f"`tracearena {row.command}`"
    verdict = f"**{row.verdict(run)}**" if row.verdict(run) == HOLDS_NOT else row.verdict(run)
    why = f"missing: {row.missing}" if row.missing else row.note
    cells = (
        row.item,
        row.states,
        command,
        row.ours(run),
        row.published,
        f"{verdict}: {why}" if why else verdict,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# All rows, by paper.


PAPERS: dict[str, tuple[str, tuple[ClaimRow, ...]]] = {
    "samples": ("The sample program of 2019 [samples]", claim_rows.SAMPLES_CLAIMS),
    "contest": ("The contest and PPMTF+ [contest]", claim_rows.CONTEST_CLAIMS),
    "ppmtf": ("PPMTF [ppmtf]", claim_rows_synthesis.PPMTF_CLAIMS),
    "geo": ("GPS traces [geo-ind]", claim_rows_geo.GEO_CLAIMS),
    "sglt": ("Fake traces [sglt]", claim_rows_synthesis.SGLT_CLAIMS),
    "ours": ("Other figures", claim_rows.OWN_CLAIMS),
}
"""Key of a paper → its heading and its rows."""
