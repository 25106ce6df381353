"""What the judge writes down: who takes part, the utility of each upload, the score of each attack."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from tracearena.checks import require_number, require_whole
from tracearena.errors import DataError, ParameterError


class AttackKind(StrEnum):
    """What an attack answers: who it is, or where they were."""

    REIDENTIFICATION = "reidentification"
    TRACE_INFERENCE = "trace-inference"


class Role(StrEnum):
    """What somebody is in the contest. Only a team can win an award."""

    TEAM = "team"
    PSEUDONYMISED = "pseudonymised"
    SAMPLE = "sample"


@dataclass(frozen=True, kw_only=True)
class Roster:
    """Everybody who can attack or be attacked, by name.

    Parameters
    ----------
    teams
        The competing teams.
    pseudonymised
        The extra team without obfuscation: a target for all, attacks nobody.
    samples
        Sample attacks that the judge runs and sample defences it shows for comparison.

    >>> Roster(teams=["a", "b"], pseudonymised="none", samples=["VisitProb-R"]).role("none").value
    'pseudonymised'
    """

    teams: Sequence[str]
    pseudonymised: str | None = None
    samples: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "teams", tuple(self.teams))
        object.__setattr__(self, "samples", tuple(self.samples))
        names = self.names()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or "" in names:
            raise ParameterError.of(
                "name", twice[0] if twice else "", "not empty and given to one party only"
            )

    def names(self) -> list[str]:
        """Return all names: teams, the pseudonymised team, samples."""
        extra = [] if self.pseudonymised is None else [self.pseudonymised]
        return [*self.teams, *extra, *self.samples]

    def role(self, name: str) -> Role:
        """Return what somebody is; an unknown name is an error."""
        if name in self.teams:
            return Role.TEAM
        if name in self.samples:
            return Role.SAMPLE
        if name == self.pseudonymised and name is not None:
            return Role.PSEUDONYMISED
        raise DataError(f"{name!r} does not take part in this contest")


@dataclass(frozen=True, kw_only=True)
class UtilityRecord:
    """The utility of one upload of obfuscated traces.

    Parameters
    ----------
    team
        Who uploaded it.
    utility
        s_U, from 0 to 1.
    data_set
        1 or 2.
    receipt
        The judge's running number of the upload: of two, the later one has the larger number.
    """

    team: str
    utility: float
    data_set: int = 1
    receipt: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "utility", _score("utility", self.utility))
        _check_numbers(self.data_set, self.receipt)


@dataclass(frozen=True, kw_only=True)
class AttackRecord:
    """The privacy score that is left to a target by one attack.

    Parameters
    ----------
    attacker, target
        Who attacked whom. A team that attacks itself is refused.
    kind
        Re-identification (the score is s_R) or trace inference (s_T).
    score
        From 0 (everything found out) to 1.
    data_set
        Which of the target's data sets.
    receipt
        The judge's running number of the upload: of two, the later one has the larger number.
    """

    attacker: str
    target: str
    kind: AttackKind
    score: float
    data_set: int = 1
    receipt: int = 0

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", AttackKind(self.kind))
        except ValueError:
            raise ParameterError.of("kind", self.kind, " or ".join(AttackKind)) from None
        object.__setattr__(self, "score", _score("score", self.score))
        _check_numbers(self.data_set, self.receipt)
        if self.attacker == self.target:
            raise DataError(f"{self.attacker!r} attacks itself; a team attacks only others")

    @property
    def key(self) -> tuple[str, str, int, AttackKind]:
        """What the attack is about; of several with the same key the last counts."""
        return self.attacker, self.target, self.data_set, self.kind


class _Received(Protocol):
    @property
    def receipt(self) -> int: ...


R = TypeVar("R", bound=_Received)
K = TypeVar("K", bound=Hashable)


def last_of_each(keyed: Iterable[tuple[K, R]]) -> dict[K, R]:
    """Return the record with the largest receipt number for each key, in whatever order they come.

    The same record twice counts once; two different ones with one number contradict each other.
    """
    last: dict[K, R] = {}
    claimed: dict[tuple[K, int], R] = {}
    for key, record in keyed:
        if claimed.setdefault((key, record.receipt), record) != record:
            raise DataError(
                f"two records have receipt {record.receipt}: {claimed[key, record.receipt]}, {record}"
            )
        if key not in last or record.receipt > last[key].receipt:
            last[key] = record
    return last


def _score(name: str, value: Any) -> float:
    # NaN is refused, so that it can never rank.
    require_number(name, value, at_least=0, at_most=1)
    return float(value)


def _check_numbers(data_set: int, receipt: int) -> None:
    require_whole("data_set", data_set, at_least=1)
    require_whole("receipt", receipt, at_least=0)
