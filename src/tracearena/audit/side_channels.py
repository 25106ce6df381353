"""Side channels of a release: what tells people apart that nobody meant to publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.data import AuditData, AuditRelease
from tracearena.audit.linkability import Linkability, LinkResult
from tracearena.audit.settings import Proportion
from tracearena.traces import IdTable
from tracearena.traces._arrays import find_positions
from tracearena.traces.time import utc_seconds

if TYPE_CHECKING:
    import polars as pl


SENTENCES = {
    "hours": "the hours at which they are seen",
    "intervals": "the time between their rows",
    "exact intervals": "the seconds between their points",
    "first and last of day": "when their days begin and end",
    "day activity": "the days on which they are seen",
    "seconds": "the seconds and minutes of their times",
    "decimals": "the decimals of their coordinates",
    "duplicates": "repeated coordinates or times",
}
"""Groups of evidence that look at times or at the file itself, in words."""
ORDERS = ("the order of rows", "the order of pseudonyms", "the numbers of trajectories")
"""Attacks by the order of the released file."""
COLUMN = "the column {!r}"
"""Attacks by a column of the file that is neither time nor place."""
NAMED_FROM = 0.02
"""A channel is named where the lower end of what it finds is above this, and above guessing."""
_ANY_COLUMN = COLUMN.partition("{")[0]
_LONGEST_NAME = 40
_UNLIKELY = 4.5
"""Rank correlations of this many standard deviations do not happen by chance."""


def describe_channels(found: Linkability, is_gps: bool) -> list[str]:
    """Say by what alone people can be told apart, apart from places."""
    channels = [
        (share, SENTENCES.get(_sentence_key(group, is_gps))) for group, share in found.evidence.items()
    ]
    by_file = (*ORDERS, *(one.attack for one in found.attacks if one.attack.startswith(_ANY_COLUMN)))
    channels += [(one.first, one.attack) for one in found.attacks if one.attack in by_file and one.first]
    told = [
        (share.value, f"People can be told apart by {what} alone: {share.value:.1%} are found.")
        for share, what in channels
        if what is not None and share.low > max(NAMED_FROM, share.chance)
    ]
    return [sentence for _, sentence in sorted(told, reverse=True)]


def _sentence_key(group: str, is_gps: bool) -> str:
    return "exact intervals" if is_gps and group == "intervals" else group


def attack_orders(
    material: AuditData,
    published: AuditRelease,
    id_table: IdTable,
    original_order: NDArray[Any] | None = None,
    release_order: NDArray[Any] | None = None,
) -> list[LinkResult]:
    """Match the k-th person of the original to the k-th of the release, in every order that files have.

    Parameters
    ----------
    original_order
        Ids of the users by their first rows in the file; None where rows are in the order of users.
    release_order
        Pseudonyms by their first rows in the released file.

    Returns
    -------
    attacks
        One for each order that correlates with that of the original, with the share it finds.
    """
    users = np.flatnonzero((published.at >= 0) & material.cut.both)
    if len(users) < 3:
        return []
    known = [users.astype(np.float64)]
    if original_order is not None:
        known.append(_compute_ranks(find_positions(material.exact.user_ids[users], original_order)))
    seen = {"the order of pseudonyms": published.at[users].astype(np.float64)}
    if release_order is not None:
        at = find_positions(id_table.user_ids, material.exact.user_ids[users])
        pseudonym = np.empty(len(users), id_table.pseudonyms.dtype)
        pseudonym[at[at >= 0]] = id_table.pseudonyms[at >= 0]
        seen["the order of rows"] = _compute_ranks(find_positions(pseudonym, release_order))
    if published.points is not None:
        first = _find_first_trajectories(published)
        if first is not None:
            seen["the numbers of trajectories"] = first[published.at[users]]
    found = []
    for name, order in seen.items():
        shares = [_match_by_rank(one, order) for one in known]
        best = max((one for one in shares if one is not None), key=lambda one: one.value, default=None)
        if best is not None:
            found.append(LinkResult(name, {1: best}))
    return found


def attack_columns(
    material: AuditData,
    known: Mapping[str, pl.DataFrame],
    seen: Mapping[str, pl.DataFrame],
    id_table: IdTable | None = None,
) -> list[LinkResult]:
    """Look for people by their most frequent value of a column, before and after the cut.

    Parameters
    ----------
    known, seen
        Who has which value when in the original, and in what is released of it (`read_column_values`).

    Returns
    -------
    attacks
        One for each column that both have and that tells people apart, with the share it finds; of people
        who have a value in common it finds one.
    """
    import polars as pl

    users = np.flatnonzero(material.cut.both)
    ids = material.exact.user_ids[users].astype(str)
    cut = pl.DataFrame({"user": ids, "cut": _compute_cut_seconds(material)[users]})
    names = cut.select("user", name="user")
    if id_table is not None:
        names = pl.DataFrame({"user": id_table.user_ids.astype(str), "name": id_table.pseudonyms.astype(str)})
    found = []
    for column in known.keys() & seen.keys():
        before = _find_usual_values(known[column].join(cut, on="user").filter(pl.col("at") < pl.col("cut")))
        renamed = seen[column].rename({"user": "name"}).join(names, on="name").join(cut, on="user")
        after = _find_usual_values(renamed.filter(pl.col("at") >= pl.col("cut")))
        both = before.join(after, on="user", suffix="_after")
        if both.height < 3:
            continue
        both = both.with_columns(alike=pl.len().over("value"))
        right = both.select(pl.when(pl.col("value") == pl.col("value_after")).then(1 / pl.col("alike")))
        share = Proportion.of(right.to_series().fill_null(0.0).to_numpy(), 1 / both.height)
        if share is not None and share.low > max(NAMED_FROM, share.chance):
            found.append(LinkResult(COLUMN.format(column[:_LONGEST_NAME]), {1: share}))
    return sorted(found, key=lambda one: one.attack)


def _compute_cut_seconds(material: AuditData) -> NDArray[np.int64]:
    """Return from when on everybody's rows are the later ones, as the times of the file's rows count."""
    import polars as pl

    from tracearena.traces.zones import zone_to_utc

    traces = material.exact
    if traces.clock.first_day is None:
        return material.cut.instant
    seconds = utc_seconds(traces)
    if material.points is not None and traces.timestamps is None:
        seconds = zone_to_utc(pl.Series(seconds), material.zone or "UTC").to_numpy()
    later = traces.instants >= material.cut.instant[traces.user_index]
    cut = np.full(traces.n_users, np.iinfo(np.int64).max)
    np.minimum.at(cut, traces.user_index[later], seconds[later])
    return cut


def _find_usual_values(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the most frequent value of every user; of equals the first by its letters."""
    import polars as pl

    counts = rows.group_by("user", "value").len().sort("len", "value", descending=[True, False])
    return counts.group_by("user").agg(pl.col("value").first()).sort("user")


def _compute_ranks(at: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(at >= 0, at, np.nan).astype(np.float64)


def _find_first_trajectories(published: AuditRelease) -> NDArray[np.float64] | None:
    """Return the lowest number among each user's trajectories; None where they have no numbers."""
    points = published.points
    assert points is not None
    if points.trajectory_ids.dtype.kind not in "iu" or points.n_trajectories < points.n_users:
        return None
    first = np.full(points.n_users, np.inf)
    owner = points.trajectory_user
    np.minimum.at(first, owner[owner >= 0], points.trajectory_ids[owner >= 0].astype(np.float64))
    return np.where(np.isfinite(first), first, np.nan)


def _match_by_rank(known: NDArray[np.float64], seen: NDArray[np.float64]) -> Proportion | None:
    """Return who is found by rank, forwards or backwards; None where the orders have nothing in common."""
    both = np.isfinite(known) & np.isfinite(seen)
    n = int(both.sum())
    if n < 3 or len(np.unique(seen[both])) < n:
        return None
    mine, theirs = (np.argsort(np.argsort(one[both], kind="stable")) for one in (known, seen))
    correlation = float(np.corrcoef(mine, theirs)[0, 1])
    if abs(correlation) * np.sqrt(n - 1) < _UNLIKELY:
        return None
    right = mine == (theirs if correlation > 0 else n - 1 - theirs)
    return Proportion.of(right, 1 / n)
