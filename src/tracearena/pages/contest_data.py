"""The numbers, sentences and styles that all pictures of a contest share.

The table of attack scores; crowds, losses and distances of a release; captions; and one colour and one
marker for each team.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import (
    STRONG,
    ClaimResult,
    check_privacies_correlate,
    check_privacy_costs_utility,
)
from tracearena.arena.sweep import TIE, SweepRow
from tracearena.contest.board import (
    NOT_ATTACKED,
    AttackKind,
    Award,
    Board,
    BoardRow,
    Role,
    Roster,
    attack_sums,
)
from tracearena.contest.data import PURPOSES
from tracearena.contest.report_data import estimate_margin, select_compared_rows
from tracearena.i18n import join_sentences, mark_for_translation, translate, translate_count
from tracearena.metrics.contest_scores import event_losses
from tracearena.pages.html import COLOURS, GREY, MARKERS, render_part
from tracearena.pages.svg.canvas import draw_marker, replace_invisible, shorten_name
from tracearena.traces import Box, ObfuscatedTraces, Places, Traces

QUESTIONS = {
    AttackKind.REIDENTIFICATION: (
        mark_for_translation("Who is who?"),
        mark_for_translation("people not identified"),
    ),
    AttackKind.TRACE_INFERENCE: (
        mark_for_translation("Who was where?"),
        mark_for_translation("whereabouts hidden"),
    ),
}
"""What an attack asks, and what its score says."""

_FEWEST = 4
_FENCE = 1.5


@dataclass(frozen=True, eq=False)
class AttackTable:
    """All attacks of one kind.

    Attributes
    ----------
    kind
        What the attacks ask.
    rows, targets
        The valid data sets, best first, and what each is called.
    attackers
        The teams, and the judge's own attacks.
    scores
        For each target what each attacker left; None where there was no attack.
    sums
        For each attacker the sum that ranks it; None for the judge's own.
    margin
        How much luck is in a score.
    """

    kind: AttackKind
    rows: tuple[BoardRow, ...]
    targets: tuple[str, ...]
    attackers: tuple[str, ...]
    scores: tuple[tuple[float | None, ...], ...]
    sums: tuple[float | None, ...]
    margin: float

    def is_own(self, row: int, column: int) -> bool:
        """Whether a team would attack itself."""
        return self.attackers[column] == self.rows[row].team

    @cached_property
    def minima(self) -> tuple[float, ...]:
        """What the strongest attack left to each target."""
        known = ([score for score in row if score is not None] for row in self.scores)
        return tuple(min(row, default=NOT_ATTACKED) for row in known)

    def is_least(self, row: int, column: int) -> bool:
        """Whether this is the strongest attack on its target, or one of several equal ones."""
        score = self.scores[row][column]
        return score is not None and score <= self.minima[row] + TIE

    @cached_property
    def fences(self) -> tuple[float, ...]:
        """Below which score per attack on each target is worth a question.

        Tukey's fence, the lower quartile less 1.5 times the distance of the quartiles, and lower by more
        than the luck of two scores; a row of fewer than four attacks has none.
        """
        known = ([score for score in row if score is not None] for row in self.scores)
        return tuple(self._fence(row) if len(row) >= _FEWEST else 0.0 for row in known)

    def _fence(self, scores: list[float]) -> float:
        lower, upper = np.quantile(scores, (0.25, 0.75))
        return float(lower - max(_FENCE * (upper - lower), 2 * self.margin))

    def is_far_below(self, row: int, column: int) -> bool:
        """Whether an attack left far less than the others on its target did."""
        score = self.scores[row][column]
        return score is not None and score < self.fences[row]

    def cells(self) -> list[tuple[int, int]]:
        """Return all cells but those in which a team would attack itself."""
        shape = np.ndindex(len(self.targets), len(self.attackers))
        return [(row, column) for row, column in shape if not self.is_own(row, column)]


def build_attack_table(board: Board, kind: AttackKind, data_set: int | None = None) -> AttackTable:
    """Return the table of all attacks of a kind on the valid data sets of a board, or of one challenge."""
    if data_set is not None:
        board = replace(board, rows=tuple(row for row in board.rows if row.data_set == data_set))
    rows = tuple(row for row in board.rows if row.valid and row.role is not Role.SAMPLE)
    judge = sorted({attacker for attacker, _, _, of_kind in board.attacks
                    if of_kind is kind and board.roster.role(attacker) is Role.SAMPLE})  # fmt: skip
    attackers = (*board.roster.teams, *judge)
    sums = attack_sums(board, kind)
    return AttackTable(
        kind,
        rows,
        tuple(data_set_label(board, row) for row in rows),
        attackers,
        tuple(
            tuple(board.attacks.get((attacker, row.team, row.data_set, kind)) for attacker in attackers)
            for row in rows
        ),
        tuple(sums.get(attacker) for attacker in attackers),
        estimate_margin(board.rules.users),
    )


def data_set_label(board: Board, row: BoardRow, room: int = 34) -> str:
    """Return how a data set is called: by its team, and where there are two by its challenge behind it.

    Where the challenge stands behind it, the name of the team is shortened to `room` letters.
    """
    if board.rules.data_sets == 1:
        return row.team
    return f"{shorten_name(row.team, room)} / {PURPOSES[row.data_set - 1]}"


def describe_attack_table(board: Board, table: AttackTable, called: Callable[[str], str] = str) -> str:
    """Return sentences: how many attackers were ever the strongest, which teams are invalid or idle.

    Parameters
    ----------
    called
        Writes a name as it may stand in a sentence.
    """
    framed = {table.attackers[column] for row, column in table.cells() if table.is_least(row, column)}
    active = {attacker for attacker, _, _, of_kind in board.attacks if of_kind is table.kind}
    idle = [called(team) for team in board.roster.teams if team not in active]
    invalid = [
        called(data_set_label(board, row)) for row in board.rows if row.role is Role.TEAM and not row.valid
    ]
    told = [
        translate(
            "{best} of {attackers} attackers did best on at least one of {targets} targets.",
            best=len(framed),
            attackers=len(table.attackers),
            targets=len(table.targets),
        )
    ]
    if invalid:
        told.append(translate("Not a target, because invalid: {names}.", names=translate(", ").join(invalid)))
    if idle:
        told.append(translate("Did not attack in this way: {names}.", names=translate(", ").join(idle)))
    return join_sentences(told)


# What a defence did to traces, in the numbers of pictures: crowds, losses, distances, one person's
# day.


Floats = NDArray[np.float64]

BIN_KM = 0.5
"""Width of a bar of a histogram of distances."""
_NOON_S = 12 * 3600
_SAME_KM = 1e-6
_FAR_KM = 1e6
_DAY_KM = 4.0


class NoonCrowds(NamedTuple):
    """People by place at the time next to noon, all days together: the truth, and what was released.

    One of k places that were released for an event counts 1/k in each.
    """

    time: str
    before: Floats
    after: Floats

    @property
    def off(self) -> float:
        """Share of the crowd that would have to move to make both maps equal."""
        return 0.5 * float(np.abs(_normalise_counts(self.before) - _normalise_counts(self.after)).sum())

    def share_at(self, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return which share of the crowd is at the chosen places, before and after."""
        before, after = (
            float(_normalise_counts(people)[chosen].sum()) for people in (self.before, self.after)
        )
        return before, after


def _normalise_counts(people: Floats) -> Floats:
    return people / max(float(people.sum()), 1.0)


def count_noon_crowds(original: Traces, obfuscated: ObfuscatedTraces) -> NoonCrowds:
    """Count people by place at the time next to noon."""
    clock, instants = original.clock, original.instants
    nearest = instants[np.argmin(np.abs(clock.second_of_day(instants) - _NOON_S))]
    noon = clock.second_of_day(instants) == clock.second_of_day(nearest)
    before, after = original.keep(noon), obfuscated.keep(noon)
    _, place, weight = after.pairs()
    m = len(before.places)
    return NoonCrowds(
        clock.label(int(nearest)),
        np.bincount(before.place_index, minlength=m).astype(float),
        np.bincount(place, weights=weight, minlength=m).astype(float),
    )


class PlaceLosses(NamedTuple):
    """Usefulness lost by place: how many events are truly there, and the sum of their losses."""

    events: NDArray[np.int64]
    lost: Floats

    @property
    def share(self) -> Floats:
        """Share lost at each place, NaN where nobody is."""
        with np.errstate(invalid="ignore"):
            return np.where(self.events > 0, self.lost / self.events, np.nan)

    @property
    def total(self) -> float:
        """Share lost in the whole city."""
        return float(self.lost.sum() / max(int(self.events.sum()), 1))

    @property
    def at_busiest(self) -> float:
        """Share lost at the busiest twentieth of the places."""
        busiest = np.argsort(-self.events, kind="stable")[: max(len(self.events) // 20, 1)]
        return float(self.lost[busiest].sum() / max(int(self.events[busiest].sum()), 1))


def sum_losses_by_place(original: Traces, obfuscated: ObfuscatedTraces, limit_km: float) -> PlaceLosses:
    """Add up the losses of events (0 released as they are, 1 deleted or too far off) by true place."""
    losses = event_losses(original, obfuscated, limit_km=limit_km)
    m = len(original.places)
    return PlaceLosses(
        np.bincount(original.place_index, minlength=m),
        np.bincount(original.place_index, weights=losses, minlength=m).astype(float),
    )


class Displacements(NamedTuple):
    """Shares of all events by how far they were moved; a set of places by its mean distance.

    Attributes
    ----------
    labels
        Of the bars: the same place, half kilometres one after the other, everything beyond, hidden.
    shares
        Share of all events of each bar.
    """

    labels: tuple[str, ...]
    shares: Floats


def measure_displacements(original: Traces, obfuscated: ObfuscatedTraces, limit_km: float) -> Displacements:
    """Measure how far events were moved, up to 1 km beyond the limit from which on a place is useless."""
    edges = np.arange(0, limit_km + 1 + BIN_KM, BIN_KM)
    far = (event_losses(original, obfuscated, limit_km=_FAR_KM) * _FAR_KM)[~obfuscated.is_deleted]
    moved = far[far > _SAME_KM]
    bars = np.histogram(moved, np.concatenate([edges, [np.inf]]))[0]
    counts = [len(far) - len(moved), *bars, original.n_events - len(far)]
    between = (f"{low:g}–{low + BIN_KM:g} km" for low in edges[:-1])
    return Displacements(
        ("same place", *between, f"over {edges[-1]:g} km", "hidden"),
        np.array(counts) / max(original.n_events, 1),
    )


def find_liveliest_day(original: Traces) -> tuple[int, int]:
    """Return the index of a user and the day with the most different places that fits a readable map."""
    per_day = original.clock.instants_per_day
    table = original.dense()
    missing = -table.shape[1] % per_day
    days = np.pad(table, ((0, 0), (0, missing)), constant_values=-1).reshape(original.n_users, -1, per_day)
    # Where there is no event, any other place of the day stands in: it adds none.
    days = np.where(days < 0, days.max(axis=2, keepdims=True), days)
    different = 1 + (np.diff(np.sort(days, axis=2), axis=2) > 0).sum(axis=2)
    extent = np.ptp(original.places.points_km[days, :2], axis=2).max(axis=2)
    fits = (extent <= _DAY_KM) & (days.max(axis=2) >= 0)
    user, day = divmod(int(np.argmax(np.where(fits, different, 0))), days.shape[1])
    return user, int(original.clock.day_of(original.span[0])) + day


def compute_box(places: Places, cells: Any) -> Box:
    """Return the box that holds some places, as cells of their grid where they have one."""
    grid = places.grid
    half = (grid.cell_height / 2, grid.cell_width / 2) if grid is not None else (0.002, 0.002)
    return Box.of(Places(places.latitude[cells], places.longitude[cells])).with_margin(*half)


def compute_day_box(original: Traces, obfuscated: ObfuscatedTraces) -> Box:
    """Return what a map of a person's day shows: all true and all released places, and a rim."""
    box = compute_box(original.places, np.concatenate([obfuscated.pairs().place, original.place_index]))
    return box.with_margin(0.12 * max(box.north - box.south, box.east - box.west))


# Sentences that pictures of a contest say, whatever they are drawn with.


DEFENCES = ("best-anonymization", "best-anonymization-reidentification")
"""Awards for a score of one's own; those of attackers are for a sum over all targets."""


def estimate_award_margin(board: Board, award: Award) -> float | None:
    """Return how much luck of the people drawn is in the value of an award; None for the overall total.

    The people of every target are drawn apart: the luck in a sum grows as the root of the number of targets.
    """
    luck = estimate_margin(board.rules.users)
    if award.name in DEFENCES:
        return luck
    return None if award.name == "overall" else luck * math.sqrt(len(board.targets()))


def describe_privacies(board: Board, samples: Sequence[SweepRow]) -> str:
    """Return whether both kinds of privacy go together, over sample defences and over teams."""
    rows = select_compared_rows(board)
    told = []
    if samples:
        found = check_privacies_correlate(row.scores.minima for row in samples)
        told.append(_format_finding(translate("the sample defences (grey)"), found))
    if len(rows) > 2:
        extra = any(row.role is not Role.TEAM for row in rows)
        number = len(rows)
        which = (
            translate("{number} data sets, including the pseudonymised team's", number=number)
            if extra
            else translate_count("{count} team", "{count} teams", number)
        )
        told.append(
            _format_finding(which, check_privacies_correlate((row.s_R_min, row.s_T_min) for row in rows))
        )
    return join_sentences(told) if told else ""


def _format_finding(which: str, found: ClaimResult) -> str:
    measured = (
        translate(found.measured)
        if found.number is None
        else translate("R = {r}; at least {least} is needed", r=f"{found.number:.3f}", least=f"{STRONG:g}")
    )
    about = {"which": which, "statement": translate(found.statement), "measured": measured}
    if found.holds:
        return translate("For {which}, this holds: {statement} ({measured}).", **about)
    return translate("For {which}, this does not hold here: {statement} ({measured}).", **about)


def select_challenge_rows(board: Board, data_set: int | None = None) -> list[BoardRow]:
    """Return the data sets of a challenge, valid or not, and the pseudonymised team's.

    Without a number it is the trace-inference challenge, that of the last data set.
    """
    number = data_set or board.rules.data_sets
    return [
        row
        for row in board.rows
        if row.role is Role.PSEUDONYMISED or (row.role is Role.TEAM and row.data_set == number)
    ]


def describe_costs(board: Board, samples: Sequence[SweepRow], data_set: int | None = None) -> str:
    """Return what privacy costs over sample defences, and how many teams paid too much."""
    threshold = board.rules.utility_threshold
    shown = [row for row in select_challenge_rows(board, data_set) if row.utility is not None]
    invalid = sum(not row.valid for row in shown)
    if not shown:
        return translate("Nothing has been handed in yet.")
    fate = (
        translate_count(
            "One team is below {threshold}: its data is not published and its privacy scores are 0 (hollow).",
            "{count} teams are below {threshold}: their data is not published and "
            "their privacy scores are 0 (hollow).",
            invalid,
            threshold=f"{threshold:g}",
        )
        if invalid
        else translate("No team is below {threshold}.", threshold=f"{threshold:g}")
    )
    costs = (
        f"For the sample defences (grey), this {check_privacy_costs_utility(samples)}. " if samples else ""
    )
    return f"{costs}{fate}"


def find_tied_teams(award: Award, margin: float) -> list[str]:
    """Return the teams behind the winner that luck alone may have kept from winning.

    Two scores that are each uncertain by the margin differ only beyond its double.
    """
    if not award.places:
        return []
    best = award.places[0].value
    return [p.team for p in award.places if p.place > 1 and abs(p.value - best) <= 2 * margin]


# The style of a team: one colour and one marker for each, through the whole page.


_BADGE = 64


@dataclass(frozen=True)
class TeamStyle:
    """Colour, and the name of the marker as `MARKERS` has it for Plotly."""

    colour: str
    marker: str


UNKNOWN = TeamStyle("var(--soft)", "circle")
"""How a sample defence on the board looks."""

SAMPLE = TeamStyle(GREY, "circle")
"""How sample defences look in a picture."""


def assign_team_styles(roster: Roster) -> dict[str, TeamStyle]:
    """Return the style of every team, and a cross for the pseudonymised one.

    Seven colours and eight markers have no common factor, so 56 teams differ.
    """
    colours = COLOURS[:-1]
    given = {}
    for number, team in enumerate(roster.teams):
        shape = MARKERS[number % len(MARKERS)].plotly
        given[team] = TeamStyle(colours[number % len(colours)], shape)
    extra = roster.pseudonymised
    return given if extra is None else given | {extra: TeamStyle("var(--ink)", "x")}


def format_badge(name: str, style: TeamStyle, *, hollow: bool = False) -> str:
    """Return markup: the marker in its colour, and the name, in a form that cannot harm what is around it."""
    marker = draw_marker(0, 0, style.marker, style.colour, hollow=hollow)
    return render_part("badge", marker, shorten_name(name, _BADGE), replace_invisible(name))


def join_names(names: Sequence[str]) -> str:
    """Return names as people list them.

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return translate("{names} and {last}", names=list_names(names[:-1]), last=names[-1])


def list_names(names: Sequence[str]) -> str:
    """Return names one after the other.

    >>> list_names(["a", "b", "c"])
    'a, b, c'
    """
    return translate(", ").join(names)
