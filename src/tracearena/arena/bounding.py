"""Bounds: between which values the privacy of whereabouts must lie on the data at hand.

The upper one holds for every defence: habits alone, the release not even read, leave so much. The lower
one is an estimate for each defence: so much does an attacker leave who is told the defence and the table
of who is who. Intervals come from drawing the users anew, with replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from tracearena.algorithms import Obfuscator, catalogue
from tracearena.arena.ensemble import Ensemble, attack_names, make_attacks
from tracearena.arena.losses import Interval, Losses
from tracearena.arena.releases import refuse_strangers, try_out
from tracearena.arena.scoring import Scoring
from tracearena.engine import (
    SeedLike,
    block_ranges,
    child_seed,
    one_library_thread,
    run_blocks,
    seed_sequence,
)
from tracearena.errors import ParameterError, TracearenaError
from tracearena.files import write_csv
from tracearena.results import Result
from tracearena.traces import Traces

_BOOTSTRAP = 1 << 20


@dataclass(frozen=True)
class DefenceBounds(Result):
    """Where the privacy of whereabouts under one defence must lie, and where attacks put it.

    Attributes
    ----------
    defence, utility, valid
        The defence, how useful its release is, and whether that is enough.
    estimate
        s_T against an attacker who is told the defence and who is who: the lower value.
    s_T_min, strongest_T
        Lowest s_T of the attacks made, Habits-T left out, and whose it is.
    above
        How much `s_T_min` lies above the ceiling: where it does, the figure is an artefact of weak
        attacks.
    below
        The attacks that left less than the estimate, and by how much (below 0).
    failed
        Why attacks gave no answer, by their names.
    """

    defence: str
    utility: float
    valid: bool
    estimate: Interval
    s_T_min: float | None = None
    strongest_T: str | None = None
    above: Interval | None = None
    below: dict[str, Interval] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def is_artefact(self) -> bool:
        """Whether the attacks made, without Habits-T, leave more than habits alone."""
        return self.above is not None and self.above.value > 0


@dataclass(frozen=True)
class Bounds(Result):
    """Bounds of several defences on the same traces.

    Attributes
    ----------
    ceiling
        s_T that habits alone leave: no defence is worth more.
    defences
        One entry a defence, in the order asked for.
    """

    ceiling: Interval
    defences: tuple[DefenceBounds, ...]

    @property
    def artefacts(self) -> list[DefenceBounds]:
        """The defences that the attacks made put above the ceiling."""
        return [one for one in self.defences if one.is_artefact]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"ceiling": self.ceiling.to_dict(), "defences": [one.to_dict() for one in self.defences]}


def bounds(
    reference: Traces,
    original: Traces,
    *,
    defences: Sequence[str],
    attacks: Sequence[str] = ("strongest",),
    scoring: Scoring | None = None,
    seed: SeedLike = None,
) -> Bounds:
    """Say between which values s_T of each defence must lie, and which attacks stand outside.

    Parameters
    ----------
    reference, original
        What the attackers know, and what is protected.
    defences, attacks
        Names of the catalogue; among the attacks also ``samples``, ``strongest`` and ``all``, and of these
        the trace inferences count. With the seed of a sweep the releases are those of the sweep.
    scoring
        As of `run_sweep`.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> halves = simulate(users=20, days=4, seed=1).split_days(2)
    >>> found = bounds(*halves, defences=["No"], attacks=["Replay-T"], seed=1)
    >>> found.defences[0].estimate.value < found.ceiling.value
    True
    >>> found.defences[0].strongest_T
    'Replay-T'
    """
    from tracearena.arena.told import CEILING, ToldAttacker

    refuse_strangers(reference, original)
    limits = scoring or Scoring()
    root = seed_sequence(seed)
    known = limits.of_attackers
    made = make_attacks([name for name in attack_names(attacks) if name != CEILING], **known)
    compared = [one for one in made if one.kind == "trace-inference"]
    if made and not compared:
        names = ", ".join(map(str, made))
        raise ParameterError(
            f"bounds compare trace inferences, whose names end in -T; {names} says who is who"
        )
    ensemble = Ensemble(compared, **known).fit(reference)
    told = ToldAttacker(limits).fit(reference, original)
    obfuscators: list[Obfuscator] = [catalogue.create(name, "obfuscator") for name in defences]
    ceiling = told.habits_
    draws = child_seed(root, _BOOTSTRAP)

    def one(block: int, first: int, stop: int) -> DefenceBounds:
        defence = obfuscators[first]
        trial = try_out(defence, original, limits, root)
        estimate = told.losses(trial.release, defence, seed=trial.attack_seed)
        found: dict[str, Losses] = {}
        failed: dict[str, str] = {}
        for attack, answer in ensemble.attempts(
            trial.release.anonymized, defence=defence, seed=trial.attack_seed
        ):
            if isinstance(answer, TracearenaError):
                failed[str(attack)] = str(answer)
            elif isinstance(answer, Traces):
                found[str(attack)] = Losses.of(original, answer, limits)
        best = min(found, key=lambda name: found[name].score, default=None)
        return DefenceBounds(
            str(defence),
            trial.utility,
            limits.is_valid(trial.utility),
            estimate.interval(draws),
            None if best is None else found[best].score,
            best,
            None if best is None else found[best].interval(draws, ceiling),
            {
                name: losses.interval(draws, estimate)
                for name, losses in found.items()
                if losses.score < estimate.score
            },
            failed,
        )

    with one_library_thread():
        rows = run_blocks(one, block_ranges(len(obfuscators), 1), anywhere=True, report=True)
    return Bounds(ceiling.interval(draws), tuple(rows))


def write_bounds(found: Bounds, path: str | PathLike[str]) -> None:
    """Write one line a defence: its estimate, the ceiling, and the attacks outside of them."""
    columns = [
        *("defence", "utility", "valid", "estimate", "estimate_low", "estimate_high"),
        *("ceiling", "ceiling_low", "ceiling_high", "s_T_min", "strongest_T"),
        *("above_ceiling", "above_ceiling_low", "above_ceiling_high", "below_estimate", "failed"),
    ]
    rows = (
        [
            *(row.defence, row.utility, str(row.valid).lower(), *_numbers(row.estimate)),
            *(*_numbers(found.ceiling), row.s_T_min, row.strongest_T, *_numbers(row.above)),
            "; ".join(f"{name} {one}" for name, one in row.below.items()),
            "; ".join(row.failed.values()),
        ]
        for row in found.defences
    )
    write_csv(path, columns, rows)


def _numbers(one: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if one is None else (one.value, one.low, one.high)
