"""The result of a contest as files: tables for people and programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.contest.account import summary
from tracearena.contest.awards import Award, attack_sums, totals
from tracearena.contest.board import Board
from tracearena.contest.records import AttackKind
from tracearena.contest.refusal import Refusal
from tracearena.contest.score_tables import matrix_table, totals_table, utility_table
from tracearena.files import replacing, write_csv

MATRICES = {
    AttackKind.REIDENTIFICATION: "reidentification.csv",
    AttackKind.TRACE_INFERENCE: "trace_inference.csv",
}


def write_results(
    folder: Path,
    board: Board,
    awards: Sequence[Award],
    refused: Sequence[Refusal] = (),
    preliminary: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write board, matrices, sums, awards and what was refused, and return the files.

    ``utility.csv`` and the two matrices have the layout that `read_score_tables` reads.
    """
    columns = ["team", "role", "data_set", "utility", "valid", "s_R_min", "s_T_min"]
    rows = [row.to_dict() for row in board.rows]
    for row in rows:
        row["valid"] = str(row["valid"]).lower()
    written = [write_csv(folder / "board.csv", columns, ([row[name] for name in columns] for row in rows))]
    written.append(write_csv(folder / "utility.csv", *utility_table(board)))
    written += [write_csv(folder / name, *matrix_table(board, kind)) for kind, name in MATRICES.items()]
    written.append(write_csv(folder / "sums.csv", *_sums(board)))
    written.append(write_csv(folder / "awards.csv", ["award", "place", "team", "value"], _standings(awards)))
    if board.rules.overall_total:
        written.append(write_csv(folder / "totals.csv", *totals_table(totals(board, preliminary))))
    refusals = ([one.file, one.code, one.reason] for one in refused)
    written.append(write_csv(folder / "refused.csv", ["file", "code", "reason"], refusals))
    with replacing(folder / "board.json") as file:
        file.write((json.dumps(summary(board, awards, refused), indent=1, allow_nan=False) + "\n").encode())
    return [*written, folder / "board.json"]


def _sums(board: Board) -> tuple[list[str], list[list[Any]]]:
    by_kind = [attack_sums(board, kind) for kind in MATRICES]
    return ["team", "reidentification", "trace_inference"], [
        [team, *(sums[team] for sums in by_kind)] for team in board.roster.teams
    ]


def _standings(awards: Sequence[Award]) -> list[list[Any]]:
    return [[award.name, place.place, place.team, place.value] for award in awards for place in award.places]
