"""How users of tables of any size get pseudonyms: they change places through the disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracearena.cli._cluster import joined
from tracearena.cli._console import note, release_seed
from tracearena.cli._id_tables import keep, kept_already, refuse_to_replace
from tracearena.cli._reading import ReadingOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracearena.streams import Table
    from tracearena.streams.survey import Survey
    from tracearena.traces import IdTable

Pseudonyms = Callable[[], "NDArray[Any]"]
"""Tells the pseudonyms, ascending, once the order of users is drawn."""


@dataclass(frozen=True)
class Asked:
    """Where release and ID table go, what is drawn, and how the release is written."""

    out: Path
    id_table: Path
    again: bool
    seed: int | None
    to: str | None
    cluster: str | None
    resume: bool


def pseudonymise(
    context: typer.Context,
    reading: ReadingOptions,
    file: Path,
    asked: Asked,
    write: Callable[..., None],
    *,
    users: int = 1,
) -> dict[str, Any]:
    """Shuffle the users of a table through the disk, with the values of all at once; say what was written.

    Parts hold users in the order of their pseudonyms, so that neither their names nor the times at which they
    were written tell how users stood before. The ID table is there before the release gets its name; one that
    a run killed in between has left stays as it is, with its salt.

    Parameters
    ----------
    write
        Writes the release, from what is read, where it is and where it goes; its pseudonyms; and the options
        of `_streams.through`.
    users
        Every part but the last has a multiple of so many users.
    """
    from tracearena import streams
    from tracearena.arena.pseudonyms import shuffled_ids
    from tracearena.engine import seed_sequence
    from tracearena.files.atomic import replacing_all

    drawn: list[IdTable] = []
    kept: dict[str, Any] = {}

    def arrange(table: Table[Any], found: Survey, scratch: Path, root: Any) -> Table[Any]:
        order, secret = shuffled_ids(found.user_ids, seed=root)
        if asked.resume:
            kept.update(kept_already(secret, asked.id_table))
        if not (kept or asked.again):
            refuse_to_replace(asked.id_table)
        drawn.append(secret)
        return streams.shuffled(table, found, order, scratch, users=users)

    def sealed() -> None:
        if kept:
            return
        with replacing_all(), ExitStack() as stack:
            kept.update(keep(stack, drawn[-1], asked.id_table))

    workers = joined(context, asked.cluster)
    if asked.cluster is not None and asked.cluster.startswith("tcp://"):
        note("warning: who is who goes to the workers unencrypted; tls:// keeps it from those who listen")
    with replacing_all() if asked.to is None else ExitStack():
        write(
            reading,
            file,
            asked.out,
            lambda: drawn[-1].pseudonyms,
            to=asked.to,
            cluster=workers,
            resume=asked.resume,
            depends_on=("pseudonymise", asked.seed),
            root=seed_sequence(release_seed(asked.seed)),
            arrange=arrange,
            sealed=sealed,
        )
    return {"file": str(asked.out), **kept}
