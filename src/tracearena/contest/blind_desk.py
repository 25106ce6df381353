"""The judge's desk without the original traces: what can be found again is, the rest is taken as told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tracearena.contest.board import Target
from tracearena.contest.desk import Desk
from tracearena.contest.file_scores import is_release, read_obfuscated
from tracearena.contest.intake import Intake
from tracearena.contest.truth import Truth
from tracearena.errors import DataError
from tracearena.formats.pwscup import PwsName
from tracearena.traces import Traces


class BlindDesk(Desk):
    """A desk at which the utilities and s_T of some data sets are known from elsewhere.

    Parameters
    ----------
    intake
        What lies in the folder.
    utilities
        Utility of each data set whose original traces are not there.
    inferences
        s_T of each attack on such a data set, by attacker and target.

    Attributes
    ----------
    told_utilities, told_inferences
        The scores that were taken as they were told.
    """

    def __init__(
        self,
        intake: Intake,
        utilities: Mapping[Target, float],
        inferences: Mapping[tuple[str, Target], float],
    ) -> None:
        super().__init__(intake)
        self.utilities, self.inferences = utilities, inferences
        self.told_utilities: set[Target] = set()
        self.told_inferences: set[tuple[str, Target]] = set()

    def _require_agreement(self, truth: Truth) -> None:
        if truth.has_original:
            super()._require_agreement(truth)

    def _utility(self, truth: Truth, path: Path) -> float | None:
        if truth.has_original:
            return super()._utility(truth, path)
        self.told_utilities.add(truth.target)
        return self.utilities.get(truth.target)

    def _attack_score(self, truth: Truth, attacker: str, name: PwsName, path: Path) -> float | None:
        if truth.has_original or name.kind == "etable":
            return super()._attack_score(truth, attacker, name, path)
        self.told_inferences.add((attacker, truth.target))
        return self.inferences.get((attacker, truth.target))

    def told(self) -> list[str]:
        """Return the scores that were taken as they were told, in words."""
        utilities = [f"utility of {_called(target)}" for target in sorted(self.told_utilities)]
        return utilities + [
            f"s_T of {who} on {_called(target)}" for who, target in sorted(self.told_inferences)
        ]

    def is_release(self, truth: Truth, handed_in: Path) -> bool:
        """Whether what was released is what was handed in, under the pseudonyms of the ID table."""
        if truth.has_original:
            return super().is_release(truth, handed_in)
        obfuscated = read_obfuscated(handed_in, stand_in(truth), self.rules)
        return is_release(obfuscated, truth.public, truth.id_table)


def stand_in(truth: Truth) -> Traces:
    """Return traces with the users and instants of the original, at no place in particular.

    They follow from what was released and the ID table, and are enough to read obfuscated traces by.
    """
    public, table = truth.public, truth.id_table
    if not np.array_equal(public.user_ids, table.pseudonyms):
        raise DataError(f"{truth.file('pubtraces').name} has other pseudonyms than the ID table")
    order = np.argsort(table.user_ids)
    named = public.take_users(order).with_user_ids(table.user_ids[order])
    return Traces(
        named.places,
        named.clock,
        user_ids=named.user_ids,
        offsets=named.offsets,
        instants=named.instants,
        place_index=np.zeros(named.n_events, np.int32),
        span=named.span,
    )


def _called(target: Target) -> str:
    team, number = target
    return f"team {team}, data set {number}"
