"""The one clock of a contest: UTC, to the microsecond.

Everything that hangs on the time asks here. In a rehearsal the clock is driven: it shows the time that
stands in a file, or goes on from there, and the pages say so.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

VARIABLE = "TRACEARENA_CLOCK"
"""Names the file of a driven clock; only a rehearsal sets it, and only for what it starts itself."""
_WRITTEN_DOWN = timedelta(minutes=1)


def now() -> datetime:
    """Return the contest's time."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return datetime.now(UTC)
    at, *since = map(datetime.fromisoformat, Path(path).read_text().split())
    return (at + (machine_now() - since[0]) if since else at).astimezone(UTC)


def machine_now() -> datetime:
    """Return the machine's own time, by which leases run out and signs of life are dated.

    Nobody drives it: a rehearsal that jumps over a week takes no job from a worker.
    """
    return datetime.now(UTC)


def is_over(end: datetime) -> bool:
    """Whether everything that came before the end of a phase is in the database.

    What came in the last moment is written down a moment later, so the judge waits for a minute; a
    driven clock stands still meanwhile, and nothing is to be waited for.
    """
    return now() >= end + (timedelta(0) if is_driven() else _WRITTEN_DOWN)


def is_driven() -> bool:
    """Whether somebody sets the clock by hand."""
    return VARIABLE in os.environ


def stands_still() -> bool:
    """Whether the clock shows the same time until somebody sets it again."""
    return is_driven() and len(Path(os.environ[VARIABLE]).read_text().split()) == 1


def set_driven(path: Path, at: datetime, *, runs: bool = False) -> None:
    """Put a driven clock to a time; whoever reads it sees the old or the new one, never half of it.

    Parameters
    ----------
    path
        The clock's file.
    at
        What it shows from now on.
    runs
        Whether it goes on from there as the machine's own clock does; otherwise it stands still.
    """
    beside = path.with_name(f".{path.name}.next")
    beside.write_text(" ".join(one.astimezone(UTC).isoformat() for one in (at, machine_now())[: 1 + runs]))
    beside.replace(path)
