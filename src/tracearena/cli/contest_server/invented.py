"""What contests with invented teams have in common: names, a clock that is driven, a key, a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tracearena.cli.contest_server.new import create

if TYPE_CHECKING:
    from tracearena.contest import Charter, ContestPlan, Schedule
    from tracearena.server.operations.create import Created

Put: TypeAlias = Callable[..., None]
"""Sets a driven clock: `put(at)`, or `put(at, runs=True)`."""


def charter_of(name: str, plan: ContestPlan, schedule: Schedule, **rules: Any) -> Charter:
    """Return a contest of the first teams of the cast, on people of the embedded city."""
    from dataclasses import replace

    from tracearena.contest import Charter, DataSource
    from tracearena.contest.sample_teams import players

    return Charter(
        name=name,
        teams=plan.teams,
        rules=replace(plan.rules(), **rules),
        schedule=schedule,
        names={f"{number:03d}": player.name for number, player in enumerate(players(plan.teams), 1)},
        data=DataSource(),
    )


@contextmanager
def driven(path: Path) -> Iterator[Put]:
    """Drive the clock of everything that is started inside."""
    from tracearena.server import clock

    clock.set_driven(path, datetime.now(UTC))
    os.environ[clock.VARIABLE] = str(path)
    try:
        yield lambda at, runs=False: clock.set_driven(path, at, runs=runs)
    finally:
        del os.environ[clock.VARIABLE]


def made(
    folder: Path, charter: Charter, write: Callable[[Path], object], database: str | None = None
) -> tuple[Created, bytes]:
    """Make a contest whose data somebody writes to a folder; return its links and the judge's key."""
    from tracearena.server.operations.create import out_of_sight
    from tracearena.server.store.crypto import read_judge_key
    from tracearena.server.store.database import require_empty

    require_empty(database)
    key = folder.with_name("judge-key")
    with out_of_sight() as place:
        write(place / "contest")
        links = create(folder, place / "contest", key, None, charter, database=database)
    return links, read_judge_key(key)
