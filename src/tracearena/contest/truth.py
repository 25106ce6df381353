"""What the judge knows of one data set: the secrets that every score hangs on."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.board import Target
from tracearena.contest.handout import live_file
from tracearena.contest.live import others, read_live
from tracearena.errors import DataError, FileError
from tracearena.formats import pwscup
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

if TYPE_CHECKING:
    from tracearena.contest.desk import Desk


class Truth:
    """What the judge knows of one data set, read when it is asked for."""

    def __init__(self, desk: Desk, target: Target) -> None:
        self.desk, self.target = desk, target

    def file(self, kind: str) -> Path:
        """Return one of the judge's own files, which must be there."""
        found = self.desk.intake.path(kind, self.target)
        if found is None:
            team, number = self.target
            raise DataError(f"{self.desk.intake.judge}: has no {kind} of team {team}, data set {number}")
        return found

    @property
    def has_original(self) -> bool:
        """Whether the traces of both times are there."""
        paths = [self.desk.intake.path(kind, self.target) for kind in ("orgtraces", "reftraces")]
        return None not in paths

    @property
    def files(self) -> list[Path]:
        """The files that every score of this data set hangs on."""
        return [self.file("orgtraces"), *self.desk.frame]

    @cached_property
    def original(self) -> Traces:
        """The traces that were defended."""
        return pwscup.read_traces(self.file("orgtraces"), self.desk.places, self.desk.times)

    @cached_property
    def reference(self) -> Traces:
        """The traces that everybody knows."""
        return pwscup.read_traces(self.file("reftraces"), self.desk.places, self.desk.times)

    @cached_property
    def id_table(self) -> IdTable:
        """Who is who."""
        return pwscup.read_id_table(self.file("ptable"))

    @cached_property
    def live(self) -> NDArray[Any] | None:
        """The users of the live board, if the rules have one: some of the ID table, and not all."""
        path = self.live_file
        if path is None:
            return None
        found = read_live(path)
        known = np.isin(found, self.id_table.user_ids)
        if not known.all() or len(found) == len(self.id_table):
            problem = f"its users must be some of {self.file('ptable').name}, and not all"
            raise FileError.whole(path, problem, "unknown-user")
        return found

    @property
    def live_file(self) -> Path | None:
        """Where the users of the live board stand; None where the rules have no such board."""
        if self.desk.rules.mode != "live":
            return None
        path = self.desk.intake.judge / live_file(int(self.target[0]), self.target[1])
        if not path.is_file():
            raise FileError.whole(path, "is not there, and the rules have a live board", "missing")
        return path

    @property
    def among(self) -> NDArray[Any] | None:
        """The users who decide the final scores; None for all."""
        return None if self.live is None else others(self.id_table.user_ids, self.live)

    @property
    def among_files(self) -> list[Path]:
        """The files that say who decides."""
        return [] if self.live_file is None else [self.file("ptable"), self.live_file]

    @cached_property
    def public(self) -> ObfuscatedTraces:
        """What was released."""
        repeated = self.desk.rules.utility_rule == "2019"
        return pwscup.read_anonymized(
            self.file("pubtraces"), self.desk.places, self.desk.times, allow_repetition=repeated
        )

    @property
    def is_released(self) -> bool:
        """Whether there are released traces and their ID table."""
        return None not in (
            self.desk.intake.path("ptable", self.target),
            self.desk.intake.path("pubtraces", self.target),
        )
