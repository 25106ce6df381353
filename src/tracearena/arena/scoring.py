"""How a release and the attacks on it are scored."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.metrics.contest_scores import UtilityRule


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What counts in a score; the defaults are those of [contest] section 3.

    Attributes
    ----------
    utility_rule
        How a generalised event is scored (see `utility_score`).
    utility_threshold
        Lowest utility of a valid release; equality is valid.
    utility_limit_km, inference_limit_km
        Distances from which on a place is useless, or an inference has failed.
    sensitive_weight
        Weight of a sensitive place in the trace-inference score; other places weigh 1.
    """

    utility_rule: UtilityRule = "paper"
    utility_threshold: float = 0.7
    utility_limit_km: float = 2.0
    inference_limit_km: float = 2.0
    sensitive_weight: float = 10.0

    def is_valid(self, utility: float) -> bool:
        """Whether a release of this utility counts."""
        return utility >= self.utility_threshold

    @property
    def of_attackers(self) -> dict[str, float]:
        """What an attacker who wants a good score takes into account, by the names of its settings."""
        return {"sensitive_weight": self.sensitive_weight, "limit_km": self.inference_limit_km}
