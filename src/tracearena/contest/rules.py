"""The rules of a contest as data: what is configured, checked, stored and shown on the rules page."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Literal, get_args

from tracearena.algorithms import catalogue
from tracearena.arena.scoring import Scoring
from tracearena.contest import _wording
from tracearena.errors import ParameterError
from tracearena.metrics.utility import UtilityRule

Mode = Literal["sealed", "live"]


def _one_of(valid: Callable[[Any], bool], allowed: str) -> dict[str, Any]:
    return {"valid": valid, "allowed": allowed}


def _whole(lowest: int, highest: int | None = None) -> dict[str, Any]:
    allowed = f"a whole number of at least {lowest}" + ("" if highest is None else f" and at most {highest}")

    def valid(value: Any) -> bool:
        return _is_whole(value) and lowest <= value and (highest is None or value <= highest)

    return _one_of(valid, allowed)


def _number(in_range: Callable[[float], bool], allowed: str) -> dict[str, Any]:
    def valid(value: Any) -> bool:
        is_number = _is_whole(value) or (isinstance(value, float) and math.isfinite(value))
        return is_number and in_range(value)

    return _one_of(valid, allowed)


def _choice(*choices: str) -> dict[str, Any]:
    return _one_of(lambda value: value in choices, " or ".join(map(repr, choices)))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_hours(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) > 0
        and all(_is_whole(hour) and 0 <= hour < 24 for hour in value)
        and all(a < b for a, b in pairwise(value))
    )


def _are_attacks(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_attack, value)) and len(set(value)) == len(value)


def _is_attack(spec: Any) -> bool:
    try:
        name = catalogue.parse(spec)[0]
    except (ParameterError, TypeError):
        return False
    entry = catalogue.entries().get(name)
    return ":" in name if entry is None else entry.kind in ("reidentification", "trace-inference")


_YES_OR_NO = _one_of(lambda value: isinstance(value, bool), "true or false")
_POSITIVE = _number(lambda value: value > 0, "a number above 0")
_SHARE = _number(lambda value: 0 <= value <= 1, "a number from 0 to 1")
_PROPER_SHARE = _number(lambda value: 0 < value < 1, "a number between 0 and 1, both excluded")
_HOURS = _one_of(_are_hours, "rising hours from 0 to 23")
_ATTACKS = _one_of(_are_attacks, "different names of attacks in the registry, or import paths")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Every rule of a contest; the defaults are those of the 2019 contest.

    Parameters
    ----------
    users
        Virtual users of each team and data set.
    reference_days, original_days
        Days known to every attacker, and days to be defended.
    data_sets
        Data sets a team defends: 1, or 2 as in 2019, where the first is defended against
        re-identification and the second against trace inference.
    sample_teams
        Teams whose traces everybody gets, originals included, to practise on.
    pseudonymised_team
        Whether one more team's traces, only pseudonymised, are a target for all.
    sample_attacks
        Attacks that the judge runs on every target, by their names in the registry.
    utility_threshold
        Lowest utility of a valid data set (equality is valid), from 0 to 1.
    utility_rule
        How a set of places is scored: ``"paper"`` caps the mean distance, ``"2019"`` averages
        the capped distances.
    utility_limit_km, inference_limit_km
        Distances from which on a place is useless, or an inference has failed.
    sensitive_weight
        Weight of a sensitive place in the trace-inference score; other places weigh 1.
    obfuscated_uploads
        Uploads of a team and data set in the anonymization phase.
    attack_uploads
        Uploads of a team per target in the attack phase.
    largest_file_mb, largest_listed_ids
        Limits of one file: megabytes of 2^20 bytes, and place ids listed in it.
    mode
        ``"sealed"``: an attack upload is answered by a receipt only. ``"live"``: there is a board
        while the attack phase runs.
    live_share
        Share of the users on whom the live board is computed; the others decide the final scores.
    live_decimals, live_answers_a_day, live_refresh_hours
        Decimals on the live board, scored answers per attacker, target and day, and the hours
        (UTC) at which the board changes.

    References
    ----------
    [contest] sections 3.2 to 3.4.

    Examples
    --------
    >>> Rules().is_valid(0.7)
    True
    >>> Rules.from_dict({"data_sets": 2}).data_sets
    2
    """

    users: int = field(default=2000, metadata=_whole(1))
    reference_days: int = field(default=20, metadata=_whole(1))
    original_days: int = field(default=20, metadata=_whole(1))
    data_sets: int = field(default=1, metadata=_whole(1, 2))
    sample_teams: int = field(default=2, metadata=_whole(0))
    pseudonymised_team: bool = field(default=True, metadata=_YES_OR_NO)
    sample_attacks: tuple[str, ...] = field(
        default=("VisitProb-R", "HomeProb-R", "VisitProb-T", "HomeProb-T"), metadata=_ATTACKS
    )
    utility_threshold: float = field(default=0.7, metadata=_SHARE)
    utility_rule: UtilityRule = field(default="paper", metadata=_choice(*get_args(UtilityRule)))
    utility_limit_km: float = field(default=2.0, metadata=_POSITIVE)
    inference_limit_km: float = field(default=2.0, metadata=_POSITIVE)
    sensitive_weight: float = field(default=10.0, metadata=_POSITIVE)
    obfuscated_uploads: int = field(default=20, metadata=_whole(1))
    attack_uploads: int = field(default=20, metadata=_whole(1))
    largest_file_mb: int = field(default=64, metadata=_whole(1))
    largest_listed_ids: int = field(default=16_000_000, metadata=_whole(1))
    mode: Mode = field(default="sealed", metadata=_choice(*get_args(Mode)))
    live_share: float = field(default=0.3, metadata=_PROPER_SHARE)
    live_decimals: int = field(default=2, metadata=_whole(1, 3))
    live_answers_a_day: int = field(default=3, metadata=_whole(1))
    live_refresh_hours: tuple[int, ...] = field(default=(0, 6, 12, 18), metadata=_HOURS)

    def __post_init__(self) -> None:
        for rule in fields(self):
            value = getattr(self, rule.name)
            if not rule.metadata["valid"](value):
                raise ParameterError.of(rule.name, value, rule.metadata["allowed"])

    @property
    def scoring(self) -> Scoring:
        """How releases and attacks are scored by these rules."""
        return Scoring(**{field.name: getattr(self, field.name) for field in fields(Scoring)})

    def is_valid(self, utility: float) -> bool:
        """Whether a data set of this utility is published and counts."""
        return self.scoring.is_valid(utility)

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain values for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Make rules from plain values; what is left out keeps its default."""
        known = [rule.name for rule in fields(cls)]
        for name in values:
            if name not in known:
                close = difflib.get_close_matches(str(name), known, 1)
                hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
                raise ParameterError(f"there is no rule {name!r}{hint}")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**given)

    def explain(self) -> list[str]:
        """Return the rules as plain sentences, in the order of the contest.

        >>> Rules().explain()[-1]
        'Sealed: the answer to an attack upload is a receipt, whether the attack is right or not; ...'
        """
        return _wording.sentences(self)
