"""In which form results go out: as the contest's files, or as tables that keep all ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.traces import IdTable, ObfuscatedTraces, Traces

ToOption = Annotated[
    str | None,
    typer.Option(
        "--to", help="table (.csv, .parquet) or pwscup, the contest's files; as what is read if omitted."
    ),
]

ReleaseToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="table (.csv, .parquet) or pwscup, the contest's files; as what is read if omitted; "
        "partitions, a folder of parts.",
    ),
]


def form_of(out: Path, to: str | None, *, contest: bool) -> str:
    """Return ``table`` or ``pwscup``: as asked for, or as what was read is; a name .parquet is a table.

    Parameters
    ----------
    contest
        Whether what was read is of the contest.
    """
    from tracearena.formats.writing import TABLE_NAMES, format_of_name

    if to not in (None, "table", "pwscup"):
        raise ParameterError.of("--to", to, "table or pwscup")
    form = to or (format_of_name(out, like="pwscup") if contest else "table")
    if form != "pwscup" and not str(out).endswith(TABLE_NAMES):
        raise ParameterError(
            f"{out}: a table's name ends in {', '.join(TABLE_NAMES)}; --to names another form"
        )
    if form == "pwscup" and out.suffix == ".parquet":
        raise ParameterError(f"{out}: the contest's files are CSV; leave --to pwscup out, or name a .csv")
    return form


def write_obfuscated(released: ObfuscatedTraces, out: Path, form: str) -> None:
    """Write obfuscated traces; the contest's files of them name no users."""
    from tracearena.formats import pwscup, released_table

    (released_table.write if form == "table" else pwscup.write_obfuscated)(released, out)


def write_anonymized(released: ObfuscatedTraces, out: Path, form: str) -> None:
    """Write traces of pseudonyms."""
    from tracearena.formats import pwscup, released_table

    (released_table.write if form == "table" else pwscup.write_anonymized)(released, out)


def write_inferred_table(table: IdTable, out: Path, form: str) -> None:
    """Write a guess at who is who."""
    from tracearena.formats import pwscup
    from tracearena.formats.pseudonyms import write_who_is_who

    (write_who_is_who if form == "table" else pwscup.write_inferred_table)(table, out)


def write_inferred_traces(traces: Traces, out: Path, form: str) -> None:
    """Write a guess at who was where."""
    from tracearena.formats import pwscup, table

    (table.write if form == "table" else pwscup.write_inferred_traces)(traces, out)


def is_who_is_who(path: Path) -> bool:
    """Whether a table names pseudonyms beside users, which the contest's guesses do not."""
    from tracearena.formats.recognition import first_line
    from tracearena.intake.tables import columns_of_parquet, is_parquet

    if is_parquet(path):
        return columns_of_parquet(path) != ["user_id"]
    return "," in first_line(path)
