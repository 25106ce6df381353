"""One row of a sweep: a defence, its utility, and its privacy against each attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tracearena.arena.ensemble import AttackScores
from tracearena.results import Result


class Band(NamedTuple):
    """Between which values s_T of a defence must lie.

    Attributes
    ----------
    estimate
        What an attacker leaves who is told the defence and who is who: an estimate.
    ceiling
        What habits alone leave, the release not even read.
    """

    estimate: float
    ceiling: float


@dataclass(frozen=True)
class TunedScores(Result):
    """What the winner's attacks of 2019 leave of a release once they were tuned.

    Attributes
    ----------
    tuned_R, tuned_T
        Names of the attacks, with the parameters that did best on the sample teams.
    s_R_tuned, s_T_tuned
        Privacy scores of the release against them (1 is private).
    """

    tuned_R: str
    tuned_T: str
    s_R_tuned: float
    s_T_tuned: float


@dataclass(frozen=True)
class SweepRow(Result):
    """One defence: its utility, whether that is enough, and its privacy against each attack.

    Attributes
    ----------
    error
        Why the defence failed, and then there is no utility and no score; or which attacks failed: their
        scores are missing, so that the row ranks nowhere.
    band
        Between which values s_T must lie, where the sweep was asked for it.
    tuned
        What tuned attacks leave, where the sweep was asked for it. They are in no other minimum than
        those that say so.
    """

    defence: str
    utility: float | None
    valid: bool
    scores: AttackScores
    error: str | None = None
    band: Band | None = None
    tuned: TunedScores | None = None

    @property
    def s_R_min_tuned(self) -> float | None:
        """Privacy against the strongest re-identification, tuned ones among them; None without tuning."""
        return _least(self.scores.s_R_min, None if self.tuned is None else self.tuned.s_R_tuned)

    @property
    def s_T_min_tuned(self) -> float | None:
        """Privacy against the strongest trace inference, tuned ones among them; None without tuning."""
        return _least(self.scores.s_T_min, None if self.tuned is None else self.tuned.s_T_tuned)

    def to_dict(self) -> dict[str, Any]:
        """Return one flat row of a table."""
        band = {} if self.band is None else {f"s_T_{name}": one for name, one in self.band._asdict().items()}
        minima = {"s_R_min_tuned": self.s_R_min_tuned, "s_T_min_tuned": self.s_T_min_tuned}
        tuned = {} if self.tuned is None else self.tuned.to_dict() | minima
        return {
            "defence": self.defence,
            "utility": self.utility,
            "valid": self.valid,
            **self.scores.to_dict(),
            **band,
            **tuned,
            "error": self.error,
        }


def _least(plain: float | None, tuned: float | None) -> float | None:
    return tuned if tuned is None or plain is None else min(plain, tuned)
