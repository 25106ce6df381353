"""The live board: on whom it is computed, when it changes, and how much of a score it shows.

Its users are drawn once for every target and fixed with the ID table (`tracearena.contest.commitment`).
The final scores are those of the other users, so whatever the board tells, it tells nothing of them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.pseudonyms import random_order
from tracearena.checks import require_number
from tracearena.contest.commitment import LIVE_HEADER, live_text
from tracearena.contest.phases import require_utc
from tracearena.contest.rules import Rules
from tracearena.engine import SeedLike
from tracearena.errors import DataError, Fault, FileError
from tracearena.files import read_bytes, replacing
from tracearena.traces._arrays import comparable

_HIGHEST = 2**31 - 1


def draw_live_users(user_ids: Any, share: float, *, seed: SeedLike = None) -> NDArray[Any]:
    """Draw the users of a target's live board, and return their ids, ascending.

    There are as many as the share says, to the nearest user; at least one is drawn and one left.

    Parameters
    ----------
    user_ids
        All users of the target, at least two.
    share
        Share of the users, between 0 and 1.
    seed
        None, for a real contest, draws by the operating system's cryptographic source and cannot be
        repeated. A seed is for experiments.

    Examples
    --------
    >>> len(draw_live_users(range(1, 11), 0.3))
    3
    """
    require_number("share", share, above=0, below=1)
    users = np.asarray(user_ids)
    if len(users) < 2:
        raise DataError(f"a live board needs two users or more, not {len(users)}: one to show, one to decide")
    count = min(max(round(share * len(users)), 1), len(users) - 1)
    return np.sort(users[random_order(len(users), seed)[:count]])


def live_users(rules: Rules, user_ids: Any, *, seed: SeedLike = None) -> NDArray[Any] | None:
    """Draw the users of a target's live board as the rules have it; None where they have no such board."""
    return draw_live_users(user_ids, rules.live_share, seed=seed) if rules.mode == "live" else None


def others(user_ids: Any, live: Any) -> NDArray[Any]:
    """Return the users who are not on the live board, and so decide the final scores.

    >>> others([1, 2, 3, 4], [3]).tolist()
    [1, 2, 4]
    """
    users = np.asarray(user_ids)
    return np.asarray(users[~np.isin(*comparable(users, np.asarray(live)))])


def refresh_at(rules: Rules, now: datetime) -> datetime:
    """Return when the board that is shown now was made: the last of the hours at or before now.

    >>> refresh_at(Rules(), datetime(2026, 5, 9, 14, 30, tzinfo=UTC)).isoformat()
    '2026-05-09T12:00:00+00:00'
    """
    moment = require_utc(now, "now")
    hours = rules.live_refresh_hours
    passed = [hour for hour in hours if hour <= moment.hour]
    day = moment.date() if passed else moment.date() - timedelta(days=1)
    return datetime.combine(day, time(passed[-1] if passed else hours[-1]), UTC)


def live_day(now: datetime) -> date:
    """Return the day (UTC) to which an answer counts that is scored on the board now."""
    return require_utc(now, "now").date()


def rounded(score: float, rules: Rules) -> float:
    """Return a score as the board shows it.

    >>> rounded(0.4567, Rules())
    0.46
    """
    return round(score, rules.live_decimals)


def write_live(path: Path, live: Any) -> None:
    """Write the users of a live board, for their owner's eyes alone; these bytes are fixed with the table."""
    with replacing(path, private=True) as file:
        file.write(live_text(live).encode())


def read_live(path: Path) -> NDArray[np.int32]:
    """Read the users of a live board (``live_user_id``): whole numbers, ascending."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    if not lines or lines[0] != LIVE_HEADER:
        raise FileError.whole(path, f"the header is not {LIVE_HEADER}", "wrong-header")
    if len(lines) == 1:
        raise FileError.whole(path, "names nobody", "empty-file")
    last = 0
    for row, cell in enumerate(lines[1:], 1):
        user = int(cell) if cell.isascii() and cell.isdigit() and len(cell) <= 10 else 0
        if not last < user <= _HIGHEST or cell != str(user):
            problem = "it must be a whole number, larger than the one before"
            raise FileError(path, [Fault(row, LIVE_HEADER, cell, problem, "not-a-number")])
        last = user
    return np.array(lines[1:], np.int32)
