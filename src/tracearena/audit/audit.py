"""`assess`: audit a file, or a release of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena import __version__
from tracearena.algorithms import Kind, catalogue
from tracearena.audit import texts
from tracearena.audit.data import AuditData, AuditInput, AuditRelease
from tracearena.audit.inference import Circle, detect_circle, get_mechanism_circle, infer
from tracearena.audit.linkability import (
    LinkResult,
    attack_columns,
    attack_orders,
    build_linkage_task,
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
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

DEFENCES: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator")
_SINGLING, _LINKING, _INFERRING, _USING, _SYNTHETIC = range(5)


def assess(traces: Any, released: Any = None, *, seed: int | None = None, **settings: Any) -> Audit:
    """Measure the privacy risk of traces, or of a release of them.

    Parameters
    ----------
    traces, released
        Traces, GPS traces, a data frame or a file; the release may also be obfuscated traces. If you know
        more about them, such as the defence or the ID table, give one `AuditInput` instead of both.
    seed
        Seed of all randomness; drawn and recorded if omitted.
    **settings
        Fields of `Settings`.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> audit = assess(simulate(users=20, days=4, seed=1), seed=1, draws=2)
    >>> audit.verdict
    'red'
    """
    if not isinstance(traces, AuditInput):
        given = AuditInput(traces, released)
    elif released is None:
        given = traces
    else:
        raise ParameterError("a release is given twice; name it in AuditInput only")
    *_, last = assess_in_stages(given, Settings(**settings), seed=seed)
    return last


@dataclass(frozen=True, eq=False)
class ProofScope:
    """What an audit that proves a release measures.

    Attributes
    ----------
    people
        Users of the original who are attacked; None for all.
    on_cells
        Whether the release has the cells that the audit makes of the places of the file.
    before
        The risks of the unprotected file, if they are already known.
    """

    people: NDArray[np.int64] | None = None
    on_cells: bool = False
    before: Risks | None = None


def assess_in_stages(
    given: AuditInput,
    settings: Settings,
    *,
    seed: int | None = None,
    scope: ProofScope = ProofScope(),
) -> Iterator[Audit]:
    """Do the same as `assess`, and yield the intermediate result after each stage."""
    # A name that is misspelt is refused before any work.
    for name in given.attacks:
        catalogue.create(name, "reidentification")
    number = fresh_seed() if seed is None else seed
    root = seed_sequence(number)
    measured = settings.in_force()
    original, synthetic = load_traces(given.traces), given.synthetic
    file = AuditData.of(original, measured, given.timezone)
    material = file.with_coarse_places() if scope.on_cells else file
    released = None if given.released is None else load_traces(given.released, released=True)
    if synthetic and released is None:
        raise ParameterError("synthetic needs released traces")
    defence = given.mechanism
    if defence is not None and (released is None or synthetic):
        raise ParameterError("mechanism needs released traces of real people")
    if isinstance(defence, str):
        defence = catalogue.create(defence, DEFENCES)
    source = given.traces if given.source is None else given.source
    facts = None
    if released is not None:
        name = given.released if given.release_source is None else given.release_source
        facts = collect_facts(released, material.kind, name, material.zone)
    audit = Audit(
        file=collect_facts(original, material.kind, source, material.zone),
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
    steps = _StepCounter(2 if released is not None and not synthetic else 1)
    published, known = None, AttackerKnowledge()
    if released is not None and not synthetic:
        material, published = material.release(released, given.id_table)
    everybody, everything = material, published
    as_it_is, people = file if scope.on_cells else material, scope.people
    if people is not None:
        choices = (one for one in audit.choices if one.name != PEOPLE_TRIED)
        audit = replace(audit, choices=(*choices, build_proof_choice(len(people))))
        material, as_it_is = material.take_people(people), as_it_is.take_people(people)
        published = None if published is None else replace(published, at=published.at[people])
    if published is not None:
        known = AttackerKnowledge.of(material, published, defence)
        if given.id_table is not None:
            orders = attack_orders(material, published, given.id_table, *given.orders)
            known = known._replace(orders=tuple(orders))
        by_columns = attack_columns(material, *given.columns, given.id_table)
        known = known._replace(orders=(*known.orders, *by_columns))
        audit = replace(audit, after=Risks(), choices=(*audit.choices, *known.choices(defence)))
        yield audit
    if measured.show_people and not synthetic:
        audit = replace(audit, weeks=select_weeks(material, published or material.release_unchanged()))
    columns, attacks = given.columns[0], given.attacks
    of_file = AttackerKnowledge(orders=tuple(attack_columns(as_it_is, columns, columns)), is_unchanged=True)
    unchanged = _assess_risks(as_it_is, as_it_is.release_unchanged(), measured, root, steps, of_file, attacks)
    for stage in unchanged if scope.before is None else [scope.before]:
        audit = replace(audit, before=stage)
        yield audit
    if published is not None:
        for stage in _assess_risks(material, published, measured, root, steps, known, attacks):
            audit = replace(audit, after=stage)
            yield audit
    if synthetic:
        # Compared with the original at the cells for heavy attacks.
        made = _align_places(material, released)
        outside = None if given.others is None else _align_places(material, load_traces(given.others))
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
    is_unchanged
        Whether the file is released as it is.
    """

    defence: Any = None
    circle: Circle | None = None
    orders: tuple[LinkResult, ...] = ()
    is_unchanged: bool = False

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
        """Return what attackers know."""
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
) -> Iterator[Risks]:
    singled = single_out(material, published, settings, child_seed(root, _SINGLING))
    steps.done()
    risks = Risks(singling_out=singled)
    yield risks
    cut = build_linkage_task(material, published, settings, child_seed(root, _LINKING))
    linked, ranked = link(
        cut, child_seed(root, _LINKING), defence=known.defence, attacks=attacks, orders=known.orders,
        unchanged=known.is_unchanged, tell=steps.done,
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
        raise DataError("the synthetic release has places that are not in the original")
    return material.to_coarse_places(made)


def load_traces(given: Any, *, released: bool = False) -> Any:
    """Return traces as they are; read a file or a data frame."""
    if isinstance(given, (Traces, GpsTraces)) or (released and isinstance(given, ObfuscatedTraces)):
        return given
    if isinstance(given, ObfuscatedTraces):
        raise DataError("an audit starts from original traces; obfuscated ones are a release of them")
    from tracearena.io import read

    return read(given).traces
