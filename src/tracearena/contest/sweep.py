"""Many defences against many attacks."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from tracearena import registry
from tracearena.contest.ensemble import AttackScores, Ensemble, all_attacks, make_attacks
from tracearena.contest.pseudonyms import pseudonymise
from tracearena.contest.rules import Rules
from tracearena.engine import (
    Cluster,
    Progress,
    SeedLike,
    blocks,
    child_seed,
    one_library_thread,
    run_blocks,
    seed_sequence,
)
from tracearena.errors import DataError
from tracearena.formats._files import replacing
from tracearena.metrics import utility_score
from tracearena.metrics.utility import UtilityRule
from tracearena.obfuscation import Obfuscator
from tracearena.traces import Traces

SAMPLE_DEFENCES = (
    "No",
    *(f"MRLH(0,0,{deletion})" for deletion in ("0.1", "0.2", "0.5", "0.8")),
    *(f"MRLH(1,1,{deletion})" for deletion in ("0", "0.1", "0.2", "0.5", "0.8")),
    *(f"RR({epsilon})" for epsilon in ("0.1", "1", "2", "4", "6", "8", "10", "12", "14")),
    *(f"PL({level},1)" for level in ("0.1", "1", "2", "3", "4", "5", "6", "7")),
    *(f"Cheat({share})" for share in ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")),
)
"""The 37 sample defences of the organisers' table ([samples] section 3.1, and PL(0.1,1))."""

SAMPLE_ATTACKS = ("Random-R", "VisitProb-R", "HomeProb-R", "Random-T", "VisitProb-T", "HomeProb-T")
"""The six sample attacks of 2019."""

ATTACKS_2019 = (*SAMPLE_ATTACKS, "FuzzyCount-R", "FuzzyCount-T", "Replay-T")
"""What a team of 2019 had to withstand: the sample attacks, the winner's, and replay."""

LEGACY_SEED = 1


@dataclass(frozen=True)
class SweepRow:
    """One defence: its utility, whether that is enough, and its privacy against each attack."""

    defence: str
    utility: float
    valid: bool
    scores: AttackScores

    def to_dict(self) -> dict[str, Any]:
        """Return one flat row of a table."""
        return {
            "defence": self.defence,
            "utility": self.utility,
            "valid": self.valid,
            **self.scores.to_dict(),
        }


def run_sweep(
    reference: Traces,
    original: Traces,
    *,
    defences: Sequence[str] = SAMPLE_DEFENCES,
    attacks: Sequence[str] = SAMPLE_ATTACKS,
    rule: UtilityRule = "paper",
    rules: Rules | None = None,
    legacy_2019: bool = False,
    seed: SeedLike = None,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
) -> list[SweepRow]:
    """Release the original traces under every defence and attack each release with every attack.

    Parameters
    ----------
    reference, original
        What the attackers know, and what is protected.
    defences, attacks
        Names of the registry; by default those of the 2019 contest. Among the attacks ``"all"``
        stands for every one of the registry.
    rule
        How a generalised event is scored (see `utility_score`).
    rules
        Threshold, distance limits and sensitive weight; the contest's by default.
    legacy_2019
        Reproduce the organisers' programs: their draws for the defences (from seed 1 unless a whole
        number is given), a tenth of the events and ten places of a set for the attacks.
    seed
        What a defence or attack draws depends on the seed and its own name only.
    cluster
        Try the defences in its workers, with the same scores.

    Notes
    -----
    Scores are given for invalid releases too; a contest would count them as 0.
    """
    if legacy_2019 and seed is None:
        seed = LEGACY_SEED
    strangers = original.user_ids[~np.isin(original.user_ids, reference.user_ids)]
    if len(strangers):
        raise DataError(
            f"{len(strangers):,} users of the original traces are not in the reference traces, such as user "
            f"{strangers[0]}; leave out users that only one of the two has"
        )
    limits = rules or Rules()
    root = seed_sequence(seed)
    ensemble = Ensemble(
        make_attacks(_with_all(attacks), legacy_2019=legacy_2019),
        sensitive_weight=limits.sensitive_weight,
        limit_km=limits.inference_limit_km,
    ).fit(reference)
    obfuscators: list[Obfuscator] = [
        registry.create(name, "obfuscator", legacy_2019=legacy_2019) for name in defences
    ]

    def one(block: int, first: int, stop: int) -> SweepRow:
        obfuscator = obfuscators[first]
        chance = child_seed(root, zlib.crc32(str(obfuscator).encode()))
        drawn_from = seed if legacy_2019 and isinstance(seed, int) else child_seed(chance, 0)
        obfuscated = obfuscator.transform(original, seed=drawn_from)
        utility = utility_score(original, obfuscated, rule=rule, limit_km=limits.utility_limit_km).utility
        release = pseudonymise(obfuscated, seed=child_seed(chance, 1))
        scores = ensemble.score(original, release, seed=child_seed(chance, 2))
        return SweepRow(str(obfuscator), utility, limits.is_valid(utility), scores)

    with one_library_thread():
        return run_blocks(one, blocks(len(obfuscators), 1), cluster=cluster, progress=progress)


def _with_all(attacks: Sequence[str]) -> list[str]:
    named = [name for name in attacks if name != "all"]
    return named if len(named) == len(attacks) else list(dict.fromkeys([*named, *all_attacks()]))


def write_table(rows: Sequence[SweepRow], path: str | PathLike[str]) -> None:
    """Write one line a defence: utility, valid, one column for each attack, and both minima."""
    table = [row.to_dict() for row in rows]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else ["defence", "utility", "valid"])
    writer.writeheader()
    writer.writerows(
        {key: str(value).lower() if key == "valid" else value for key, value in row.items()} for row in table
    )
    with replacing(path) as file:
        file.write(text.getvalue().replace("\r\n", "\n").encode())
