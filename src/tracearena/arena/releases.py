"""One defence on one set of traces: what it leaves useful, and what is released."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from tracearena.algorithms import Obfuscator, validation
from tracearena.arena.pseudonyms import Release, pseudonymise
from tracearena.arena.scoring import Scoring
from tracearena.engine import SeedLike, child_seed
from tracearena.errors import DataError
from tracearena.metrics import utility_score
from tracearena.traces import Traces


class Trial(NamedTuple):
    """A release, how useful it is, and the seed of whoever attacks it."""

    utility: float
    release: Release
    attack_seed: np.random.SeedSequence


def try_out(
    obfuscator: Obfuscator,
    original: Traces,
    scoring: Scoring,
    root: np.random.SeedSequence,
    *,
    drawn_from: SeedLike = None,
) -> Trial:
    """Release traces under a defence; what is drawn depends on the root and the defence's name only.

    Parameters
    ----------
    drawn_from
        Another seed for the defence itself.
    """
    chance = child_seed(root, zlib.crc32(str(obfuscator).encode()))
    own = child_seed(chance, 0) if drawn_from is None else drawn_from
    if not obfuscator.keeps_times:
        raise DataError(
            f"{obfuscator} changes times, and s_U compares event by event; audit and protect measure what "
            "such a release keeps"
        )
    obfuscated = validation.transformed(obfuscator, original, seed=own)
    score = utility_score(original, obfuscated, rule=scoring.utility_rule, limit_km=scoring.utility_limit_km)
    return Trial(score.utility, pseudonymise(obfuscated, seed=child_seed(chance, 1)), child_seed(chance, 2))


def refuse_strangers(reference: Traces, original: Traces) -> None:
    """Refuse users whom no attacker knows."""
    strangers = original.user_ids[~np.isin(original.user_ids, reference.user_ids)]
    if len(strangers):
        raise DataError(
            f"{len(strangers):,} users of the original traces are not in the reference traces, such as user "
            f"{strangers[0]}; leave out users that only one of the two has"
        )
