"""Read released traces: the contest's files, tables, and plain traces in any format."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tracearena.checks import accepts
from tracearena.errors import FileError, ParameterError
from tracearena.files.io import refuse_pipe
from tracearena.io import pwscup
from tracearena.io.formats import released_table
from tracearena.io.inputs import OBFUSCATED, Input
from tracearena.io.options import Choices, ReadOptions, select_options
from tracearena.io.places import read_places, read_places_beside
from tracearena.io.readers import read
from tracearena.io.report import Reading, Report
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces
from tracearena.traces.time import exact_local_seconds

BY_EVENT = "a release with changed times, such as that of SwapTimes, cannot be compared event by event"
_File = str | PathLike[str]


class ReleasedOptions(ReadOptions, total=False):
    """Further keywords of `read_released`, in addition to those of `read`; all may be omitted.

    Attributes
    ----------
    allow_repetition
        Accept a place twice in a cell of the contest's files, as the scorer of 2019 did.
    max_bytes, max_listed_ids
        Limits of the contest's obfuscated traces (`pwscup.read_obfuscated`).
    """

    allow_repetition: bool
    max_bytes: int | None
    max_listed_ids: int | None


@accepts(ReleasedOptions)
def read_released(
    path: _File,
    original: Traces | None = None,
    *,
    format: str | None = None,
    places: _File | Places | None = None,
    clock: Clock | None = None,
    **options: Unpack[ReleasedOptions],
) -> Reading[ObfuscatedTraces]:
    """Read obfuscated or anonymized traces.

    The file may be one of the contest, a table from `write` (`released_table`), or traces in any format,
    whose events then count as released at their places.

    Parameters
    ----------
    original
        The traces that were obfuscated. The result then has exactly their events in the same order, with the
        same list of places; a file with other events is refused. Required for the contest's obfuscated traces
        (``reg_id``), which name no users.
    places
        The possible places, or their file; by default those of the original, those in the same folder, or
        those in the file.
    clock
        For a table, the instants of a day; by default those of the original, or one per hour.
    format
        For traces in any format, as in `read`.
    **options
        Keywords of `ReleasedOptions`: for the contest's files ``times``, ``allow_repetition``, ``max_bytes``
        and ``max_listed_ids``; for traces all keywords of `read`.

    Examples
    --------
    >>> import tempfile
    >>> from tracearena.io import write
    >>> where = Places([40.7, 40.8], [-74.0, -73.9])
    >>> original = Traces.from_dense([[0, 1]], where, Clock(instants_per_day=24))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write(ObfuscatedTraces.like(original, [1, -1]), f"{folder}/released.csv")
    ...     read_released(files[0], original).traces.cells()
    [[1], []]
    """
    refuse_pipe(path)
    source = path if isinstance(path, Input) else Input(path, asked_format=format)
    if not source.path.exists():
        raise FileError.whole(path, "No such file or directory", "missing-file")
    known = read_places(places) if isinstance(places, (str, PathLike)) else places
    header = source.contest_header if format in (None, "pwscup") else None
    if header is None and format == "pwscup" and original is not None:
        header = OBFUSCATED
    laid_out = {"no_header" if name == "header" else name: True for name in source.layout.option_names}
    caps = {"max_bytes": options.get("max_bytes"), "max_listed_ids": options.get("max_listed_ids")}
    raw = select_options(options, ReadOptions)
    times, choices = raw.pop("times", None), raw.pop("choices", None)
    if header != OBFUSCATED:
        _refuse_options(path, "files other than the contest's obfuscated traces", None, caps)
    if header is None and (format == released_table.FORMAT or (format is None and source.is_released_table)):
        _refuse_options(path, "released traces in a table", choices, {**raw, **laid_out, "times": times})
        if original is not None:
            known, clock = known or original.places, clock or original.clock
        reading = released_table.read_released_table(path, places=known, clock=clock)
    elif header is None:
        if original is not None:
            # The events of another file of the same data set are at the same places.
            choices, grid = choices or Choices(), original.places.grid
            if choices.grid is not None and grid is not None:
                choices = replace(choices, bounds=choices.bounds or grid.box)
            elif known is None:
                known = original.places
        raw["times"], raw["choices"] = times, choices
        traces, report = read(source, format, places=known, **raw).as_events()
        reading = Reading(ObfuscatedTraces.from_traces(traces), report)
    else:
        _refuse_options(path, "the contest's files", choices, {**raw, **laid_out})
        times = times or pwscup.find_times_file(path, places)
        repeats = options.get("allow_repetition", False)
        return _read_contest_release(path, header, original, known, times, repeats, caps)
    if original is None:
        return reading
    return Reading(match_original_events(reading.traces, original, path), reading.report)


def match_original_events(released: ObfuscatedTraces, original: Traces, path: _File) -> ObfuscatedTraces:
    """Return what is released as the original's events, in their order; refuse it if it has others.

    Times within an instant are those of the release.
    """
    position = {str(user): at for at, user in enumerate(released.user_ids.tolist())}
    order = np.array([position.pop(str(user), -1) for user in original.user_ids.tolist()], np.int64)
    if position:
        problem = f"has a user {next(iter(position))!r} who is not in the original"
        raise FileError.whole(
            path, f"{problem}; name the traces that it was made from with --original", "other-users"
        )
    there = released.take_users(order[order >= 0])
    lengths = np.zeros(original.n_users, np.int64)
    lengths[order >= 0] = np.diff(there.offsets)
    differ = np.flatnonzero(lengths != np.diff(original.offsets))
    if len(differ):
        user = int(differ[0])
        wanted = int(np.diff(original.offsets)[user])
        whose = original.user_ids[user].item()
        problem = f"has {lengths[user]:,} events of user {whose!r}, but the original has {wanted:,}"
        raise FileError.whole(path, f"{problem}; {BY_EVENT}", "other-events")
    days = (there.clock.first_day, original.clock.first_day)
    shift = 0
    if days[0] is not None and days[1] is not None:
        shift = (days[0] - days[1]).days * original.clock.instants_per_day
    apart = np.flatnonzero(there.instants + shift != original.instants)
    if len(apart) or (None in days and any(days)) or there.places != original.places:
        whose = original.user_ids[original.user_index[apart[0] if len(apart) else 0]].item()
        problem = f"has events of user {whose!r} at other times or places than the original"
        advice = f"read both with the same options, such as --interval and --grid; {BY_EVENT}"
        raise FileError.whole(path, f"{problem}; {advice}", "other-events")
    made = ObfuscatedTraces.like(original, there.codes, there.sets)
    if np.array_equal(exact_local_seconds(there), exact_local_seconds(original)):
        return made
    # Within their instants the times are others, such as rounded ones: those of the file count.
    return made.without_timestamps() if there.timestamps is None else made.with_timestamps(there.timestamps)


def _read_contest_release(
    path: _File,
    header: str,
    original: Traces | None,
    places: Places | None,
    times: _File | None,
    allow_repetition: bool,
    caps: dict[str, int | None],
) -> Reading[ObfuscatedTraces]:
    assumed = ""
    if header == OBFUSCATED:
        if original is None:
            raise ParameterError(f"{path}: has no users: name the original traces with --original")
        released = pwscup.read_obfuscated(path, original, allow_repetition=allow_repetition, **caps)
    else:
        if original is not None:
            problem = "has pseudonyms, which cannot be matched with the users of the original"
            raise FileError.whole(path, problem, "pseudonyms")
        known = read_places_beside(Path(path), "pwscup") if places is None else places
        clock = None if times is None else pwscup.read_times(times)
        released = pwscup.read_anonymized(path, known, clock, allow_repetition=allow_repetition)
        assumed = pwscup.DEFAULT_TIMES if clock is None else ""
    return Reading(released, Report(str(path), "pwscup", released.n_events, assumed=assumed))


def _refuse_options(path: _File, what: str, choices: Choices | None, options: dict[str, Any]) -> None:
    """Refuse options that are about raw traces."""
    usual = vars(Choices())
    given = {name for name, value in vars(choices or Choices()).items() if value != usual[name]}
    given |= {name for name, value in options.items() if value is not None}
    names = sorted(name.removesuffix("_s").replace("_", "-") for name in given)
    if names:
        verb = "does" if len(names) == 1 else "do"
        raise ParameterError(f"{path}: --{', --'.join(names)} {verb} not apply to {what}")
