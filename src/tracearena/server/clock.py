"""The one clock of a contest: UTC, to the microsecond, and never behind what the contest has seen.

Everything that depends on the time asks `now`. The judges write the time down every few seconds; where the
machine's clock goes back, the contest's time stands still until the machine has caught up. In a simulated
contest the clock is driven: it shows the time that stands in a file, or goes on from there, and the pages
say so.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

VARIABLE = "TRACEARENA_CLOCK"
"""Names the file of a driven clock; only a simulated contest sets it, and only for what it starts itself."""
WRITE_DELAY = timedelta(minutes=1)
"""The judge closes a phase this long after its end."""
_RECORD_INTERVAL = timedelta(seconds=5)
_CACHE_S = 1.0
"""For this long a process uses the highest time that it has read, so that a page asks the database once."""
_LEAP_S = 60.0
"""A clock that moves by more than this against the machine's steady clock has leapt."""


def now() -> datetime:
    """Return the contest's time: what the clock shows, but never less than the contest has seen."""
    highest = _read_highest()
    return read_clock() if highest is None else max(read_clock(), highest)


def read_clock() -> datetime:
    """Return what the clock shows, whatever the contest has seen."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return datetime.now(UTC)
    at, *since = map(datetime.fromisoformat, Path(path).read_text().split())
    return (at + (machine_now() - since[0]) if since else at).astimezone(UTC)


def machine_now() -> datetime:
    """Return the machine's own time, which nobody drives."""
    return datetime.now(UTC)


def record_time() -> None:
    """Write down what the clock shows, so that nobody goes behind it any more; judges do so at every look.

    What this process has read before does not count: somebody may have set the contest's time back since.
    """
    from django.db.models import Q

    from tracearena.server.models import Contest

    at = read_clock()
    behind = Q(seen_at__isnull=True) | Q(seen_at__lt=at - _RECORD_INTERVAL)
    if Contest.objects.filter(behind, pk=1).update(seen_at=at):
        clear_time_cache()


def clear_time_cache() -> None:
    """Forget the highest time that this process has read, after it was written."""
    _highest_cache.clear()


@dataclass
class LeapDetector:
    """Tells whether the machine's clock can be believed: a leap counts once it has lasted for a minute.

    A wrong clock that shows next year for a second would otherwise close every phase. The measure is the
    machine's steady clock, which nobody sets and which runs on while the machine sleeps.
    """

    _offset_s: float | None = None
    _new_offset_s: float | None = None
    _leapt_at_s: float = 0.0

    def is_steady(self, shown_s: float, steady_s: float) -> bool:
        """Whether the clock goes on as before.

        Parameters
        ----------
        shown_s
            What the clock shows, in seconds.
        steady_s
            What the steady clock shows, in seconds.
        """
        offset_s = shown_s - steady_s
        if self._offset_s is None or abs(offset_s - self._offset_s) <= _LEAP_S:
            self._offset_s, self._new_offset_s = offset_s, None
            return True
        if self._new_offset_s is None or abs(offset_s - self._new_offset_s) > _LEAP_S:
            self._new_offset_s, self._leapt_at_s = offset_s, steady_s
        if steady_s - self._leapt_at_s < _LEAP_S:
            return False
        self._offset_s, self._new_offset_s = offset_s, None
        return True

    def is_steady_now(self) -> bool:
        """Whether the machine's clock goes on as before; a driven one is always believed."""
        if is_driven():
            return True
        return self.is_steady(machine_now().timestamp(), time.clock_gettime(time.CLOCK_BOOTTIME))


def is_over(end: datetime) -> bool:
    """Whether everything that came before the end of a phase is in the database.

    What came in the last moment is written down a moment later, so the judge waits for a minute; a
    driven clock stands still meanwhile, and nothing is to be waited for.
    """
    return now() >= find_closing_time(end)


def find_closing_time(end: datetime) -> datetime:
    """Return when the judge closes a phase that ends at a moment."""
    return end if is_driven() else end + WRITE_DELAY


_highest_cache: dict[str, tuple[float, datetime | None]] = {}
"""By the folder of the contest: when the highest time was read, on the monotonic clock, and what it was."""


def _read_highest() -> datetime | None:
    """Return the highest time that the contest has seen; None before there is a contest."""
    from django.apps import apps
    from django.conf import settings

    if not apps.ready or not settings.CONTEST_FOLDER.path.is_dir():
        return None
    key = str(settings.CONTEST_FOLDER.path)
    read_s, highest = _highest_cache.get(key, (float("-inf"), None))
    if time.monotonic() - read_s >= _CACHE_S:
        from tracearena.server.models import Contest

        highest = Contest.objects.filter(pk=1).values_list("seen_at", flat=True).first()
        _highest_cache[key] = time.monotonic(), highest
    return highest


def is_driven() -> bool:
    """Whether somebody sets the clock by hand."""
    return VARIABLE in os.environ


def is_stopped() -> bool:
    """Whether the clock shows the same time until somebody sets it again."""
    return is_driven() and len(Path(os.environ[VARIABLE]).read_text().split()) == 1


def set_driven(path: Path, at: datetime, *, runs: bool = False) -> None:
    """Put a driven clock to a time; a reader sees the old or the new one, never half of it.

    Parameters
    ----------
    path
        The clock's file.
    at
        What it shows from now on.
    runs
        Whether it goes on from there as the machine's own clock does; otherwise it stands still.
    """
    following = path.with_name(f".{path.name}.next")
    following.write_text(" ".join(one.astimezone(UTC).isoformat() for one in (at, machine_now())[: 1 + runs]))
    following.replace(path)
