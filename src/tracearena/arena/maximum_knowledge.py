"""What an attacker knows beside the release: other days of the same people, or the very days released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from tracearena.algorithms import catalogue
from tracearena.arena.ensemble import KNOWING_ATTACKS
from tracearena.checks import require_choice
from tracearena.errors import ParameterError
from tracearena.traces import Traces

Knowledge = Literal["partial", "maximum"]
"""``partial``: the reference traces; ``maximum``: the original traces themselves ([contest] section 3.2)."""


def known_to(knowledge: Knowledge, reference: Traces, original: Traces) -> Traces:
    """Return the traces that an attacker learns from."""
    require_choice("knowledge", knowledge, get_args(Knowledge))
    return original if knowledge == "maximum" else reference


def attacks_with(knowledge: Knowledge, names: Sequence[str]) -> list[str]:
    """Return the attacks that are made: whoever knows the originals can only be asked who is who.

    He is not held to the attacks named: `Aligned-R`, made for him, is always among them.

    [contest] section 3.2, remark 3: "we cannot evaluate the attribute inference risk in the
    maximum-knowledge attacker model".

    >>> attacks_with("maximum", ["VisitProb-R", "VisitProb-T"])
    ['VisitProb-R', 'Aligned-R']
    """
    if knowledge == "partial":
        return list(names)
    kept = [name for name in names if catalogue.resolve(name)[0].kind == "reidentification"]
    if not kept:
        raise ParameterError(
            f"{', '.join(names)}: an attacker who knows the original traces has nothing to infer; "
            "name a re-identification, such as VisitProb-R"
        )
    return list(dict.fromkeys([*kept, *KNOWING_ATTACKS]))
