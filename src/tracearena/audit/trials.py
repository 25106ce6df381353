"""One defence on some people: what it costs, and whom the strongest attack still finds."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracearena.algorithms import Synthesizer, answers, catalogue
from tracearena.algorithms.kinds import kinds_of
from tracearena.audit.cutting import Cut
from tracearena.audit.inference import places_told
from tracearena.audit.linkability import Halves, halves, link
from tracearena.audit.material import Material, Published
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Record, Share
from tracearena.audit.usefulness import kept_of, plain_events
from tracearena.audit.zone_homes import told_circle
from tracearena.engine import child_seed
from tracearena.errors import TracearenaError
from tracearena.obfuscation.rounding import rounded
from tracearena.traces import Traces

QUICK = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R")
HEAVY = ("Polya-R", "Markov-R", "Bayes-R")
TOLD = ("Polya-R(adaptive)", "Bayes-R(adaptive)")
"""Attackers who know the defence and run it themselves."""
_MAKE, _ATTACK, _DRAW = range(3)


@dataclass(frozen=True)
class Trial(Record):
    """A defence that was tried.

    Attributes
    ----------
    defence
        Its name in the catalogue.
    risk
        Share of people whom the strongest attack finds again.
    attack
        Which attack that is.
    kept
        How much of the six tasks is left, on average; and of each.
    tasks
        The same by task.
    home
        Share of homes that are told, by stays at night or, behind privacy zones, by where trips stop.
    screened
        Whether quick attacks alone found more than the target, so that the strongest were spared.
    error
        Why the defence could not be tried.
    """

    defence: str
    risk: Share | None = None
    attack: str | None = None
    kept: float | None = None
    tasks: dict[str, float] | None = None
    home: Share | None = None
    screened: bool = False
    error: str | None = None

    def holds(self, target: float) -> bool:
        """Whether the upper end of the interval is at most the target."""
        return self.risk is not None and self.risk.high <= target


def try_defence(
    name: str, material: Material, settings: Settings, root: np.random.SeedSequence, *, target: float
) -> Trial:
    """Release the people of the material under a defence, and attack them; quick attacks first.

    What is drawn depends on the root and on the name of the defence only.
    """
    chance = child_seed(root, zlib.crc32(name.encode()))
    try:
        defence = catalogue.create(name, ("obfuscator", "gps-obfuscator", "synthesizer"))
        mine, published = protected(defence, material, child_seed(chance, _MAKE))
        tasks = kept_of(mine.coarse, plain_events(published.coarse, child_seed(chance, _DRAW)))
        kept = float(np.mean(list(tasks.values()))) if tasks else 0.0
        cut = halves(mine, published, settings, child_seed(chance, _ATTACK))
        is_of_places = "obfuscator" in kinds_of(defence)
        told = TOLD if is_of_places else ()
        trial = Trial(name, kept=kept, tasks=tasks, home=_home(mine, published, cut, settings, defence))
        for attacks in (QUICK, HEAVY + told):
            found, _ = link(
                cut, child_seed(chance, _ATTACK), attacks=attacks, alone=True,
                defence=defence if is_of_places else None,
            )  # fmt: skip
            risk = found.headline
            if risk is not None and (trial.risk is None or risk.value > trial.risk.value):
                trial = replace(trial, risk=risk, attack=found.strongest)
            if trial.risk is not None and trial.risk.low > target:
                return replace(trial, screened=attacks is QUICK)
    except TracearenaError as error:
        return Trial(name, error=" ".join(str(error).split()))
    return trial


def _home(
    material: Material, published: Published, cut: Halves, settings: Settings, defence: Any
) -> Share | None:
    """Return the share of homes that the stronger of two attacks finds."""
    home, _, behind = places_told(material, published, cut, settings, told_circle(defence))
    found = [one.found for one in (home, behind) if one is not None and one.found is not None]
    return max(found, key=lambda share: share.value, default=None)


def protected(
    defence: Any, material: Material, seed: np.random.SeedSequence | None, *, all_days: bool = False
) -> tuple[Material, Published]:
    """Apply a defence: an obfuscator to all days, a synthesizer to the later ones, or to all if asked for."""
    if material.points is not None:
        moved = answers.gps_transformed(defence, material.points, seed=seed)
        return material.release(rounded(moved, getattr(defence, "digits", 6)))
    if isinstance(defence, Synthesizer):
        return material.release(synthetic_days(defence, material, seed, all_days=all_days))
    return material.release(answers.transformed(defence, material.exact, seed=seed))


def synthetic_days(synthesizer: Synthesizer, material: Material, seed: Any, *, all_days: bool) -> Traces:
    """Train on the days after the cut, or on all, and synthesize as many for the same people."""
    cut: Cut = material.cut
    later = material.exact if all_days else cut.later(material.exact)
    length = material.exact.clock.instants_per_day
    first = material.exact.span[0] if all_days else int(cut.instant.min(initial=0))
    start = first // length * length
    days = max(-(-(material.exact.span[1] - start) // length), 1)
    fitted = answers.fitted(synthesizer, later, seed=None if seed is None else child_seed(seed, 0))
    made = answers.synthesized(fitted, later, days, seed=None if seed is None else child_seed(seed, 1))
    return Traces(
        made.places,
        material.exact.clock,
        user_ids=made.user_ids,
        offsets=made.offsets,
        instants=made.instants + start,
        place_index=made.place_index,
        span=(start, start + days * length),
    )
