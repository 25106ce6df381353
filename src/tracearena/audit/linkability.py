"""Linkability: who is found again when the file is cut in two and the later part gets new names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Obfuscator, catalogue, validation
from tracearena.arena.ensemble import KNOWING_ATTACKS, Ensemble, make_attacks
from tracearena.arena.pseudonyms import random_order
from tracearena.attacks.bayesian.matcher import ADAPTIVE, UNKNOWN
from tracearena.attacks.linking import Linker
from tracearena.attacks.linking.evidence import PLACE_GROUPS, TIME_GROUPS
from tracearena.audit.data import AuditData, AuditRelease, Ints, drop_unvisited
from tracearena.audit.observations import find_usual_spots, select_day_points
from tracearena.audit.settings import Proportion, Ranked, Record, Settings
from tracearena.audit.singling_out import sample_people
from tracearena.engine import child_seed
from tracearena.errors import TracearenaError
from tracearena.obfuscation import NoObfuscation
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import correlate, find_positions, mark_run_starts
from tracearena.traces.geodesy import earth_centred
from tracearena.traces.time import utc_seconds

if TYPE_CHECKING:
    import polars as pl


TOPS = (1, 5, 10)
DAYS = (1, 2, 4, 7, 14, 28)
"""Days of reference that are tried, up to those that there are."""
GUESSING = "Random-R"
ON_PLACES = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R", GUESSING)
"""Attacks that are quick at any number of places; all others work on the grid for heavy attacks."""
BY_DAYS = "VisitProb-R"
FEWEST = 2
_FAR_KM = 20.0
"""Farther apart counts as this far, and so does a person without such a place."""

LINKER = "Link-R"
SURE_FROM = (0.5, 0.9)
"""Posteriors from which on the linker's matches are counted, to see whether they deserve belief."""

_K = TypeVar("_K")
_PEOPLE, _SHUFFLE, _EXACT, _COARSE, _LINKER = range(5)


@dataclass(frozen=True)
class LinkResult(Record):
    """One attack.

    Attributes
    ----------
    attack
        Its name in the catalogue.
    top
        Share of people who are the attack's answer, among its first five, its first ten.
    error
        Why there is no answer.
    """

    attack: str
    top: dict[int, Proportion]
    error: str | None = None

    @property
    def first(self) -> Proportion | None:
        """The share of right answers."""
        return self.top.get(1)


@dataclass(frozen=True)
class Linkability(Record):
    """Who is found again.

    Attributes
    ----------
    attacks
        The linker, and every re-identification attack of the catalogue.
    strongest
        The name of the one that found the most; of equals the first.
    evidence
        What the linker finds by each group of evidence alone.
    sure
        Of the linker's matches whose posterior is at least so much, the share that is right.
    home_and_work
        The same by the places of nights and working hours alone.
    days
        Who is found by `BY_DAYS` from this many days of reference.
    people, left_out
        For how many it was tried; how many have no events on both sides of the cut, or are not released.
    at_least
        Whether attackers who know the defence were not tried, because it is not known: they may find more.
    """

    attacks: tuple[LinkResult, ...]
    strongest: str | None
    evidence: dict[str, Proportion]
    sure: dict[str, Proportion]
    home_and_work: LinkResult | None
    days: dict[int, Proportion]
    people: int
    left_out: int
    at_least: bool = False

    @property
    def headline(self) -> Proportion | None:
        """The share of right answers of the strongest attack."""
        return next((one.first for one in self.attacks if one.attack == self.strongest), None)


class LinkageTask(NamedTuple):
    """What an attacker knows and sees; truth for the judge.

    Attributes
    ----------
    users
        The people, as users of the original.
    known, known_coarse
        Their earlier events.
    seen, seen_coarse
        Their later events as released, in random order, under numbers.
    points
        The GPS points that both were made of, if there are any: known and seen, and the zone of their hours.
    owner
        Who of `users` (index) each number is.
    is_common
        Whether all were cut at one date.
    left_out
        How many more people of the original cannot be looked for.
    """

    users: Ints
    known: Traces
    known_coarse: Traces
    seen: ObfuscatedTraces
    seen_coarse: ObfuscatedTraces
    points: tuple[GpsTraces, GpsTraces, str | None] | None
    owner: Ints
    is_common: bool
    left_out: int


def build_linkage_task(
    material: AuditData, published: AuditRelease, settings: Settings, root: np.random.SeedSequence
) -> LinkageTask:
    """Cut the people in two by time, and draw pseudonyms for the later half."""
    linkable = find_linkable_people(material, published)
    left_out = int((np.diff(material.exact.offsets) > 0).sum()) - int(linkable.sum())
    users = sample_people(linkable, settings.people, root, _PEOPLE)
    order = random_order(len(users), child_seed(root, _SHUFFLE))
    numbers = np.arange(len(users)) + 1

    def take_known(traces: Traces) -> Traces:
        return material.cut.earlier(traces.take_users(users), users).with_user_ids(numbers)

    def take_seen(released: ObfuscatedTraces) -> ObfuscatedTraces:
        later = material.cut.later(released.take_users(published.at[users[order]]), users[order])
        return later.with_user_ids(numbers + len(users))

    known_exact, seen_exact = take_known(material.exact), take_seen(published.exact)
    known_coarse = known_exact if material.coarse is material.exact else take_known(material.coarse)
    seen_coarse = seen_exact if published.coarse is published.exact else take_seen(published.coarse)
    points = None
    if material.points is not None and published.points is not None:
        zone, by_days = material.zone, material.cut.by_days
        before = material.points.take_users(users)
        after = published.points.take_users(published.at[users[order]])
        points = (
            select_day_points(before, zone, known_exact, by_days=by_days).with_user_ids(numbers),
            select_day_points(after, zone, seen_exact, by_days=by_days).with_user_ids(numbers + len(users)),
            zone,
        )
    return LinkageTask(
        users, known_exact, known_coarse, seen_exact, seen_coarse, points, order, material.cut.is_common,
        left_out,
    )  # fmt: skip


def find_linkable_people(material: AuditData, published: AuditRelease) -> NDArray[np.bool_]:
    """Return who can be looked for: who is known before the cut, and on record after it."""
    released, there = published.exact, published.at >= 0
    from_on = np.full(released.n_users, np.iinfo(np.int64).max)
    from_on[published.at[there]] = material.cut.instant[there]
    has_later = np.diff(released.keep(released.instants >= from_on[released.user_index]).offsets) > 0
    return np.asarray(material.cut.both & there & has_later[published.at])


def link(
    cut: LinkageTask,
    root: np.random.SeedSequence,
    *,
    defence: Any = None,
    attacks: Sequence[str] = (),
    orders: Sequence[LinkResult] = (),
    unchanged: bool = False,
    tell: Callable[[], None] = lambda: None,
) -> tuple[Linkability, Ranked | None]:
    """Run every re-identification attack of the catalogue, and the linker on everything that is left.

    Parameters
    ----------
    defence
        What made the release, for attackers who run it themselves; they are tried too.
    attacks
        Names of further attacks, such as a class of the caller's own.
    orders
        What the order of the released file and its further columns found (`attack_orders`).
    unchanged
        Whether the file is released as it is, which the linker knows.
    tell
        Called after each attack.

    Returns
    -------
    linkability, answers
        What was found, and the ranking of the strongest attack.
    """
    people = len(cut.users)
    if people < FEWEST:
        return Linkability((), None, {}, {}, None, {}, people, cut.left_out), None
    is_known = unchanged and cut.points is None
    by_linker = find_by_linker(cut, root, NoObfuscation() if is_known else defence)
    tell()
    names = list_attack_names(get_event_defence(cut, defence), attacks)
    tries = [by_linker.tries, find_by_attacks(cut, root, names, defence, tell)]
    every = [*(one for some in tries for one in some), *(LinkAttempt(one, None) for one in orders)]
    best = find_strongest(every)
    result = Linkability(
        attacks=tuple(one.linked for one in every),
        strongest=None if best is None else best.linked.attack,
        evidence=by_linker.evidence,
        sure=by_linker.sure,
        home_and_work=_link_by_home_and_work(cut),
        days=_link_by_days(cut, root),
        people=people,
        left_out=cut.left_out,
        at_least=defence is None and not unchanged,
    )
    return result, None if best is None else best.ranked


class LinkAttempt(NamedTuple):
    """One attack: what it found, and whom it considers for each pseudonym."""

    linked: LinkResult
    ranked: Ranked | None


class LinkerResult(NamedTuple):
    """What the linker found.

    Attributes
    ----------
    tries
        By all evidence, by times alone and by places alone: with few people a part may find more than all.
    evidence
        Share found by each group of evidence alone.
    sure
        Calibration: of the matches whose posterior is at least so much, the share that is right.
    """

    tries: list[LinkAttempt]
    evidence: dict[str, Proportion]
    sure: dict[str, Proportion]


def find_strongest(tries: Sequence[LinkAttempt]) -> LinkAttempt | None:
    """Return the attack that found the most; of equals the first."""
    known = [one for one in tries if one.linked.first is not None and one.linked.attack != GUESSING]
    return max(known, key=lambda one: one.linked.first.value, default=None)  # type: ignore[union-attr]


def get_event_defence(cut: LinkageTask, defence: Any) -> Obfuscator | None:
    """Return the defence if attackers can run it on events; that of points works on none."""
    return defence if cut.points is None and isinstance(defence, Obfuscator) else None


def list_attack_names(defence: Obfuscator | None, attacks: Sequence[str] = ()) -> list[str]:
    """Return the attacks to run next to the linker."""
    told = [] if defence is None else ["Polya-R(adaptive)", "Bayes-R(adaptive)"]
    names = [name for name in catalogue.names("reidentification") if name not in (LINKER, *KNOWING_ATTACKS)]
    return list(dict.fromkeys([*names, *told, *attacks]))


def find_by_linker(
    cut: LinkageTask,
    root: np.random.SeedSequence,
    defence: Any = None,
    *,
    channel: bool = True,
    alone: bool = False,
) -> LinkerResult:
    """Link by everything: GPS points as they are, events at the file's places.

    Parameters
    ----------
    channel
        Whether likelihoods through the defence's channel are among the evidence.
    alone
        Leave out what each group of evidence finds.
    """
    known, seen, zone = (cut.known, cut.seen, None) if cut.points is None else cut.points
    without = () if cut.is_common else ("activity level",)
    linker = Linker(mechanism=ADAPTIVE if defence is not None else UNKNOWN, channel=channel, timezone=zone)
    attack = linker.fit(known)
    matcher: Any = attack.matcher_ if defence is None else attack.with_mechanism(defence).matcher_
    match = matcher.without_groups(without).match(seen, seed=child_seed(root, _LINKER))
    name = LINKER if defence is None or isinstance(defence, NoObfuscation) else str(linker)
    tries = [LinkAttempt(_build_link_result(name, match.ranking, cut.owner), match.ranking)]
    for by, groups in (("times", TIME_GROUPS), ("places", PLACE_GROUPS)):
        if {*groups} & {*match.groups}:
            ranked = match.by_groups(groups)[:, None]
            tries.append(LinkAttempt(_build_link_result(f"{name} by {by}", ranked, cut.owner), ranked))
    if alone:
        return LinkerResult(tries, {}, {})
    chance, right = 1 / len(cut.users), match.best == cut.owner
    evidence = {group: Proportion.of(match.by_groups([group]) == cut.owner, chance) for group in match.groups}
    sure = {f"{least:g}": Proportion.of(right[match.posterior >= least], chance) for least in SURE_FROM}
    return LinkerResult(tries, _drop_missing(evidence), _drop_missing(sure))


def _drop_missing(shares: Mapping[_K, Proportion | None]) -> dict[_K, Proportion]:
    return {key: share for key, share in shares.items() if share is not None}


def find_by_attacks(
    cut: LinkageTask,
    root: np.random.SeedSequence,
    names: Sequence[str],
    defence: Any = None,
    tell: Callable[[], None] = lambda: None,
) -> list[LinkAttempt]:
    """Run attacks of the catalogue, or classes of the caller's, quick ones at the file's places first."""
    quick = [name for name in names if name in ON_PLACES]
    told = get_event_defence(cut, defence)
    parts = (
        (quick, *drop_unvisited(cut.known, cut.seen), _EXACT),
        ([name for name in names if name not in quick], cut.known_coarse, cut.seen_coarse, _COARSE),
    )
    found: dict[str, LinkAttempt] = {}
    for chosen, known, seen, part in parts:
        made = make_attacks(chosen)
        on_points = [one for one in made if cut.points is not None and getattr(one, "takes_points", False)]
        rest = [one for one in made if one not in on_points]
        answers: list[Iterable[tuple[Any, Ranked | TracearenaError]]] = [
            ((one, _attack_points(one, cut, defence, child_seed(root, part))) for one in on_points)
        ]
        if rest:
            team = Ensemble(rest).fit(known)
            answers.append(team.rankings(seen, defence=told, seed=child_seed(root, part)))
        for attack, answer in chain.from_iterable(answers):
            ranks = None if isinstance(answer, TracearenaError) else answer
            found[str(attack)] = LinkAttempt(_build_link_result(str(attack), answer, cut.owner), ranks)
            tell()
    order = {name: at for at, name in enumerate(names)}
    return sorted(found.values(), key=lambda one: order.get(one.linked.attack, len(order)))


def _attack_points(
    attack: Any, cut: LinkageTask, defence: Any, seed: np.random.SeedSequence
) -> Ranked | TracearenaError:
    """Return whom an attack takes for whom by GPS points; one that fails says why, and stops no other."""
    assert cut.points is not None
    known, seen, _ = cut.points
    try:
        fitted: Any = validation.run_fit(attack, known)
        if getattr(fitted, "is_adaptive", False) and defence is not None:
            fitted = fitted.with_mechanism(defence)
        table = validation.run_identify(fitted, seen, known, seed=seed)  # type: ignore[arg-type]
    except TracearenaError as error:
        return error
    return find_positions(table.user_ids, known.user_ids)[:, None]


def _build_link_result(name: str, ranked: Ranked | TracearenaError, owner: Ints) -> LinkResult:
    if isinstance(ranked, TracearenaError):
        return LinkResult(name, {}, str(ranked))
    people = len(owner)
    right = ranked == owner[:, None]
    shares = {
        top: Proportion.of(right[:, :top].any(axis=1), min(top / people, 1.0))
        for top in TOPS
        if top == 1 or (ranked.shape[1] >= top and people >= top)
    }
    return LinkResult(name, _drop_missing(shares))


def _link_by_home_and_work(cut: LinkageTask) -> LinkResult:
    """Look for people by two places alone: the nearest pair of home and work is the answer."""
    before, after = find_usual_spots(ObfuscatedTraces.from_traces(cut.known)), find_usual_spots(cut.seen)
    table = np.zeros((len(cut.owner), len(cut.users)))
    for mine, theirs in zip(after, before, strict=True):
        points = [np.nan_to_num(earth_centred(one.latitude, one.longitude) / 1000) for one in (mine, theirs)]
        squares = [(one**2).sum(axis=1) for one in points]
        square = squares[0][:, None] + squares[1][None, :] - 2 * points[0] @ points[1].T
        apart_km = np.minimum(np.sqrt(np.maximum(square, 0)).round(3), _FAR_KM)
        apart_km[~mine.has_position] = _FAR_KM
        apart_km[:, ~theirs.has_position] = _FAR_KM
        table += apart_km
    own = table[np.arange(len(cut.owner)), cut.owner][:, None]
    better, equal = (table < own - 1e-9).sum(axis=1), (np.abs(table - own) <= 1e-9).sum(axis=1)
    people = len(cut.owner)
    shares = {
        top: Proportion.of(np.clip((top - better) / equal, 0, 1), min(top / people, 1.0))
        for top in TOPS
        if people >= top
    }
    return LinkResult("home and work", _drop_missing(shares))


def _link_by_days(cut: LinkageTask, root: np.random.SeedSequence) -> dict[int, Proportion]:
    """Give the attacker each person's last days before the cut alone."""
    day = cut.known.clock.day_of(cut.known.instants)
    users = cut.known.user_index
    number: Ints = np.cumsum(mark_run_starts(day, users))
    last = number[np.maximum(cut.known.offsets[1:] - 1, 0)]
    from_end = last[users] - number + 1
    most = int(from_end.max(initial=0))
    found: dict[int, Proportion | None] = {}
    reference, seen = drop_unvisited(cut.known, cut.seen)
    for days in (*(one for one in DAYS if one < most), most):
        known = reference.keep(from_end <= days)
        team = Ensemble(make_attacks([BY_DAYS])).fit(known)
        (_, ranked), *_ = team.rankings(seen, seed=child_seed(root, _EXACT))
        found[days] = _build_link_result(BY_DAYS, ranked, cut.owner).first
    return _drop_missing(found)


# Side channels of a release: what else tells people apart.

SENTENCES = {
    "hours": "the hours of their events",
    "intervals": "the time between their events",
    "exact intervals": "the seconds between their points",
    "first and last of day": "the begin and end of their days",
    "day activity": "the days with events",
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
    """Name the kinds of evidence, other than places, that alone are enough to tell people apart."""
    channels = [
        (share, SENTENCES.get("exact intervals" if is_gps and group == "intervals" else group))
        for group, share in found.evidence.items()
    ]
    by_file = (*ORDERS, *(one.attack for one in found.attacks if one.attack.startswith(_ANY_COLUMN)))
    channels += [(one.first, one.attack) for one in found.attacks if one.attack in by_file and one.first]
    told = [
        (share.value, f"With only {what}, {share.value:.1%} of people are found.")
        for share, what in channels
        if what is not None and share.low > max(NAMED_FROM, share.chance)
    ]
    return [sentence for _, sentence in sorted(told, reverse=True)]


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
    points = published.points
    if points is not None:
        is_numbered = points.trajectory_ids.dtype.kind in "iu"
        if is_numbered and points.n_trajectories >= points.n_users:
            # The lowest number among each user's trajectories.
            first, owner = np.full(points.n_users, np.inf), points.trajectory_user
            np.minimum.at(first, owner[owner >= 0], points.trajectory_ids[owner >= 0].astype(np.float64))
            first[np.isinf(first)] = np.nan
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

    from tracearena.traces.time import zone_to_utc

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


def _match_by_rank(known: NDArray[np.float64], seen: NDArray[np.float64]) -> Proportion | None:
    """Return who is found by rank, forwards or backwards; None where the orders have nothing in common."""
    both = np.isfinite(known) & np.isfinite(seen)
    n = int(both.sum())
    if n < 3 or len(np.unique(seen[both])) < n:
        return None
    mine, theirs = (np.argsort(np.argsort(one[both], kind="stable")) for one in (known, seen))
    correlation = correlate(mine, theirs) or 0.0
    if abs(correlation) * np.sqrt(n - 1) < _UNLIKELY:
        return None
    right = mine == (theirs if correlation > 0 else n - 1 - theirs)
    return Proportion.of(right, 1 / n)
