"""`protect`: the most useful defence that holds, chosen on one half of the people and proved on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Kind, catalogue
from tracearena.arena.pseudonyms import pseudonymise, pseudonymise_users
from tracearena.audit.assessment import stages, taken
from tracearena.audit.candidates import candidates, needs_cells, synthetic_candidates
from tracearena.audit.material import Material
from tracearena.audit.records import Audit, Risks
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record, clopper_pearson
from tracearena.audit.trials import (
    Candidate,
    Trial,
    attack_candidate,
    betrayed,
    make_candidate,
    protected,
    with_membership,
)
from tracearena.audit.virtual_people import VirtualPeople, virtual_people
from tracearena.checks import require_number
from tracearena.engine import child_seed, fresh_seed, generator, report, seed_sequence
from tracearena.errors import DataError
from tracearena.intake.local_time import LocalTime
from tracearena.traces import GpsTraces, IdTable

MOST_PROOFS = 3
"""So many of the most useful are put to the proof; more would let luck decide."""
_DIVIDE, _CHOOSE, _PROVE, _VIRTUAL = range(4)
_PROTECTORS: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator", "synthesizer")

Publish = Callable[[Any, IdTable], tuple[Any, Any]]
"""Takes a release under pseudonyms and who is who, and returns what others will read: traces, and pseudonyms
by their first rows (or None)."""


@dataclass(frozen=True)
class Protection(Record):
    """What was tried, and what holds.

    Attributes
    ----------
    target
        The risk that the owner allows: the upper end of the 95 % interval of who is found again.
    trials
        Every defence on the people used for choosing; those that a more useful one made superfluous were
        not attacked.
    proofs
        Audits of releases, each on people who were not used for choosing, by the name of the defence.
    chosen
        The first defence whose release keeps all limits; None if none does.
    people
        How many people were used for choosing, and for proving.
    least_provable
        The least risk that so many people can prove, if nobody at all is found.
    seed
        Of everything measured.
    virtual
        What a release of people who never lived would be worth, and betray; only where nothing holds.
    """

    target: float
    trials: tuple[Trial, ...]
    proofs: dict[str, Audit]
    chosen: str | None
    people: tuple[int, int]
    least_provable: float
    seed: int
    virtual: VirtualPeople | None = None

    @property
    def proof(self) -> Audit | None:
        """The audit of the release of the chosen defence."""
        return None if self.chosen is None else self.proofs[self.chosen]

    @property
    def least(self) -> Trial | None:
        """The trial with the least risk, of those that every attack was run on; else of all."""
        known = [one for one in self.trials if one.risk is not None]
        whole = [one for one in known if not one.at_least]
        return min(whole or known, key=lambda one: one.risk.high, default=None)  # type: ignore[union-attr]


def protect(
    traces: Any,
    *,
    target: float = 0.05,
    defences: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    timezone: str | None = None,
    seed: int | None = None,
    **settings: Any,
) -> Protection:
    """Look for the most useful defence under which the strongest attack finds few people.

    Parameters
    ----------
    traces
        Original traces: events or GPS points, a file or a data frame.
    target
        Largest risk: the upper end of the 95 % interval of the share of people found again.
    defences
        Names of the catalogue, such as ``PL(1,1)+SwapTimes(1km,month)``; by default those that suit the file.
    attacks
        Names of further attacks, such as ``my_module:MyLinker``.
    timezone
        Zone of the hours of GPS points.
    seed
        Of everything that is measured; drawn itself and recorded if omitted.
    **settings
        Fields of `Settings`.
    """
    *_, last = searching(
        traces, target=target, defences=defences, attacks=attacks, timezone=timezone, seed=seed,
        settings=Settings(**settings),
    )  # fmt: skip
    return last


def searching(
    traces: Any,
    *,
    target: float,
    settings: Settings,
    defences: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    timezone: str | LocalTime | None = None,
    seed: int | None = None,
    source: Any = None,
    release_source: Any = None,
    original_order: Any = None,
    compare: bool = True,
    publish: Publish | None = None,
) -> Iterator[Protection]:
    """Do the same, and give what is known after each defence.

    Parameters
    ----------
    source, release_source
        The files of the original and of the release, for their names and digests.
    original_order
        Users of the original by their first rows, where its file has them.
    compare
        Whether a proof also measures the file as it is, to show what the release changed.
    publish
        Writes a release and reads it back, so that the proof is made on the file itself.
    """
    require_number("target", target, above=0, at_most=1)
    # A name that is misspelt is refused before any work.
    for name in attacks:
        catalogue.create(name, "reidentification")
    for name in defences or ():
        catalogue.create(name, _PROTECTORS)
    number = fresh_seed() if seed is None else seed
    root = seed_sequence(number)
    measured = replace(settings, found_again=target).in_force()
    original = taken(traces)
    material = Material.of(original, measured, timezone)
    choosing, proving = divided(material, root)
    found = Protection(
        target=target,
        trials=(),
        proofs={},
        chosen=None,
        people=(len(choosing), len(proving)),
        least_provable=clopper_pearson(0, min(len(choosing), len(proving), measured.people))[1],
        seed=number,
    )
    yield found

    def prove(name: str) -> Audit:
        before = next((one.before for one in found.proofs.values()), None if compare else Risks())
        released, who = release(name, material)
        given, order = (released, None) if publish is None else publish(released, who)
        is_synthetic = catalogue.is_kind(name, "synthesizer")
        on_cells = material.cell is not None and needs_cells(name)
        *_, audit = stages(
            original, given, settings=measured, timezone=timezone, id_table=who, seed=number, people=proving,
            mechanism=None if is_synthetic else name, attacks=attacks, on_cells=on_cells, before=before,
            orders=(original_order, order), source=source, release_source=release_source,
        )  # fmt: skip
        if not is_synthetic:
            return audit
        # Nobody is a stranger to what learnt from everybody: membership is measured on a twin of the release,
        # made from the people of the proof alone.
        twin = make_candidate(name, material, proving, child_seed(root, _PROVE))
        if isinstance(twin, Trial):
            raise DataError(f"{name}: {twin.error}")
        strangers = material.part_of(choosing)
        return replace(audit, synthetic=betrayed(twin, strangers, measured, child_seed(root, _PROVE)))

    chance = child_seed(root, _CHOOSE)
    own = None if defences is None else (list(defences),)
    for names in own or (candidates(material), synthetic_candidates(material)):
        made = []
        for done, name in enumerate(names, start=1):
            made.append(make_candidate(name, material, choosing, chance))
            report(done, 2 * len(names) + MOST_PROOFS)
        failed = [one for one in made if isinstance(one, Trial)]
        ready = [one for one in made if isinstance(one, Candidate)]
        # The most useful first: what comes after one that holds need not be attacked.
        ready.sort(key=lambda one: -(one.trial.kept or 0.0))
        before = found.trials
        waiting = [one.trial for one in ready]
        found = replace(found, trials=(*before, *waiting, *failed))
        yield found
        for at, one in enumerate(ready):
            trial = attack_candidate(one, measured, chance, attacks)
            if trial.lights and catalogue.is_kind(trial.defence, "synthesizer"):
                trial = with_membership(trial, one, material.part_of(proving), measured, chance)
            waiting[at] = trial
            found = replace(found, trials=(*before, *waiting, *failed))
            report(len(names) + at + 1, 2 * len(names) + MOST_PROOFS)
            yield found
            if trial.holds and len(found.proofs) < MOST_PROOFS:
                audit = prove(trial.defence)
                held = trial.defence if audit.verdict == "green" else None
                found = replace(found, proofs=found.proofs | {trial.defence: audit}, chosen=held)
                yield found
                if held is not None:
                    return
    if defences is None and synthetic_candidates(material):
        real, others = (material.part_of(people).coarse for people in (choosing, proving))
        yield replace(found, virtual=virtual_people(real, others, measured, child_seed(root, _VIRTUAL)))


def release(name: str, material: Material) -> tuple[Any, IdTable]:
    """Apply a defence to everybody and all days with secret randomness, and draw pseudonyms."""
    made = catalogue.create(name, _PROTECTORS)
    ground = material.on_coarse_ground() if material.cell is not None and needs_cells(name) else material
    _, published = protected(made, ground, seed_sequence(None), all_days=True)
    if published.points is not None:
        points: tuple[GpsTraces, IdTable] = pseudonymise_users(published.points)
        return points
    released = pseudonymise(published.exact)
    return released.anonymized, released.id_table


def divided(material: Material, root: np.random.SeedSequence) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide the people who can be tried into two halves at random."""
    people = np.flatnonzero(material.cut.both)
    if len(people) < 4:
        raise DataError(
            f"{len(people)} people are on record on both sides of the cut; it takes four to choose"
        )
    order = generator(child_seed(root, _DIVIDE)).permutation(people)
    middle = len(order) // 2
    return np.sort(order[:middle]), np.sort(order[middle:])
