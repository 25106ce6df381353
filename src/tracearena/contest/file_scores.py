"""One file, checked by the one checker and scored by the one scorer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tracearena.contest.rules import Rules
from tracearena.formats import pwscup
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


def read_obfuscated(path: Path, original: Traces, rules: Rules) -> ObfuscatedTraces:
    """Read what a team hands in, within the limits of the rules."""
    return pwscup.read_obfuscated(
        path,
        original,
        allow_repetition=rules.utility_rule == "2019",
        max_bytes=rules.largest_file_mb * 2**20,
        max_listed_ids=rules.largest_listed_ids,
    )


def utility_of(original: Traces, obfuscated: ObfuscatedTraces, rules: Rules) -> float:
    """Return the utility of obfuscated traces."""
    return utility_score(
        original, obfuscated, rule=rules.utility_rule, limit_km=rules.utility_limit_km
    ).utility


def reidentification_of(id_table: IdTable, guess: IdTable, among: Any = None) -> float:
    """Return the privacy that an inferred ID table leaves, to all users or to those `among` them."""
    if among is not None:
        chosen = np.isin(id_table.user_ids, among)
        id_table = IdTable(id_table.pseudonyms[chosen], id_table.user_ids[chosen])
        guess = IdTable(guess.pseudonyms[chosen], guess.user_ids[chosen])
    return reidentification_score(id_table, guess).reidentification


def trace_inference_of(original: Traces, guess: Traces, rules: Rules, among: Any = None) -> float:
    """Return the privacy that inferred traces leave, to all users or to those `among` them."""
    if among is not None:
        original = original.take_users(np.flatnonzero(np.isin(original.user_ids, among)))
    return trace_inference_score(
        original, guess, sensitive_weight=rules.sensitive_weight, limit_km=rules.inference_limit_km
    ).trace_inference


def score_obfuscated(path: Path, original: Traces, rules: Rules) -> float:
    """Check obfuscated traces and return their utility."""
    return utility_of(original, read_obfuscated(path, original, rules), rules)


def score_table(path: Path, id_table: IdTable, users: Any, rules: Rules) -> float:
    """Check an inferred ID table and return the privacy that it leaves."""
    limit = rules.largest_file_mb * 2**20
    guess = pwscup.read_inferred_table(path, id_table.pseudonyms, users=users, max_bytes=limit)
    return reidentification_of(id_table, guess)


def score_traces(path: Path, original: Traces, rules: Rules) -> float:
    """Check inferred traces and return the privacy that they leave."""
    guess = pwscup.read_inferred_traces(path, original, max_bytes=rules.largest_file_mb * 2**20)
    return trace_inference_of(original, guess, rules)


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
