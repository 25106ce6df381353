"""Linkability: who is found again when the file is cut in two and the later part gets new names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Obfuscator, catalogue
from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.arena.pseudonyms import random_order
from tracearena.audit.cells import visited_only
from tracearena.audit.material import Material, Published
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Ranked, Record, Share
from tracearena.audit.sightings import Floats, Ints, Spots, usual_spots
from tracearena.audit.singling_out import sample
from tracearena.engine import child_seed
from tracearena.errors import TracearenaError
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces.different import begins
from tracearena.traces.geodesy import earth_centred

TOPS = (1, 5, 10)
DAYS = (1, 2, 4, 7, 14, 28)
"""Days of reference that are tried, up to those that there are."""
GUESSING = "Random-R"
ON_PLACES = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R", GUESSING)
"""Attacks that are quick at any number of places; all others work on the grid for heavy attacks."""
BY_DAYS = "VisitProb-R"
FEWEST = 2
_FAR_KM = 20.0
"""Farther apart is as far as can be: whoever has no such place is as far from everybody."""

_PEOPLE, _SHUFFLE, _EXACT, _COARSE = range(4)


@dataclass(frozen=True)
class Linked(Record):
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
    top: dict[int, Share]
    error: str | None = None

    @property
    def first(self) -> Share | None:
        """The share of right answers."""
        return self.top.get(1)


@dataclass(frozen=True)
class Linkability(Record):
    """Who is found again.

    Attributes
    ----------
    attacks
        Every re-identification attack of the catalogue.
    strongest
        The name of the one that found the most; of equals the first.
    home_and_work
        The same by the places of nights and working hours alone.
    days
        Who is found by `BY_DAYS` from so many days of reference.
    people, left_out
        For how many it was tried; how many have no events on both sides of the cut, or are not released.
    """

    attacks: tuple[Linked, ...]
    strongest: str | None
    home_and_work: Linked | None
    days: dict[int, Share]
    people: int
    left_out: int

    @property
    def headline(self) -> Share | None:
        """The share of right answers of the strongest attack."""
        return next((one.first for one in self.attacks if one.attack == self.strongest), None)


class Halves(NamedTuple):
    """What an attacker knows and sees; truth for the judge.

    Attributes
    ----------
    users
        The people, as users of the original.
    known, known_coarse
        Their earlier events.
    seen, seen_coarse
        Their later events as released, in random order, under numbers.
    owner
        Who of `users` (index) each number is.
    """

    users: Ints
    known: Traces
    known_coarse: Traces
    seen: ObfuscatedTraces
    seen_coarse: ObfuscatedTraces
    owner: Ints


def halves(
    material: Material, published: Published, settings: Settings, root: np.random.SeedSequence
) -> Halves:
    """Cut the people in two by time, and draw pseudonyms anew for the later half."""
    users = sample(tried(material, published), settings.people, root, _PEOPLE)
    order = random_order(len(users), child_seed(root, _SHUFFLE))
    numbers = np.arange(len(users)) + 1

    def known(traces: Traces) -> Traces:
        return material.cut.earlier(traces).take_users(users).with_user_ids(numbers)

    def seen(released: ObfuscatedTraces) -> ObfuscatedTraces:
        later = later_of(material, published, released)
        taken = later.take_users(published.at[users[order]])
        return taken.with_user_ids(numbers + len(users))

    is_one = material.coarse is material.exact
    known_exact, seen_exact = known(material.exact), seen(published.exact)
    known_coarse = known_exact if is_one else known(material.coarse)
    seen_coarse = seen_exact if published.coarse is published.exact else seen(published.coarse)
    return Halves(users, known_exact, known_coarse, seen_exact, seen_coarse, order)


def later_of(material: Material, published: Published, released: ObfuscatedTraces) -> ObfuscatedTraces:
    """Return what is released from each person's cut on."""
    from_on = np.full(released.n_users, np.iinfo(np.int64).max)
    there = published.at >= 0
    from_on[published.at[there]] = material.cut.instant[there]
    return released.keep(released.instants >= from_on[released.user_index])


def tried(material: Material, published: Published) -> NDArray[np.bool_]:
    """Return who can be looked for: who is known before the cut, and on record after it."""
    later = later_of(material, published, published.exact)
    has_later = np.diff(later.offsets) > 0
    return np.asarray(material.cut.both & (published.at >= 0) & has_later[published.at])


def link(
    cut: Halves,
    root: np.random.SeedSequence,
    *,
    left_out: int = 0,
    defence: Obfuscator | None = None,
    attacks: Sequence[str] | None = None,
    alone: bool = False,
    tell: Callable[[], None] = lambda: None,
) -> tuple[Linkability, Ranked | None]:
    """Run the attacks.

    Parameters
    ----------
    defence
        What made the release, for attackers who run it themselves; they are tried too.
    attacks
        Names of re-identification attacks; all of the catalogue if omitted.
    alone
        Run nothing but these.
    tell
        Called after each attack.

    Returns
    -------
    linkability, answers
        What was found, and the ranking of the strongest attack.
    """
    people = len(cut.users)
    if people < FEWEST:
        return Linkability((), None, None, {}, people, left_out), None
    found: list[Linked] = []
    strongest, most, best = None, -1.0, None
    for name, ranked in _ranked(cut, root, defence, attacks):
        one = _linked(name, ranked, cut.owner)
        found.append(one)
        tell()
        if one.first is not None and name != GUESSING and one.first.value > most:
            strongest, most, best = name, one.first.value, ranked
    order = {name: at for at, name in enumerate(_names(attacks, defence))}
    found.sort(key=lambda one: order.get(one.attack, len(order)))
    result = Linkability(
        attacks=tuple(found),
        strongest=strongest,
        home_and_work=None if alone else _by_home_and_work(cut),
        days={} if alone else _by_days(cut, root),
        people=people,
        left_out=left_out,
    )
    assert not isinstance(best, TracearenaError)
    return result, best


def _names(attacks: Sequence[str] | None, defence: Obfuscator | None) -> list[str]:
    if attacks is not None:
        return list(attacks)
    told = [] if defence is None else ["Polya-R(adaptive)", "Bayes-R(adaptive)"]
    return [*catalogue.names("reidentification"), *told]


def _ranked(
    cut: Halves, root: np.random.SeedSequence, defence: Obfuscator | None, attacks: Sequence[str] | None
) -> Iterator[tuple[str, Ranked | TracearenaError]]:
    """Give whom each attack considers, quick attacks at the file's places first."""
    names = _names(attacks, defence)
    quick = [name for name in names if name in ON_PLACES]
    parts = (
        (quick, *visited_only(cut.known, cut.seen), _EXACT),
        ([name for name in names if name not in quick], cut.known_coarse, cut.seen_coarse, _COARSE),
    )
    for chosen, known, seen, part in parts:
        if chosen:
            team = Ensemble(make_attacks(chosen)).fit(known)
            for attack, ranked in team.rankings(seen, defence=defence, seed=child_seed(root, part)):
                yield str(attack), ranked


def _linked(name: str, ranked: Ranked | TracearenaError, owner: Ints) -> Linked:
    if isinstance(ranked, TracearenaError):
        return Linked(name, {}, str(ranked))
    people = len(owner)
    right = ranked == owner[:, None]
    shares = {
        top: Share.of(right[:, :top].any(axis=1), min(top / people, 1.0))
        for top in TOPS
        if top == 1 or (ranked.shape[1] >= top and people >= top)
    }
    return Linked(name, {top: one for top, one in shares.items() if one is not None})


def _by_home_and_work(cut: Halves) -> Linked:
    """Look for people by two places alone: the nearest pair of home and work is the answer."""
    before, after = usual_spots(ObfuscatedTraces.unchanged(cut.known)), usual_spots(cut.seen)
    table = np.zeros((len(cut.owner), len(cut.users)))
    for mine, theirs in zip(after, before, strict=True):
        table += _apart_km(mine, theirs)
    own = table[np.arange(len(cut.owner)), cut.owner][:, None]
    better, equal = (table < own - 1e-9).sum(axis=1), (np.abs(table - own) <= 1e-9).sum(axis=1)
    people = len(cut.owner)
    shares = {
        top: Share.of(np.clip((top - better) / equal, 0, 1), min(top / people, 1.0))
        for top in TOPS
        if people >= top
    }
    return Linked("home and work", {top: one for top, one in shares.items() if one is not None})


def _apart_km(mine: Spots, theirs: Spots) -> Floats:
    points = [np.nan_to_num(earth_centred(one.latitude, one.longitude) / 1000) for one in (mine, theirs)]
    squares = [(one**2).sum(axis=1) for one in points]
    square = squares[0][:, None] + squares[1][None, :] - 2 * points[0] @ points[1].T
    apart = np.minimum(np.sqrt(np.maximum(square, 0)).round(3), _FAR_KM)
    apart[~mine.known] = _FAR_KM
    apart[:, ~theirs.known] = _FAR_KM
    return np.asarray(apart)


def _by_days(cut: Halves, root: np.random.SeedSequence) -> dict[int, Share]:
    """Give the attacker each person's last days before the cut alone."""
    day = cut.known.clock.day_of(cut.known.instants)
    users = cut.known.user_index
    number: Ints = np.cumsum(begins(day, users))
    last = number[np.maximum(cut.known.offsets[1:] - 1, 0)]
    from_end = last[users] - number + 1
    most = int(from_end.max(initial=0))
    found = {}
    reference, seen = visited_only(cut.known, cut.seen)
    for days in (*(one for one in DAYS if one < most), most):
        known = reference.keep(from_end <= days)
        team = Ensemble(make_attacks([BY_DAYS])).fit(known)
        (_, ranked), *_ = team.rankings(seen, seed=child_seed(root, _EXACT))
        first = None if isinstance(ranked, TracearenaError) else _linked(BY_DAYS, ranked, cut.owner).first
        if first is not None:
            found[days] = first
    return found
