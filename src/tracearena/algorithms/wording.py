"""The kinds of algorithms in plain words, and the words by which people ask for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracearena.algorithms.kinds import Kind


@dataclass(frozen=True)
class Wording:
    """How a kind is spoken of.

    Attributes
    ----------
    side
        What all kinds of its side are: defence, attack or synthesizer.
    one, many
        One algorithm of the kind, and all of them.
    command
        The command that takes one, with ``NAME`` in its place.
    """

    side: str
    one: str
    many: str
    command: str


WORDING: Mapping[Kind, Wording] = {
    "obfuscator": Wording(
        "defence",
        "a defence of traces at places",
        "defences of traces at places",
        "tracearena obfuscate NAME IN OUT",
    ),
    "gps-obfuscator": Wording(
        "defence", "a defence of GPS traces", "defences of GPS traces", "tracearena obfuscate NAME IN OUT"
    ),
    "reidentification": Wording(
        "attack",
        "an attack that says who is who",
        "attacks that say who is who",
        "tracearena attack NAME OUT --reference R --anonymized A",
    ),
    "trace-inference": Wording(
        "attack",
        "an attack that says who was where",
        "attacks that say who was where",
        "tracearena attack NAME OUT --reference R --anonymized A",
    ),
    "gps-attack": Wording(
        "attack",
        "an attack on GPS traces",
        "attacks on GPS traces",
        "tracearena attack NAME OUT --anonymized A",
    ),
    "synthesizer": Wording(
        "synthesizer", "a synthesizer", "synthesizers", "tracearena synthesize NAME IN OUT"
    ),
}
"""Every kind in the order in which people meet them."""

_GROUPS: Mapping[str, tuple[Kind, ...]] = {
    "defences": ("obfuscator", "gps-obfuscator"),
    "gps-defences": ("gps-obfuscator",),
    "attacks": ("reidentification", "trace-inference", "gps-attack"),
    "gps-attacks": ("gps-attack",),
    "synthesizers": ("synthesizer",),
}
KIND_WORDS: tuple[str, ...] = (*_GROUPS, "reidentification", "trace-inference")
"""What people write for the kinds they ask for."""


def kinds_called(word: str) -> tuple[Kind, ...]:
    """Return the kinds that a word such as ``defences`` means, or the one of that very name; or none.

    >>> kinds_called("gps-defences"), kinds_called("defence")
    (('gps-obfuscator',), ('obfuscator', 'gps-obfuscator'))
    """
    asked = word.lower()
    exact = tuple(kind for kind in WORDING if kind == asked)
    return exact or _GROUPS.get(asked) or _GROUPS.get(f"{asked}s", ())


def kinds_beside(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return the kinds of the same sides: whoever asks for a defence may mean one of GPS traces."""
    sides = {WORDING[kind].side for kind in kinds}
    return tuple(kind for kind in WORDING if not sides or WORDING[kind].side in sides)
