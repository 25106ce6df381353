"""Training traces in a folder of Parquet files that only the workers of a cluster read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np

from tracearena.engine import Cluster, Progress, blocks
from tracearena.engine.cluster import shares
from tracearena.errors import FileError
from tracearena.formats import Choices, Report, partitions
from tracearena.formats import read as read_traces
from tracearena.formats.report import Dropped
from tracearena.synthesis.ppmtf.training import USERS_PER_DIGEST, TrainingFrame
from tracearena.traces import Places, Traces


@dataclass(frozen=True)
class Files:
    """Some files, and how to read them."""

    paths: tuple[str, ...]
    places: Places
    choices: Choices

    def read(self) -> list[tuple[Traces, Report]]:
        """Read one after the other."""
        return [self._read(path) for path in self.paths]

    def _read(self, path: str) -> tuple[Traces, Report]:
        try:
            return read_traces(path, "table", places=self.places, choices=self.choices)
        except FileNotFoundError:
            raise FileError.whole(path, "is not where a worker looks for it", "missing") from None


class PartitionedTraces:
    """Traces of very many users, a range of them in each file.

    The workers read the files twice: once to find out who is in them, and once to keep the users
    they work on. The process that trains never holds the events. Every worker must reach the folder
    under the same name.

    Parameters
    ----------
    folder
        A folder of Parquet files as ``tracearena convert --to partitions`` writes them: events with
        dates, users in ascending order from file to file, and so many users in every file but the
        last that blocks of users do not cross files.
    places
        The places; no file knows them all.
    cluster
        Whose workers read.
    choices
        Which instants to make of the times.
    progress
        Called with files looked at and all.

    Attributes
    ----------
    frame
        What is to be known of all users together.
    report
        What was read, and dropped, in all files.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        places: Places,
        cluster: Cluster,
        *,
        choices: Choices | None = None,
        progress: Progress | None = None,
    ) -> None:
        paths = partitions.files_of(folder)
        if not paths:
            raise FileError.whole(folder, "holds no .parquet files", "empty")
        self.files = Files(tuple(str(path.resolve()) for path in paths), places, choices or Choices())
        found = cluster.run(_look(self.files), blocks(len(paths), 1), progress=progress)
        parts = [part for part, _ in found]
        _check(paths, parts)
        self.frame = TrainingFrame.joined(parts)
        self.report = _summed(folder, [report for _, report in found])
        self._first_users = np.cumsum([0, *(part.n_users for part in parts)]).tolist()

    def shared_out(self, workers: int) -> list[tuple[int, Files]]:
        """Return, for each worker, the number of its first user, and its files."""
        return [
            (self._first_users[first], self._some(first, stop))
            for first, stop in shares(len(self.files.paths), workers)
        ]

    def _some(self, first: int, stop: int) -> Files:
        return Files(self.files.paths[first:stop], self.files.places, self.files.choices)


def _look(files: Files) -> Callable[..., tuple[TrainingFrame, Report]]:
    def work(block: int, first: int, stop: int) -> tuple[TrainingFrame, Report]:
        [(traces, report)] = Files(files.paths[first:stop], files.places, files.choices).read()
        return TrainingFrame.of(traces), report

    return work


def _check(paths: list[Path], parts: list[TrainingFrame]) -> None:
    """Refuse files whose users, put one after the other, would not be in order or cut into whole blocks."""
    for path, part in zip(paths, parts, strict=True):
        if part.clock.first_day is None:
            raise FileError.whole(path, "has numbers for times; a cluster reads dates only", "no-dates")
        if part.n_users % USERS_PER_DIGEST and path != paths[-1]:
            problem = f"has {part.n_users:,} users, which is no multiple of {USERS_PER_DIGEST:,}"
            raise FileError.whole(path, f"{problem}; convert --to partitions makes such files", "users")
    for path, (before, part) in zip(paths[1:], pairwise(parts), strict=True):
        last, first = before.user_ids[-1], part.user_ids[0]
        if before.user_ids.dtype.kind != part.user_ids.dtype.kind or not last < first:
            problem = f"begins with user {first!s}, after user {last!s}"
            raise FileError.whole(path, f"{problem}: users must ascend from file to file", "users")


def _summed(folder: str | PathLike[str], reports: list[Report]) -> Report:
    """Add up what was read and dropped; single rows are not named."""
    total = Report(str(folder), "partitions", sum(report.rows for report in reports))
    for reason in dict.fromkeys(dropped.reason for report in reports for dropped in report.dropped):
        same = [dropped for report in reports for dropped in report.dropped if dropped.reason == reason]
        total.dropped.append(Dropped(reason, sum(dropped.count for dropped in same)))
    for report in reports:
        for what, count in report.noticed.items():
            total.notice(what, count)
    return total
