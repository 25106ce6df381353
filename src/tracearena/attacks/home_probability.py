"""HomeProb: who is at home where this trace begins its days?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tracearena.attacks.matching import MatchingIdentification, MatchingInference
from tracearena.attacks.visit_probability import LEGACY_SET_SIZE, VisitMatcher

HOME_HOURS = (8.0, 9.0)
"""People tend to be at home from 8:00 to 9:00 ([contest] appendix D)."""


@dataclass(kw_only=True)
class HomeProbabilityR(MatchingIdentification):
    """VisitProb-R from the events between 8:00 and 9:00 alone ([contest] section 4.1).

    Parameters
    ----------
    legacy_2019
        Look at ten places of a set, as the organisers' program did.
    """

    name: ClassVar[str] = "HomeProb-R"

    legacy_2019: bool = field(default=False, repr=False)

    def matcher(self) -> VisitMatcher:
        """Return the matcher over the home hours."""
        return _matcher(self.legacy_2019)


@dataclass(kw_only=True)
class HomeProbabilityT(MatchingInference):
    """VisitProb-T with users matched by HomeProb ([contest] section 4.1).

    Parameters
    ----------
    legacy_2019
        Look at ten places of a set, as the organisers' program did.
    """

    name: ClassVar[str] = "HomeProb-T"

    legacy_2019: bool = field(default=False, repr=False)

    def matcher(self) -> VisitMatcher:
        """Return the matcher over the home hours."""
        return _matcher(self.legacy_2019)


def _matcher(legacy_2019: bool) -> VisitMatcher:
    if legacy_2019:
        return VisitMatcher(hours=HOME_HOURS, largest_set=LEGACY_SET_SIZE, in_order=True)
    return VisitMatcher(hours=HOME_HOURS)
