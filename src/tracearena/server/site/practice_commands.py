"""The commands by which a team tests itself on a sample team, with the files of this very contest."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from django.utils.translation import gettext

from tracearena.contest import Rules
from tracearena.contest.data import REGIONS, official

DEFENCE, WHO, WHERE = "PL(4,1)", "VisitProb-R", "VisitProb-T"
"""A defence and two attacks to begin with; a team puts its own files in their place."""


class Lesson(NamedTuple):
    """Commands that belong together, and what they are for."""

    title: str
    commands: list[str]


def lessons(team: str, sample: str, number: int, rules: Rules) -> list[Lesson]:
    """Return the commands of a defence and of both attacks on a sample team, in their order.

    Parameters
    ----------
    team
        Who practises.
    sample
        The sample team, whose originals everybody has.
    number
        The data set.
    rules
        Those of the contest: the scores are computed by them.
    """
    kinds = ("orgtraces", "reftraces", "anotraces", "pubtraces", "ptable")
    file = {kind: str(official(kind, int(sample), number)) for kind in kinds}
    file |= {kind: str(official(kind, int(sample), number, int(team))) for kind in ("etable", "etraces")}
    return [
        Lesson(gettext("Defend, and see whether it is useful enough"), _defend(file, rules)),
        Lesson(gettext("Be the judge: draw pseudonyms"), _judge(file)),
        Lesson(gettext("Attack: who is who"), _who(file)),
        Lesson(gettext("Attack: who was where"), _where(file, rules)),
    ]


def _defend(file: dict[str, str], rules: Rules) -> list[str]:
    original, made = file["orgtraces"], file["anotraces"]
    by_rule = ("--rule", rules.utility_rule, "--threshold", f"{rules.utility_threshold:g}")
    places = ("--places", REGIONS)
    return [
        _line("obfuscate", DEFENCE, original, made, *places),
        _line("check", "obfuscated", made, *places, "--original", original),
        _line("score", "utility", *places, "--original", original, "--obfuscated", made, *by_rule),
    ]


def _judge(file: dict[str, str]) -> list[str]:
    given = ("--original", file["orgtraces"], "--id-table", file["ptable"], "--places", REGIONS)
    return [_line("pseudonymise", file["anotraces"], file["pubtraces"], *given)]


def _who(file: dict[str, str]) -> list[str]:
    known, made = _known(file), file["etable"]
    return [
        _line("attack", WHO, made, *known),
        _line("check", "inferred-table", made, *known),
        _line("score", "reidentification", "--id-table", file["ptable"], "--inferred", made),
    ]


def _where(file: dict[str, str], rules: Rules) -> list[str]:
    known, made = _known(file), file["etraces"]
    truth = ("--places", REGIONS, "--original", file["orgtraces"], "--inferred", made)
    return [
        _line("attack", WHERE, made, *known),
        _line("check", "inferred-traces", made, *known),
        _line("score", "trace-inference", *truth, "--sensitive-weight", f"{rules.sensitive_weight:g}"),
    ]


def _known(file: dict[str, str]) -> tuple[str, ...]:
    """Return what an attacker has."""
    return ("--places", REGIONS, "--reference", file["reftraces"], "--anonymized", file["pubtraces"])


def _line(*words: str) -> str:
    return shlex.join(("tracearena", *words))
