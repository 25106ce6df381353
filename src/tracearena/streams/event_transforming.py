"""Events of a table of any size on their way through: obfuscated, renamed or as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Obfuscator, validation
from tracearena.formats import released_table
from tracearena.formats import table as tables
from tracearena.intake.discretise import oddities
from tracearena.streams.portions import Table
from tracearena.streams.transforming import Change, draws_before, write_counted
from tracearena.streams.unfinished import Unfinished
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces.row_table import RowTable


def write_events(
    table: Table[Traces], out: Path, change: Change[Traces], *, unfinished: Unfinished | None = None
) -> dict[str, int]:
    """Change every portion and write the events; return how many there are, and what is odd about them."""
    return write_counted(table, out, change, _count_events, tables.text, unfinished=unfinished)


def write_released(
    table: Table[Traces],
    out: Path,
    change: Change[Traces],
    *,
    keeps_times: bool = True,
    unfinished: Unfinished | None = None,
) -> dict[str, int]:
    """Write what is released of every portion; return the same counts, and what became of the events.

    Parameters
    ----------
    keeps_times
        Whether the events of the release are the table's in their order.
    """

    def count(given: Traces, made: ObfuscatedTraces) -> dict[str, int]:
        fates = count_fates(given, made, keeps_times=keeps_times)
        return {"events": made.n_events, **fates, **oddities(given)}

    return write_counted(table, out, change, count, released_table.text, unfinished=unfinished)


def count_fates(given: Traces, made: ObfuscatedTraces, *, keeps_times: bool) -> dict[str, int]:
    """Count what became of events: how many were kept, moved, left out, generalised, deleted.

    Where times are changed nobody knows which event is which, and so neither which were moved.
    """
    kept = int((made.codes == given.place_index).sum()) if keeps_times else 0
    places = (
        {"kept": kept, "moved": int(made.is_single.sum()) - kept}
        if keeps_times
        else {"withheld": given.n_events - made.n_events}
    )
    return {**places, "generalised": int(made.is_set.sum()), "deleted": int(made.is_deleted.sum())}


def obfuscating(table: Table[Traces], defence: Obfuscator, root: np.random.SeedSequence) -> Change[Traces]:
    """Return what a defence makes of a portion: the same as if it had all of them."""
    before = draws_before(table, defence)

    def change(part: Traces, number: int) -> ObfuscatedTraces:
        first, total = int(before[number]), int(before[-1])
        return validation.transformed_part(defence, part, seed=root, first=first, total=total)

    return change


def under(pseudonyms: NDArray[Any]) -> Change[Any]:
    """Return what is released of a portion of a shuffled table: the same events under pseudonyms."""

    def change(part: RowTable, number: int) -> RowTable:
        return part.with_user_ids(pseudonyms[part.user_ids])

    return change


def write_anonymized(
    table: Table[ObfuscatedTraces],
    out: Path,
    change: Change[ObfuscatedTraces],
    *,
    unfinished: Unfinished | None = None,
) -> dict[str, int]:
    """Write released traces under other ids; return how many events there are."""
    return write_counted(table, out, change, _count_anonymized, released_table.text, unfinished=unfinished)


def _count_anonymized(given: ObfuscatedTraces, made: ObfuscatedTraces) -> dict[str, int]:
    return {"events": made.n_events}


def _count_events(given: Traces, made: Traces) -> dict[str, int]:
    return {"events": made.n_events, **oddities(given)}
