"""`assess`: every question about one file, or about a release of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tracearena import __version__
from tracearena.algorithms import catalogue
from tracearena.audit import words
from tracearena.audit.crowds import Crowd, crowds
from tracearena.audit.inference import Inference, infer
from tracearena.audit.linkability import Linkability, halves, link, tried
from tracearena.audit.material import Material, Published
from tracearena.audit.settings import Choice, Settings
from tracearena.audit.shares import Record
from tracearena.audit.singling_out import SinglingOut, single_out
from tracearena.audit.synthetic import Synthetic, assess_synthetic
from tracearena.audit.usefulness import Usefulness, assess_usefulness
from tracearena.audit.verdict import Light, Light3, light, worst
from tracearena.engine import child_seed, fresh_seed, report, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.intake.alignment import aligned
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces

_SINGLING, _LINKING, _INFERRING, _USING, _SYNTHETIC = range(5)


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

    def lights(self, red: float) -> tuple[Light, ...]:
        """Judge each question."""
        singled, linked, inferred = self.singling_out, self.linkability, self.inference
        return (
            light("singling_out", [("found", None if singled is None else singled.headline)], red),
            light("linkability", [("linked", None if linked is None else linked.headline)], red),
            light("inference", [("home", None)] if inferred is None else inferred.measured, red),
        )


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
        red = self.settings.red
        made = self.synthetic
        if made is None:
            return self.risks.lights(red)
        return (
            light("singling_out", [("copies", made.copies)], red),
            light("linkability", [("reidentified", made.reidentified), ("copies", made.copies)], red),
            light("inference", [("membership", made.membership), ("copies", made.copies)], red),
        )

    @property
    def verdict(self) -> Light3:
        """The worst of the lights; grey where one is missing and none is bad."""
        return worst(self.lights)

    def to_dict(self) -> dict[str, Any]:
        """Return every number as plain values for JSON."""
        said = {"verdict": self.verdict, "lights": [one.to_dict() for one in self.lights]}
        return said | super().to_dict()

    def __repr__(self) -> str:
        told = ", ".join(f"{one.question} {one.colour}" for one in self.lights)
        return f"<Audit of {self.file.name}: {self.verdict} ({told})>"

    def _repr_html_(self) -> str:
        from tracearena.audit.summary import summary_html

        return summary_html(self)


def assess(
    traces: Any,
    released: Any = None,
    *,
    timezone: str | None = None,
    id_table: IdTable | None = None,
    synthetic: bool = False,
    others: Any = None,
    seed: int | None = None,
    **settings: Any,
) -> Audit:
    """Measure how risky traces are, or how safe a release of them is.

    Parameters
    ----------
    traces, released
        Traces, GPS traces, a data frame or a file; the release may also be obfuscated traces.
    timezone
        Zone of the hours of GPS points; guessed from the coordinates if omitted.
    id_table
        Who is who, where the release has other ids than the original.
    synthetic
        Whether the release is synthetic: nobody in it is a person of the original.
    others
        Traces of people who were not used for a synthetic release, to test membership.
    seed
        Of all randomness; drawn and recorded if omitted.
    **settings
        Fields of `Settings`.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> audit = assess(simulate(users=20, days=4, seed=1), seed=1, draws=2)
    >>> audit.verdict
    'red'
    """
    *_, last = stages(
        traces, released, timezone=timezone, id_table=id_table, synthetic=synthetic, others=others,
        seed=seed, settings=Settings(**settings),
    )  # fmt: skip
    return last


def stages(
    traces: Any,
    released: Any = None,
    *,
    settings: Settings,
    timezone: str | None = None,
    id_table: IdTable | None = None,
    synthetic: bool = False,
    others: Any = None,
    seed: int | None = None,
    source: Any = None,
    release_source: Any = None,
) -> Iterator[Audit]:
    """Do the same, and give what is finished after each stage, so that a stopped audit keeps it.

    Parameters
    ----------
    settings
        How to measure.
    source, release_source
        The files that the traces were read from, for their names and digests.
    """
    number = fresh_seed() if seed is None else seed
    root = seed_sequence(number)
    measured = settings.in_force()
    original = taken(traces)
    material = Material.of(original, measured, timezone)
    given = None if released is None else taken(released, released=True)
    if synthetic and given is None:
        raise ParameterError("synthetic says what the release is; there is none")
    audit = Audit(
        file=_facts(original, material.kind, traces if source is None else source),
        release=None
        if given is None
        else _facts(given, material.kind, released if release_source is None else release_source),
        before=Risks(),
        after=None,
        synthetic=None,
        usefulness=None,
        crowd=crowds(material.coarse, measured.smallest_group),
        choices=material.choices,
        settings=measured,
        seed=number,
        version=__version__,
    )
    yield audit
    steps = _Steps(2 if given is not None and not synthetic else 1)
    published = None
    if given is not None and not synthetic:
        material, published = material.release(given, id_table)
        audit = replace(audit, after=Risks())
    for stage in _stages_of(material, material.as_it_is(), measured, root, steps):
        audit = replace(audit, before=stage)
        yield audit
    if published is not None:
        for stage in _stages_of(material, published, measured, root, steps):
            audit = replace(audit, after=stage)
            yield audit
    if synthetic:
        audit, published = _with_synthetic(audit, material, given, others, measured, root)
    useful = assess_usefulness(material, published, child_seed(root, _USING))
    steps.done()
    yield replace(audit, usefulness=useful, complete=True)


class _Steps:
    """Counts what is done, for whoever shows progress."""

    def __init__(self, rounds: int) -> None:
        self._total = rounds * (2 + len(catalogue.names("reidentification"))) + 1
        self._done = 0

    def done(self) -> None:
        self._done += 1
        report(min(self._done, self._total), self._total)


def _stages_of(
    material: Material, published: Published, settings: Settings, root: np.random.SeedSequence, steps: _Steps
) -> Iterator[Risks]:
    singled = single_out(material, published, settings, child_seed(root, _SINGLING))
    steps.done()
    risks = Risks(singling_out=singled)
    yield risks
    cut = halves(material, published, settings, child_seed(root, _LINKING))
    left_out = int((np.diff(material.exact.offsets) > 0).sum()) - int(tried(material, published).sum())
    linked, ranked = link(cut, child_seed(root, _LINKING), left_out=left_out, tell=steps.done)
    risks = replace(risks, linkability=linked)
    yield risks
    inferred = infer(material, published, cut, ranked, settings, child_seed(root, _INFERRING))
    steps.done()
    yield replace(risks, inference=inferred)


def _with_synthetic(
    audit: Audit,
    material: Material,
    given: Any,
    others: Any,
    settings: Settings,
    root: np.random.SeedSequence,
) -> tuple[Audit, Published]:
    """Compare with the original on the grid for heavy attacks."""
    made = _on_the_ground_of(material, given)
    strangers = None if others is None else _on_the_ground_of(material, taken(others))
    found = assess_synthetic(material.coarse, made, strangers, settings, child_seed(root, _SYNTHETIC))
    released = ObfuscatedTraces.unchanged(made)
    return replace(audit, synthetic=found), Published(
        released, released, None, np.full(material.exact.n_users, -1)
    )


def _on_the_ground_of(material: Material, given: Any) -> Traces:
    if isinstance(given, GpsTraces):
        return material.on_grid(given)
    if not isinstance(given, Traces):
        raise DataError("synthetic traces, and those of other people, are events at places or GPS points")
    original, made = aligned(material.exact, given)
    if original.places != material.exact.places:
        raise DataError("the synthetic release has places that the original has not")
    return material.coarsened(made)


def taken(given: Any, *, released: bool = False) -> Any:
    """Return traces as they are; read a file or a data frame."""
    if isinstance(given, (Traces, GpsTraces)) or (released and isinstance(given, ObfuscatedTraces)):
        return given
    if isinstance(given, ObfuscatedTraces):
        raise DataError("an audit starts from original traces; obfuscated ones are a release of them")
    from tracearena.formats import read

    return read(given).traces


def _facts(traces: Any, kind: str, given: Any) -> FileFacts:
    is_gps = isinstance(traces, GpsTraces)
    if is_gps:
        days = len(np.unique(traces.time_ms // 86_400_000))
    else:
        days = len(np.unique(traces.clock.day_of(traces.instants)))
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
