"""One file, checked by the one checker and scored by the one scorer.

Reading and scoring stand apart (`score_table` reads and calls `reidentification_of`), so that what one
process has checked another can score.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.rules import Rules
from tracearena.errors import DataError
from tracearena.formats import pwscup
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.traces import IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import positions

SCORER_VERSION = 1
"""It grows whenever the same files would get another score."""


def read_obfuscated(path: Path, original: Traces, rules: Rules) -> ObfuscatedTraces:
    """Read what a team hands in, within the limits of the rules."""
    return pwscup.read_obfuscated(
        path,
        original,
        allow_repetition=rules.utility_rule == "2019",
        max_bytes=rules.largest_file_mb * 2**20,
        max_listed_ids=rules.largest_listed_ids,
    )


def score_obfuscated(path: Path, original: Traces, rules: Rules) -> float:
    """Check obfuscated traces and return their utility."""
    return utility_of(original, read_obfuscated(path, original, rules), rules)


def score_table(path: Path, id_table: IdTable, users: Any, rules: Rules, among: Any = None) -> float:
    """Check an inferred ID table and return the privacy that it leaves."""
    limit = rules.largest_file_mb * 2**20
    guess = pwscup.read_inferred_table(path, id_table.pseudonyms, users=users, max_bytes=limit)
    return reidentification_of(id_table, guess, among)


def score_traces(path: Path, original: Traces, rules: Rules, among: Any = None) -> float:
    """Check inferred traces and return the privacy that they leave."""
    guess = pwscup.read_inferred_traces(path, original, max_bytes=rules.largest_file_mb * 2**20)
    return trace_inference_of(original, guess, rules, among)


def utility_of(original: Traces, obfuscated: ObfuscatedTraces, rules: Rules) -> float:
    """Return the utility s_U of obfuscated traces that are checked already."""
    score = utility_score(original, obfuscated, rule=rules.utility_rule, limit_km=rules.utility_limit_km)
    return score.utility


def reidentification_of(id_table: IdTable, guess: IdTable, among: Any = None) -> float:
    """Return the privacy s_R that an inferred table leaves, over the pseudonyms of the users who count.

    Parameters
    ----------
    id_table, guess
        Who is who, and what the attacker says; both answer the same pseudonyms.
    among
        Ids of the users who count; None for all.

    Examples
    --------
    >>> truth, guess = IdTable([4, 5, 6], [2, 3, 1]), IdTable([4, 5, 6], [2, 2, 1])
    >>> reidentification_of(truth, guess, among=[2, 3])
    0.5
    """
    score = reidentification_score(id_table, guess)
    if among is not None:
        # Both tables answer the same pseudonyms in the same order, or there would be no score.
        rows = _chosen(among, id_table.user_ids)
        score = reidentification_score(_rows_of(id_table, rows), _rows_of(guess, rows))
    return score.reidentification


def trace_inference_of(original: Traces, guess: Traces, rules: Rules, among: Any = None) -> float:
    """Return the privacy s_T that inferred traces leave, over the events of the users who count.

    Parameters
    ----------
    original, guess
        The truth, and a place for each of its events.
    rules
        Weight of sensitive places, and distance from which an inference has failed.
    among
        Ids of the users who count; None for all.
    """
    if among is not None:
        original = original.take_users(_chosen(among, original.user_ids))
    return trace_inference_score(
        original, guess, sensitive_weight=rules.sensitive_weight, limit_km=rules.inference_limit_km
    ).trace_inference


def _chosen(among: Any, user_ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return where the users who count stand, ascending; each must be there, and once."""
    wanted = np.asarray(among)
    chosen = positions(wanted, user_ids)
    if not len(chosen) or (chosen < 0).any() or len(np.unique(chosen)) < len(chosen):
        raise DataError(f"the {len(wanted):,} users who count are not all different users of the data set")
    return np.sort(chosen)


def _rows_of(table: IdTable, rows: NDArray[np.int64]) -> IdTable:
    return IdTable(table.pseudonyms[rows], table.user_ids[rows])


def is_release(obfuscated: ObfuscatedTraces, public: ObfuscatedTraces, table: IdTable) -> bool:
    """Whether released traces are the obfuscated ones under the pseudonyms of a table."""
    if not np.array_equal(public.user_ids, table.pseudonyms):
        return False
    if not np.array_equal(np.sort(table.user_ids), obfuscated.user_ids):
        return False
    order = np.searchsorted(obfuscated.user_ids, table.user_ids)
    named = obfuscated.take_users(order).with_user_ids(table.pseudonyms)
    return named.has_rows_of(public) and _same_cells(named, public)


def _same_cells(one: ObfuscatedTraces, other: ObfuscatedTraces) -> bool:
    """Whether every event lists the same places, however the sets are numbered."""
    if not np.array_equal(one.is_set, other.is_set):
        return False
    single = ~one.is_set
    if not np.array_equal(one.codes[single], other.codes[single]):
        return False
    pairs = [traces.pairs() for traces in (one, other)]
    listed = [np.lexsort((pair.place, pair.event)) for pair in pairs]
    return all(
        np.array_equal(getattr(pairs[0], name)[listed[0]], getattr(pairs[1], name)[listed[1]])
        for name in ("event", "place")
    )
