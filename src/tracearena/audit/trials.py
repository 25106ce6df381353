"""One defence on some people: what it keeps, and whom the strongest attack still finds."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Synthesizer, catalogue, validation
from tracearena.attacks.linking.linker import MOST_PLACES
from tracearena.audit.candidates import needs_cells
from tracearena.audit.inference import places_told
from tracearena.audit.linkability import (
    LINKER,
    Halves,
    defence_of_events,
    find_by_attacks,
    find_by_linker,
    halves,
    strongest_of,
)
from tracearena.audit.material import Material, Published
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record, Share
from tracearena.audit.singling_out import found_by_sightings
from tracearena.audit.synthetic import Synthetic, assess_synthetic
from tracearena.audit.usefulness import kept_of, kept_of_file, plain_events
from tracearena.audit.verdict import Light, light, worst
from tracearena.audit.zone_homes import told_circle
from tracearena.engine import child_seed
from tracearena.errors import TracearenaError
from tracearena.obfuscation.gps import rounded
from tracearena.traces import GpsTraces, Traces

QUICK = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R")
HEAVY = ("Polya-R", "Markov-R", "Bayes-R")
TOLD = ("Polya-R(adaptive)", "Bayes-R(adaptive)")
"""Attackers who know the defence and run it themselves."""
_MAKE, _ATTACK, _DRAW, _SIGHTINGS, _MEMBERS = range(5)
_FEWER_DRAWS = 5


@dataclass(frozen=True)
class Trial(Record):
    """A defence that was tried.

    Attributes
    ----------
    defence
        Its name in the catalogue.
    kept, tasks
        How much of the six tasks is left at the resolution of the release, on average and of each.
    kept_of_file
        The same against the original file, at its own places.
    on_cells
        Whether the release lies at cells instead of the file's own places.
    risk, attack
        Share of people found again, and by which attack.
    at_least
        Whether the attacks already found more than the target when some had not been run: the risk is at
        least this.
    lights
        What was measured, judged by the limits; empty where it was not attacked.
    synthetic
        What synthetic traces betray of the people they were made from.
    error
        Why the defence could not be tried.
    """

    defence: str
    kept: float | None = None
    tasks: dict[str, float] | None = None
    kept_of_file: float | None = None
    on_cells: bool = False
    risk: Share | None = None
    attack: str | None = None
    at_least: bool = False
    lights: tuple[Light, ...] = ()
    synthetic: Synthetic | None = None
    error: str | None = None

    @property
    def holds(self) -> bool:
        """Whether everything that was measured is within its limit, at the upper end of the interval."""
        return bool(self.lights) and not self.at_least and worst(self.lights) == "green"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A defence and what it makes of some people, before anybody attacks it."""

    defence: Any
    material: Material
    published: Published
    trial: Trial


def make_candidate(
    name: str, material: Material, people: NDArray[np.int64], root: np.random.SeedSequence
) -> Candidate | Trial:
    """Release everybody under a defence, as the owner would, and see what is kept; a trial with the error.

    A synthesizer learns from those who will be looked for alone, so that all others are strangers to it. What
    is drawn depends on the root and on the name of the defence only.

    Parameters
    ----------
    people
        Who will be looked for.
    """
    chance = _chance(root, name)
    try:
        defence = catalogue.create(name, ("obfuscator", "gps-obfuscator", "synthesizer"))
        on_cells = material.cell is not None and needs_cells(name)
        ground = material.on_coarse_ground() if on_cells else material
        if isinstance(defence, Synthesizer):
            ground, people = ground.part_of(people), np.arange(len(people))
        mine, published = protected(defence, ground, child_seed(chance, _MAKE))
        seed = child_seed(chance, _DRAW)
        tasks = kept_of(mine.coarse, plain_events(published.coarse, seed))
        whole = kept_of_file(material, published, seed)
    except TracearenaError as error:
        return Trial(name, error=" ".join(str(error).split()))
    kept = float(np.mean(list(tasks.values()))) if tasks else 0.0
    trial = Trial(name, kept=kept, tasks=tasks, kept_of_file=whole, on_cells=on_cells)
    return Candidate(defence, mine.part_of(people), replace(published, at=published.at[people]), trial)


def attack_candidate(
    one: Candidate, settings: Settings, root: np.random.SeedSequence, attacks: Sequence[str] = ()
) -> Trial:
    """Attack a candidate, quick attacks first; those that find more than the target spare the others.

    Parameters
    ----------
    attacks
        Names of further attacks, such as a class of the caller's own.
    """
    chance = _chance(root, one.trial.defence)
    seed = child_seed(chance, _ATTACK)
    try:
        cut = halves(one.material, one.published, settings, seed)
        defence = None if isinstance(one.defence, Synthesizer) else one.defence
        told = () if defence_of_events(cut, defence) is None else TOLD
        tries = list(find_by_linker(cut, seed, defence, channel=False, alone=True).tries)
        for names in (QUICK, (*HEAVY, *told, *attacks), LINKER):
            trial = _with_strongest(one.trial, tries, settings)
            if trial.risk is not None and trial.risk.low > settings.found_again:
                return replace(trial, at_least=True)
            if names is not LINKER:
                tries += find_by_attacks(cut, seed, names, defence)
            elif len(cut.known.places) <= MOST_PLACES and cut.points is None:
                tries += find_by_linker(cut, seed, defence, alone=True).tries
        trial = _with_strongest(one.trial, tries, settings)
        return _with_limits(trial, one, cut, settings, chance)
    except TracearenaError as error:
        return replace(one.trial, error=" ".join(str(error).split()))


def _chance(root: np.random.SeedSequence, name: str) -> np.random.SeedSequence:
    return child_seed(root, zlib.crc32(name.encode()))


def _with_strongest(trial: Trial, tries: Sequence[Any], settings: Settings) -> Trial:
    best = strongest_of(tries)
    if best is None:
        return trial
    risk = best.linked.first
    judged = light("linkability", [("linked", risk)], settings.found_again)
    return replace(trial, risk=risk, attack=best.linked.attack, lights=(judged,))


def _with_limits(
    trial: Trial, one: Candidate, cut: Halves, settings: Settings, chance: np.random.SeedSequence
) -> Trial:
    """Judge what else a release gives away, by its own limits."""
    if isinstance(one.defence, Synthesizer):
        return trial
    few = replace(settings, draws=min(settings.draws, _FEWER_DRAWS))
    seen = found_by_sightings(one.material, one.published, few, child_seed(chance, _SIGHTINGS))
    told = places_told(one.material, one.published, cut, settings, told_circle(one.defence))
    names = ("home", "work", "zones")
    places = [(name, place.found) for name, place in zip(names, told, strict=True) if place is not None]
    more = (
        light("singling_out", [("found", seen)], settings.singling_out),
        light("inference", places, settings.inference),
    )
    return replace(trial, lights=(*trial.lights, *more))


def with_membership(
    trial: Trial, one: Candidate, others: Material, settings: Settings, root: np.random.SeedSequence
) -> Trial:
    """Judge synthetic traces: copies of the people they were made from, and whether these can be told."""
    found = betrayed(one, others, settings, root)
    questions = ("singling_out", "inference")
    judged = [light(one, found.measured[one], settings.limit(one)) for one in questions]
    return replace(trial, synthetic=found, lights=(*trial.lights, *judged))


def betrayed(one: Candidate, others: Material, settings: Settings, root: np.random.SeedSequence) -> Synthetic:
    """Return what synthetic traces betray of the people they were made from, next to others.

    Both are known by the days that the synthesizer learns from.
    """
    made = plain_events(one.published.coarse, child_seed(root, _DRAW))
    real, strangers = (each.cut.later(each.coarse) for each in (one.material, others))
    return assess_synthetic(real, made, strangers, settings, child_seed(root, _MEMBERS))


def protected(
    defence: Any, material: Material, seed: np.random.SeedSequence | None, *, all_days: bool = False
) -> tuple[Material, Published]:
    """Apply a defence: an obfuscator to all days, a synthesizer to the later ones, or to all if asked for."""
    if material.points is not None:
        moved: GpsTraces = validation.gps_transformed(defence, material.points, seed=seed)
        return material.release(rounded(moved, getattr(defence, "digits", 6)))
    if isinstance(defence, Synthesizer):
        return material.release(synthetic_days(defence, material, seed, all_days=all_days))
    return material.release(validation.transformed(defence, material.exact, seed=seed))


def synthetic_days(synthesizer: Synthesizer, material: Material, seed: Any, *, all_days: bool) -> Traces:
    """Train on the days after the cut, or on all, and synthesize as many for the same people."""
    cut = material.cut
    later = material.exact if all_days else cut.later(material.exact)
    length = material.exact.clock.instants_per_day
    first = material.exact.span[0] if all_days else int(cut.instant.min(initial=0))
    start = first // length * length
    days = max(-(-(material.exact.span[1] - start) // length), 1)
    fitted = validation.fitted(synthesizer, later, seed=None if seed is None else child_seed(seed, 0))
    made = validation.synthesized(fitted, later, days, seed=None if seed is None else child_seed(seed, 1))
    return Traces(
        made.places,
        material.exact.clock,
        user_ids=made.user_ids,
        offsets=made.offsets,
        instants=made.instants + start,
        place_index=made.place_index,
        span=(start, start + days * length),
    )
