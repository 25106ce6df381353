"""What an audit is: the file, the answers to three questions, usefulness, and a verdict."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.audit import words
from tracearena.audit.crowds import Crowd
from tracearena.audit.inference import Inference
from tracearena.audit.linkability import Linkability
from tracearena.audit.settings import Choice, Settings
from tracearena.audit.shares import Record, Share
from tracearena.audit.singling_out import SinglingOut
from tracearena.audit.synthetic import Synthetic
from tracearena.audit.usefulness import Usefulness
from tracearena.audit.verdict import Light, Light3, light, worst
from tracearena.audit.weeks import Week
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import different
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import local_seconds_time


@dataclass(frozen=True)
class FileFacts(Record):
    """What was audited; the digest says that it was this file and no other."""

    name: str
    sha256: str
    kind: str
    people: int
    events: int
    places: int
    days: int


@dataclass(frozen=True)
class Risks(Record):
    """The three questions; None is not answered yet."""

    singling_out: SinglingOut | None = None
    linkability: Linkability | None = None
    inference: Inference | None = None

    @property
    def measured(self) -> dict[str, list[tuple[str, Share | None]]]:
        """The shares by which each question is judged."""
        singled, linked, inferred = self.singling_out, self.linkability, self.inference
        return {
            "singling_out": [("found", None if singled is None else singled.headline)],
            "linkability": [("linked", None if linked is None else linked.headline)],
            "inference": [("home", None)] if inferred is None else inferred.measured,
        }


@dataclass(frozen=True)
class Audit(Record):
    """How risky a file is, or how safe a release of it.

    Attributes
    ----------
    file, release
        What was audited, and what is released of it.
    before, after
        The risks of the file as it is under pseudonyms, and of the release.
    synthetic
        What a synthetic release betrays.
    usefulness
        What the data is good for.
    crowd
        How many people are where, no group smaller than the owner allows.
    weeks
        Three people's weeks, where the owner asked for them.
    choices
        What was chosen for this file, and why.
    settings, seed, version
        How it was measured; the same again gives the same numbers.
    complete
        False if the work was stopped before its end.
    """

    file: FileFacts
    release: FileFacts | None
    before: Risks
    after: Risks | None
    synthetic: Synthetic | None
    usefulness: Usefulness | None
    crowd: Crowd
    weeks: tuple[Week, ...]
    choices: tuple[Choice, ...]
    settings: Settings
    seed: int
    version: str
    complete: bool = False

    @property
    def risks(self) -> Risks:
        """The risks that the verdict is about: those of the release, if there is one."""
        return self.before if self.after is None else self.after

    @property
    def lights(self) -> tuple[Light, ...]:
        """The three lights."""
        measured = self.risks.measured if self.judges_risks else {}
        if self.synthetic is not None:
            measured = {
                question: [*measured.get(question, ()), *found]
                for question, found in self.synthetic.measured.items()
            }
        linked = self.risks.linkability
        at_least = {"linkability"} if linked is not None and linked.at_least else set()
        return tuple(
            light(question, found, self.settings.limit(question), at_least=question in at_least)
            for question, found in measured.items()
        )

    @property
    def judges_risks(self) -> bool:
        """Whether the risks count: those of the file as it is do not, where the release is of nobody."""
        return self.synthetic is None or self.after is not None

    @property
    def verdict(self) -> Light3:
        """The worst of the lights; grey where nobody was looked for."""
        return worst(self.lights)

    @property
    def headline(self) -> str:
        """The verdict in one line, the same on the terminal, on the page and in JSON."""
        return words.VERDICTS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return every number as plain values for JSON."""
        said = {
            "verdict": self.verdict,
            "headline": self.headline,
            "lights": [one.to_dict() for one in self.lights],
        }
        return said | super().to_dict()

    def __repr__(self) -> str:
        told = ", ".join(f"{one.question} {one.colour}" for one in self.lights)
        return f"<Audit of {self.file.name}: {self.verdict} ({told})>"

    def _repr_html_(self) -> str:
        from tracearena.audit.summary import summary_html

        return summary_html(self)


def facts_of(traces: Any, kind: str, given: Any, zone: str | None = None) -> FileFacts:
    """Return what a file is; days are those of the zone."""
    is_gps = isinstance(traces, GpsTraces)
    if is_gps:
        days = len(different(local_seconds_time(traces.time_ms, zone or "UTC") // DAY_S))
    else:
        days = len(different(traces.clock.day_of(traces.instants)))
    return FileFacts(
        name=_name_of(given),
        sha256=_digest(traces, given),
        kind=words.KINDS[kind],
        people=int((np.diff(traces.offsets) > 0).sum()),
        events=len(traces),
        places=0 if is_gps else len(traces.places),
        days=days,
    )


def _name_of(given: Any) -> str:
    return Path(given).name if isinstance(given, (str, PathLike)) else "traces"


def _digest(traces: Any, given: Any) -> str:
    """Return the SHA-256 of a file's bytes, or of the columns of traces."""
    found = hashlib.sha256()
    if isinstance(given, (str, PathLike)) and Path(given).is_file():
        with open(given, "rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
        return found.hexdigest()
    columns: tuple[str, ...] = (
        "offsets",
        "time_ms",
        "latitude",
        "longitude",
        "instants",
        "place_index",
        "codes",
    )
    for column in columns:
        if hasattr(traces, column):
            found.update(np.ascontiguousarray(getattr(traces, column)).tobytes())
    return found.hexdigest()
