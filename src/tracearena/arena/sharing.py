"""Which attacks answer from one match: those whose matchers are equal, or turn out to be."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracearena.algorithms import Obfuscator, ReidentificationAttack, TraceInferenceAttack, validation
from tracearena.attacks import Matcher, MatchingIdentification, MatchingInference
from tracearena.engine import child_seed
from tracearena.errors import ParameterError, TracearenaError
from tracearena.traces import ObfuscatedTraces

Attack = ReidentificationAttack | TraceInferenceAttack
Sharing = list[tuple[Attack, Attack | TracearenaError]]
"""Attacks, each beside itself told the defence, or the error that it ended with."""
Group = tuple[Matcher | TracearenaError | None, Sharing]
"""A matcher, or the error that it ended with, and the attacks that answer from it."""


def together(
    attacks: Iterable[Attack],
    anonymized: ObfuscatedTraces,
    defence: Obfuscator | None,
    root: np.random.SeedSequence,
) -> list[Group]:
    """Group attacks by the matcher that they answer from; those without one are a group too.

    Who suspects the very defence that another was told is no different from that other: they are one group.
    """
    groups: list[Group] = []
    for attack in attacks:
        try:
            told: Attack | TracearenaError = _told(attack, defence)
        except TracearenaError as error:
            told = error
        matcher = told.matcher_ if isinstance(told, (MatchingIdentification, MatchingInference)) else None
        _join(groups, matcher, [(attack, told)])
    settled: list[Group] = []
    for known, sharing in groups:
        _join(settled, _settled(known, anonymized, root), sharing)
    return settled


def own_seed(root: np.random.SeedSequence, who: Attack | Matcher) -> np.random.SeedSequence:
    """Return the seed of an attack or a matcher, which depends on its name and on no other."""
    return child_seed(root, zlib.crc32(str(who).encode()))


def _told(attack: Any, defence: Obfuscator | None) -> Any:
    """Return an attack that is ready: one that waits is told the defence."""
    if not getattr(attack, "waits", False):
        return attack
    if defence is None:
        raise ParameterError(f"{attack} waits to be told the defence, and nobody says which it is")
    with validation.blaming(attack, "against"):
        return attack.against(defence)


def _settled(
    matcher: Matcher | TracearenaError | None, anonymized: ObfuscatedTraces, root: np.random.SeedSequence
) -> Matcher | TracearenaError | None:
    """Return what a matcher turns out to be when it sees a release, or the error that it ends with."""
    if not isinstance(matcher, Matcher):
        return matcher
    try:
        with validation.blaming(matcher, "settled"):
            return matcher.settled(anonymized, seed=own_seed(root, matcher))
    except TracearenaError as error:
        return error


def _join(groups: list[Group], matcher: Matcher | TracearenaError | None, sharing: Sharing) -> None:
    """Put attacks to the group of their matcher, or into a new one."""
    for known, others in groups:
        if known == matcher:
            others.extend(sharing)
            return
    groups.append((matcher, list(sharing)))
