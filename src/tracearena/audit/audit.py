"""`assess`: every question about one file, or about a release of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena import __version__
from tracearena.algorithms import Kind, catalogue
from tracearena.audit import texts
from tracearena.audit.data import AuditData, AuditRelease
from tracearena.audit.inference import Circle, detect_circle, get_mechanism_circle, infer
from tracearena.audit.linkability import (
    LinkResult,
    attack_columns,
    attack_orders,
    build_linkage_task,
    find_linkable_people,
    link,
)
from tracearena.audit.observations import count_crowds, find_point_spots, select_weeks
from tracearena.audit.results import Audit, Risks, collect_facts
from tracearena.audit.settings import AuditChoice, Settings
from tracearena.audit.singling_out import single_out
from tracearena.audit.synthetic import assess_synthetic
from tracearena.audit.texts import PEOPLE_TRIED, build_circle_choice, build_proof_choice
from tracearena.audit.usefulness import assess_usefulness
from tracearena.engine import child_seed, fresh_seed, report, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.io.alignment import align_tables
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces
from tracearena.traces.time import LocalTime

DEFENCES: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator")
_SINGLING, _LINKING, _INFERRING, _USING, _SYNTHETIC = range(5)


def assess(
    traces: Any,
    released: Any = None,
    *,
    timezone: str | None = None,
    id_table: IdTable | None = None,
    mechanism: Any = None,
    synthetic: bool = False,
    others: Any = None,
    attacks: Sequence[str] = (),
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
    mechanism
        The defence that made the release, or its name: attackers who know it are tried, too.
    synthetic
        Whether the release is synthetic: nobody in it is a person of the original.
    others
        Traces of people who were not used for a synthetic release, to test membership.
    attacks
        Names of further attacks, such as ``my_module:MyLinker``.
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
    *_, last = assess_in_stages(
        traces, released, timezone=timezone, id_table=id_table, mechanism=mechanism, synthetic=synthetic,
        others=others, attacks=attacks, seed=seed, settings=Settings(**settings),
    )  # fmt: skip
    return last


def assess_in_stages(
    traces: Any,
    released: Any = None,
    *,
    settings: Settings,
    timezone: str | LocalTime | None = None,
    id_table: IdTable | None = None,
    mechanism: Any = None,
    synthetic: bool = False,
    others: Any = None,
    seed: int | None = None,
    attacks: Sequence[str] = (),
    people: NDArray[np.int64] | None = None,
    on_cells: bool = False,
    before: Risks | None = None,
    orders: tuple[Any, Any] = (None, None),
    columns: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
    source: Any = None,
    release_source: Any = None,
) -> Iterator[Audit]:
    """Do the same, and give what is finished after each stage, so that a stopped audit keeps it.

    Parameters
    ----------
    settings
        How to measure.
    people
        Users of the original who are looked for; None for all.
    on_cells
        Whether the release lies at the cells that the audit makes of the file's places.
    before
        The risks of the file as it is, where they are known already.
    orders
        Users of the original and pseudonyms of the release by their first rows, where files have them.
    columns
        Columns of the original and of the release that are neither time nor place (`read_column_values`).
    source, release_source
        The files that the traces were read from, for their names and digests.
    """
    # A name that is misspelt is refused before any work.
    for name in attacks:
        catalogue.create(name, "reidentification")
    number = fresh_seed() if seed is None else seed
    root = seed_sequence(number)
    measured = settings.in_force()
    original = load_traces(traces)
    file = AuditData.of(original, measured, timezone)
    material = file.with_coarse_places() if on_cells else file
    given = None if released is None else load_traces(released, released=True)
    if synthetic and given is None:
        raise ParameterError("synthetic says what the release is; there is none")
    if mechanism is not None and (given is None or synthetic):
        raise ParameterError("mechanism says what made a release of real people; there is none")
    defence = catalogue.create(mechanism, DEFENCES) if isinstance(mechanism, str) else mechanism
    facts = None
    if given is not None:
        name = released if release_source is None else release_source
        facts = collect_facts(given, material.kind, name, material.zone)
    audit = Audit(
        file=collect_facts(original, material.kind, traces if source is None else source, material.zone),
        release=facts,
        before=Risks(),
        after=None,
        synthetic=None,
        usefulness=None,
        crowd=count_crowds(material.coarse, measured.smallest_group),
        weeks=(),
        choices=material.choices,
        settings=measured,
        seed=number,
        version=__version__,
    )
    yield audit
    steps = _StepCounter(2 if given is not None and not synthetic else 1)
    published, known = None, AttackerKnowledge()
    if given is not None and not synthetic:
        material, published = material.release(given, id_table)
    everybody, everything = material, published
    as_it_is = file if on_cells else material
    if people is not None:
        choices = (one for one in audit.choices if one.name != PEOPLE_TRIED)
        audit = replace(audit, choices=(*choices, build_proof_choice(len(people))))
        material, as_it_is = material.take_people(people), as_it_is.take_people(people)
        published = None if published is None else replace(published, at=published.at[people])
    if published is not None:
        known = AttackerKnowledge.of(material, published, defence)
        if id_table is not None:
            known = known._replace(orders=tuple(attack_orders(material, published, id_table, *orders)))
        by_columns = attack_columns(material, *columns, id_table)
        known = known._replace(orders=(*known.orders, *by_columns))
        audit = replace(audit, after=Risks(), choices=(*audit.choices, *known.choices(defence)))
        yield audit
    if measured.show_people and not synthetic:
        audit = replace(audit, weeks=select_weeks(material, published or material.release_unchanged()))
    of_file = AttackerKnowledge(orders=tuple(attack_columns(as_it_is, columns[0], columns[0])))
    unchanged = _assess_risks(
        as_it_is, as_it_is.release_unchanged(), measured, root, steps, of_file, attacks, unchanged=True
    )
    for stage in unchanged if before is None else [before]:
        audit = replace(audit, before=stage)
        yield audit
    if published is not None:
        for stage in _assess_risks(material, published, measured, root, steps, known, attacks):
            audit = replace(audit, after=stage)
            yield audit
    if synthetic:
        # Compared with the original at the cells for heavy attacks.
        made = _align_places(material, given)
        outside = None if others is None else _align_places(material, load_traces(others))
        found = assess_synthetic(material.coarse, made, outside, measured, child_seed(root, _SYNTHETIC))
        audit, events = replace(audit, synthetic=found), ObfuscatedTraces.from_traces(made)
        everything = AuditRelease(events, events, None, np.full(material.exact.n_users, -1))
    useful = assess_usefulness(file, everybody, everything, child_seed(root, _USING))
    steps.done()
    yield replace(audit, usefulness=useful, complete=True)


class AttackerKnowledge(NamedTuple):
    """What attackers know about the making of a release.

    Attributes
    ----------
    defence
        The defence, which they run themselves.
    circle
        The privacy zones of GPS points.
    orders
        Whom the order of the released file, or a further column of it, gives away.
    """

    defence: Any = None
    circle: Circle | None = None
    orders: tuple[LinkResult, ...] = ()

    @classmethod
    def of(cls, material: AuditData, published: AuditRelease, defence: Any) -> AttackerKnowledge:
        """Take what a defence says; without one, look for zones as the owner of both files can."""
        if material.points is None or published.points is None:
            return cls(defence)
        if defence is not None:
            return cls(defence, get_mechanism_circle(defence))
        homes, _ = find_point_spots(material.points, material.zone)
        return cls(None, detect_circle(material.points, published.points, published.at, homes))

    def choices(self, defence: Any) -> list[AuditChoice]:
        """Say what attackers know."""
        named = [] if defence is None else [AuditChoice("mechanism", str(defence), texts.TOLD)]
        return [*named, *([] if self.circle is None else [build_circle_choice(self.circle)])]


class _StepCounter:
    """Counts the steps that are done, and reports progress."""

    def __init__(self, rounds: int) -> None:
        self._total = rounds * (2 + len(catalogue.names("reidentification"))) + 1
        self._done = 0

    def done(self) -> None:
        self._done += 1
        report(min(self._done, self._total), self._total)


def _assess_risks(
    material: AuditData,
    published: AuditRelease,
    settings: Settings,
    root: np.random.SeedSequence,
    steps: _StepCounter,
    known: AttackerKnowledge,
    attacks: Sequence[str],
    *,
    unchanged: bool = False,
) -> Iterator[Risks]:
    singled = single_out(material, published, settings, child_seed(root, _SINGLING))
    steps.done()
    risks = Risks(singling_out=singled)
    yield risks
    cut = build_linkage_task(material, published, settings, child_seed(root, _LINKING))
    left_out = int((np.diff(material.exact.offsets) > 0).sum()) - int(
        find_linkable_people(material, published).sum()
    )
    linked, ranked = link(
        cut, child_seed(root, _LINKING), left_out=left_out, defence=known.defence, attacks=attacks,
        orders=known.orders, unchanged=unchanged, tell=steps.done,
    )  # fmt: skip
    risks = replace(risks, linkability=linked)
    yield risks
    inferred = infer(material, published, cut, ranked, settings, child_seed(root, _INFERRING), known.circle)
    steps.done()
    yield replace(risks, inference=inferred)


def _align_places(material: AuditData, given: Any) -> Traces:
    if isinstance(given, GpsTraces):
        return material.on_cells(given)
    if not isinstance(given, Traces):
        raise DataError("synthetic traces, and those of other people, are events at places or GPS points")
    original, made = align_tables(material.exact, given)
    if original.places != material.exact.places:
        raise DataError("the synthetic release has places that the original has not")
    return material.to_coarse_places(made)


def load_traces(given: Any, *, released: bool = False) -> Any:
    """Return traces as they are; read a file or a data frame."""
    if isinstance(given, (Traces, GpsTraces)) or (released and isinstance(given, ObfuscatedTraces)):
        return given
    if isinstance(given, ObfuscatedTraces):
        raise DataError("an audit starts from original traces; obfuscated ones are a release of them")
    from tracearena.io import read

    return read(given).traces
