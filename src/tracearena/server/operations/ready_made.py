"""A contest of files that somebody else has made: official names, everybody's traces there and alike."""

from __future__ import annotations

from pathlib import Path

from tracearena.contest import Charter, ContestPlan, data
from tracearena.contest.data import REGIONS, TIMES
from tracearena.errors import DataError, FileError
from tracearena.formats import pwscup

_KINDS = ("reftraces", "orgtraces")


def lay_out(files: Path, charter: Charter, place: Path) -> None:
    """Lay official files out as a contest by files, each of them read and checked first.

    Parameters
    ----------
    files
        The folder with them: of `contest data`, or one with all files side by side.
    charter
        What the contest is; every data set of it must be there.
    place
        A new folder.
    """
    source = files / data.JUDGE if (files / data.JUDGE).is_dir() else files
    wanted = _wanted(charter)
    missing = [name for name in (REGIONS, TIMES, *wanted) if not (source / name).is_file()]
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise FileError.whole(source, f"lacks {shown}", "missing-files")
    _require_alike(source, wanted, charter)
    judge = place / data.JUDGE
    judge.mkdir(parents=True, mode=0o700)
    (place / data.EVERYBODY).mkdir()
    data.copy_files((source / name for name in (REGIONS, TIMES, *wanted)), judge, private=True)
    data.write_frame(place, charter)


def _wanted(charter: Charter) -> list[str]:
    return [
        str(data.official(kind, team, n + 1)) for team, n in ContestPlan.of(charter).sets() for kind in _KINDS
    ]


def _require_alike(source: Path, wanted: list[str], charter: Charter) -> None:
    """Refuse traces of other people, days or times than the rules and the table of times say."""
    rules, places = charter.rules, pwscup.read_places(source / REGIONS)
    times = pwscup.read_times(source / TIMES)
    if (times.reference_days, times.original_days) != (rules.reference_days, rules.original_days):
        raise DataError(
            f"{source / TIMES}: has {times.reference_days} + {times.original_days} days, and the rules say "
            f"{rules.reference_days} + {rules.original_days}: they must agree"
        )
    for name in wanted:
        traces = pwscup.read_traces(source / name, places, times)
        days = rules.reference_days if name.startswith("reftraces") else rules.original_days
        events = rules.users * days * times.clock.instants_per_day
        if traces.n_users != rules.users or traces.n_events != events:
            raise DataError(
                f"{source / name}: has {traces.n_users:,} users and {traces.n_events:,} events; by the rules "
                f"it must have {rules.users:,} and {events:,}"
            )
