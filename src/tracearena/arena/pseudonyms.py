"""Pseudonymisation: users are shuffled and get new consecutive ids."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.frames import answer_frame, read_warning_of_losses
from tracearena.checks import require_kind
from tracearena.dataframes import find_library
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces
from tracearena.traces.gps import number_trajectories

Published = TypeVar("Published", Traces, GpsTraces, ObfuscatedTraces)


@dataclass(frozen=True, eq=False)
class Release(Generic[Published]):
    """Traces under pseudonyms, and the secret ID table.

    Attributes
    ----------
    anonymized
        The traces under pseudonyms in ascending order; these are published.
    id_table
        The users behind the pseudonyms; keep it secret.
    """

    anonymized: Published
    id_table: IdTable


def pseudonymise(traces: Published, *, seed: SeedLike = None) -> Release[Published]:
    """Shuffle the users, and give them numbers above all user ids as pseudonyms.

    Users 1..n get the pseudonyms n+1..2n. If user ids are other whole numbers, pseudonyms continue after the
    largest one. If they are texts, pseudonyms are ``P`` and a number from n+1 to 2n.

    Parameters
    ----------
    traces
        The traces to release, of any kind, or a data frame of any library, which is answered with two data
        frames.
    seed
        None, for a real release, shuffles with the cryptographic source of the operating system, and cannot
        be repeated. Use a seed for experiments only.

    References
    ----------
    [contest] section 3.4, "Anonymization".

    Notes
    -----
    Users are sorted by their pseudonyms, so that the order of rows reveals nothing. For the same reason,
    sets of places are renumbered by their first use in the result, and trajectories of GPS traces by their
    order there.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2])
    >>> original = Traces.from_dense([[0], [1], [2]], places, Clock(instants_per_day=24))
    >>> release = pseudonymise(ObfuscatedTraces.from_traces(original), seed=1)
    >>> release.anonymized.user_ids.tolist()
    [4, 5, 6]
    >>> sorted(release.id_table.user_ids.tolist())
    [1, 2, 3]
    """
    library = find_library(traces)
    if library is not None:
        release: Release[Any] = pseudonymise(read_warning_of_losses(traces), seed=seed)
        return Release(answer_frame(release.anonymized, library), answer_frame(release.id_table, library))
    require_kind("pseudonymise", traces, ObfuscatedTraces, Traces, GpsTraces)
    order, id_table = shuffle_ids(traces.user_ids, seed=seed)
    shuffled: Any = traces.take_users(order).with_user_ids(id_table.pseudonyms)
    if isinstance(shuffled, GpsTraces):
        number, _ = number_trajectories(shuffled.user_index, shuffled.trajectory)
        shuffled = shuffled.with_trajectories(number)
    elif isinstance(shuffled, ObfuscatedTraces):
        shuffled = _renumber_sets(shuffled)
    return Release(shuffled, id_table)


def shuffle_ids(user_ids: NDArray[Any], *, seed: SeedLike = None) -> tuple[NDArray[np.int64], IdTable]:
    """Return a random order of users for a release, and the secret table of true identities."""
    order = random_order(len(user_ids), seed)
    return order, IdTable(_number_pseudonyms(user_ids), user_ids[order])


def random_order(n: int, seed: SeedLike = None) -> NDArray[np.int64]:
    """Return the numbers from 0 to n - 1 in random order; without a seed by the system's source."""
    if seed is not None:
        return generator(seed).permutation(n)
    # Ordering by independent random keys is exactly uniform as long as no two keys are equal.
    while True:
        keys = np.frombuffer(secrets.token_bytes(8 * n), np.uint64)
        order = np.argsort(keys, kind="stable")
        if (np.diff(keys[order]) != 0).all():
            return order.astype(np.int64)


def _number_pseudonyms(user_ids: NDArray[Any]) -> NDArray[Any]:
    n = len(user_ids)
    if user_ids.dtype.kind != "i":
        width = len(str(2 * n))
        texts = np.array([f"P{number:0{width}d}" for number in range(n + 1, 2 * n + 1)], np.str_)
        if np.isin(texts, user_ids).any():
            raise DataError(
                f"some user ids are equal to pseudonyms from {texts[0]} to {texts[-1]}; rename these users"
            )
        return texts
    first = int(user_ids.max()) + 1 if n else 1
    if first + n - 1 > np.iinfo(np.int64).max:
        raise DataError(f"user id {first - 1} is too large: {n} pseudonyms above it would not fit")
    return np.arange(first, first + n, dtype=np.int64)


def _renumber_sets(traces: ObfuscatedTraces) -> ObfuscatedTraces:
    events = np.flatnonzero(traces.is_set)
    old = traces.set_index[events]
    first_use = np.full(len(traces.sets), len(events), np.int64)
    # Of several values written to one place the last stays: backwards, that is the first use.
    first_use[old[::-1]] = np.arange(len(events))[::-1]
    order = np.argsort(first_use, kind="stable")[: int((first_use < len(events)).sum())]
    new = np.empty(len(traces.sets), np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    codes = traces.codes.copy()
    codes[events] = -2 - new[old]
    return ObfuscatedTraces.like(traces, codes, traces.sets.take(order))
