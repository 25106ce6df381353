"""`protect`: the cheapest defence that holds, chosen on one half of the people and proved on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.assessment import taken
from tracearena.audit.ladder import ladder, suits_synthesis
from tracearena.audit.material import Material
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record, clopper_pearson
from tracearena.audit.trials import Trial, try_defence
from tracearena.audit.virtual_people import VirtualPeople, virtual_people
from tracearena.checks import require_number
from tracearena.engine import child_seed, fresh_seed, generator, report, seed_sequence
from tracearena.errors import DataError
from tracearena.intake.local_time import LocalTime

MOST_PROOFS = 3
"""So many of the cheapest are put to the proof; more would let luck decide."""
_DIVIDE, _CHOOSE, PROVE, _VIRTUAL = range(4)


@dataclass(frozen=True)
class Protection(Record):
    """What was tried, and what holds.

    Attributes
    ----------
    target
        The risk that the owner allows: the upper end of the 95 % interval of linkability.
    trials
        Every defence on the people used for choosing.
    proofs
        The cheapest that held there, on the others.
    chosen
        The first that holds on people who were not used for choosing; None if none does.
    people
        How many people were used for choosing, and for proving.
    least_provable
        The least risk that so many people can prove, if nobody at all is found.
    seed
        Of everything measured.
    virtual
        What a release of people who never lived would be worth, and betray; None where it was not asked for.
    """

    target: float
    trials: tuple[Trial, ...]
    proofs: tuple[Trial, ...]
    chosen: str | None
    people: tuple[int, int]
    least_provable: float
    seed: int
    virtual: VirtualPeople | None = None

    @property
    def proof(self) -> Trial | None:
        """The proof of the chosen defence."""
        return next((one for one in self.proofs if one.defence == self.chosen), None)

    @property
    def held(self) -> list[Trial]:
        """The defences that held when choosing, the least costly first."""
        good = [one for one in self.trials if one.holds(self.target)]
        return sorted(good, key=lambda one: -(one.kept or 0.0))


def protect(
    traces: Any,
    *,
    target: float = 0.05,
    defences: Sequence[str] | None = None,
    timezone: str | None = None,
    seed: int | None = None,
    **settings: Any,
) -> Protection:
    """Look for the cheapest defence under which the strongest attack finds few people.

    Parameters
    ----------
    traces
        Original traces: events or GPS points, a file or a data frame.
    target
        Largest risk: the upper end of the 95 % interval of the share of people found again.
    defences
        Names of the catalogue; by default a ladder of those that suit the file.
    timezone
        Zone of the hours of GPS points.
    seed
        Of everything that is drawn; drawn itself and recorded if omitted.
    **settings
        Fields of `Settings`.
    """
    *_, last = searching(
        traces, target=target, defences=defences, timezone=timezone, seed=seed, settings=Settings(**settings)
    )
    return last


def searching(
    traces: Any,
    *,
    target: float,
    settings: Settings,
    defences: Sequence[str] | None = None,
    timezone: str | LocalTime | None = None,
    seed: int | None = None,
) -> Iterator[Protection]:
    """Do the same, and give what is known after each defence."""
    require_number("target", target, above=0, at_most=1)
    number = fresh_seed() if seed is None else seed
    root, measured = seed_sequence(number), settings.in_force()
    material = Material.of(taken(traces), measured, timezone)
    choosing, proving = divided(material, root)
    names = list(defences or ladder(material.kind, len(material.coarse.places)))
    parts = [part_of(material, people) for people in (choosing, proving)]
    found = Protection(
        target=target,
        trials=(),
        proofs=(),
        chosen=None,
        people=(len(choosing), len(proving)),
        least_provable=clopper_pearson(0, min(len(choosing), len(proving), measured.people))[1],
        seed=number,
    )
    yield found
    for done, name in enumerate(names, start=1):
        trial = try_defence(name, parts[0], measured, child_seed(root, _CHOOSE), target=target)
        found = replace(found, trials=(*found.trials, trial))
        report(done, len(names) + MOST_PROOFS)
        yield found
    for trial in found.held[:MOST_PROOFS]:
        proof = try_defence(trial.defence, parts[1], measured, child_seed(root, PROVE), target=target)
        holds = proof.holds(target)
        found = replace(found, proofs=(*found.proofs, proof), chosen=trial.defence if holds else found.chosen)
        yield found
        if holds:
            break
    if defences is None and suits_synthesis(material.kind, len(material.coarse.places)):
        known = virtual_people(parts[0].coarse, parts[1].coarse, measured, child_seed(root, _VIRTUAL))
        found = replace(found, virtual=known)
        yield found
    report(len(names) + MOST_PROOFS, len(names) + MOST_PROOFS)


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


def part_of(whole: Material, people: NDArray[np.int64]) -> Material:
    """Return the material of some of the people, on the ground of all: the same grid, cut and clock."""
    coarse = whole.coarse.take_users(people)
    cut = whole.cut._replace(instant=whole.cut.instant[people], both=whole.cut.both[people])
    points = None if whole.points is None else whole.points.take_users(people)
    return replace(whole.on_coarse_ground(), exact=coarse, coarse=coarse, points=points, cut=cut)
