"""Mechanism: what an attacker was told of the defence, by its name."""

from __future__ import annotations

from typing import Any

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Algorithm, Defence, kinds_of
from tracearena.attacks.bayesian import emission
from tracearena.errors import ParameterError

UNKNOWN = "unknown"
ADAPTIVE = "adaptive"


def mechanism_of(name: str) -> Algorithm | None:
    """Return the defence that an attacker was told; None where he has to estimate it."""
    if name == UNKNOWN:
        return None
    if name == ADAPTIVE:
        raise ParameterError(
            "adaptive: there is no defence to run on the reference traces; sweep has one, "
            "elsewhere name it with --mechanism 'PL(4,1)' or leave it unknown"
        )
    from tracearena.obfuscation import place_part

    made: Defence[Any, Any] = catalogue.create(name, ("obfuscator", "gps-obfuscator"))
    part = place_part(made)
    if part is not None and "obfuscator" not in kinds_of(part) and not emission.is_known(part):
        raise ParameterError(
            f"{made} works on GPS traces, and what it makes of places is not known; "
            "name a defence of places, or GeoInd"
        )
    return made
