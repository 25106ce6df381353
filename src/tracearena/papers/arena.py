"""Figures of our own: attacks and defences compared on the same releases.

The first sets old and new attacks against each other and shows between which values s_T must lie; the
second shows which defences no other beats in usefulness and both kinds of privacy.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tracearena.arena import (
    ATTACKS_2019,
    SAMPLE_DEFENCES,
    STRONGEST_ATTACKS,
    Sweep,
    SweepRow,
    require_success,
    run_sweep,
)
from tracearena.arena.claims import ClaimResult, check_share, format_title
from tracearena.pages.html import BLUE, GREY, ORANGE, VERMILION
from tracearena.papers.base import Drawing, paper_figure
from tracearena.papers.data import DEFENCES, FigureSource, Size, load_teams
from tracearena.papers.style import NAMES, USEFULNESS, WHEREABOUTS, draw_bands, label_points

NOISE = 0.01
"""Scores that differ by no more are ties: the spread between teams of 2,000 ([contest] Table 2)."""


class AttackGroup(NamedTuple):
    """Attacks that are compared as one: the strongest of them counts."""

    title: str
    names: tuple[str, ...]
    marker: str
    colour: str


UNINFORMED = tuple(name for name in STRONGEST_ATTACKS if "adaptive" not in name)
ATTACK_GROUPS = (
    AttackGroup("attacks of 2019", ATTACKS_2019, "o", BLUE),
    AttackGroup("weighing all, defence unknown", UNINFORMED, "s", ORANGE),
    AttackGroup("weighing all, defence known or not", STRONGEST_ATTACKS, "D", VERMILION),
)
OLD, _, NEW = ATTACK_GROUPS


@paper_figure("arena-attacks", "old and new attacks on the same releases, and their bounds")
def compute_arena_attacks(
    source: FigureSource,
    *,
    defences: Sequence[str] = (*SAMPLE_DEFENCES, "ClusterAveraging(0.7,blur_km=0.5)"),
) -> Drawing:
    """Attack every defence in the ways of 2019 and of today."""
    rows = run_team_sweep(source, defences, (*ATTACKS_2019, "strongest"))
    labels = "share of people not identified, s_R (1 is private)", "whereabouts not found, s_T (1 is private)"
    height = 1.2 + 0.2 * len(rows)

    def draw(figure: Any, axes: Any) -> None:
        _draw_row_bands(axes[1], rows)
        for kind, (axis, label) in enumerate(zip(axes, labels, strict=True)):
            for side, size in zip(ATTACK_GROUPS, (46, 26, 14), strict=True):
                values = [find_least_score(row, side, kind) for row in rows]
                at = [number for number, value in enumerate(values) if value is not None]
                axis.scatter(
                    [values[number] for number in at], at, marker=side.marker, s=size, zorder=3,
                    facecolors="none" if side is OLD else side.colour, edgecolors=side.colour,
                    label=side.title,
                )  # fmt: skip
            axis.set(xlabel=label, xlim=(-0.03, 1.03), ylim=(len(rows) - 0.4, -0.6))
        names = [row.defence if row.valid else f"{row.defence} *" for row in rows]
        axes[0].set_yticks(range(len(rows)), names, fontsize=7.5)
        below = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.06 - 0.55 / height)}
        figure.legend(*axes[1].get_legend_handles_labels(), ncols=5, frameon=False, fontsize=8, **below)
        figure.subplots_adjust(wspace=0.06, bottom=0.06 + 0.5 / height, top=0.95)

    return Drawing(
        rows, draw, (11, height), {"ncols": 2, "sharey": True},
        title=f"The strongest of old and new attacks on {len(rows)} defences (* utility below 0.7)",
        claims=check_arena_attack_claims(rows), head={"width": 130, "top": 0.96},
    )  # fmt: skip


def check_arena_attack_claims(rows: Sequence[SweepRow]) -> list[ClaimResult]:
    """Return whether the new attacks are at least as strong, and what the old ones made too much of.

    At least as strong takes a score that is at most 0.01 above the old attacks' on every defence.
    A defence is made too much of if the attacks of 2019 leave more of it than habits alone do.
    """
    compared = []
    for kind, (words, symbol) in enumerate((("re-identification", "s_R"), ("trace inference", "s_T"))):
        pairs = [(find_least_score(row, OLD, kind), find_least_score(row, NEW, kind)) for row in rows]
        compared.append(
            check_share(
                f"in {words} the new attacks are at least as strong as those of 2019",
                [new <= old + NOISE for old, new in pairs if old is not None and new is not None],
                f"defences, {symbol} at most {NOISE:g} higher",
            )
        )
    over = [
        row.defence
        for row in rows
        if row.band is not None and (find_least_score(row, OLD, 1) or 0.0) > row.band.ceiling + NOISE
    ]
    told = f"{len(over)} of {len(rows)} defences lie above the ceiling against the attacks of 2019"
    statement = "the attacks of 2019 make some defences look better than any can be"
    return [*compared, ClaimResult(statement, bool(over), told, float(len(over)))]


def find_least_score(row: SweepRow, side: AttackGroup, kind: int) -> float | None:
    """Return the lowest score of a side: s_R for kind 0, s_T for kind 1."""
    scores = (row.scores.reidentification, row.scores.trace_inference)[kind]
    return min((scores[name] for name in side.names if name in scores), default=None)


def _draw_row_bands(axis: Any, rows: Sequence[SweepRow]) -> None:
    """Draw between which values s_T of each row must lie, where the row knows it."""
    banded = [(number, row.band) for number, row in enumerate(rows) if row.band is not None]
    if not banded:
        return
    estimates = [band.estimate for _, band in banded]
    widths = [band.ceiling - band.estimate for _, band in banded]
    look = {"color": GREY, "alpha": 0.25, "label": "must lie here (left end: an estimate)"}
    axis.barh([number for number, _ in banded], widths, left=estimates, height=0.62, **look)
    ceiling = max(band.ceiling for _, band in banded)
    axis.axvline(ceiling, color=GREY, linestyle="--", linewidth=1.1, label=f"habits alone, {ceiling:.3f}")


# Which defences nobody beats in usefulness and both kinds of privacy at once.
TIE = 1e-9
AVERAGING = "ClusterAveraging(0.7,100,0.5)"
DISGUISES = ("Impostor(0.7)", "Decoy(0.7)")
FEW_DAYS = 2
"""Days known, and as many released, of the traces that count as short."""


@paper_figure("arena-defences", "Pareto front of the defences: usefulness and both kinds of privacy")
def compute_arena_defences(
    source: FigureSource,
    *,
    defences: Sequence[str] = tuple(dict.fromkeys((*SAMPLE_DEFENCES, *DEFENCES, *DISGUISES))),
) -> Drawing:
    """Try every defence against all attacks.

    Disguises and cluster averaging are tried on short traces too: which of them hides more depends on it.
    """
    rows = run_team_sweep(source, defences, ("all",))
    front = find_pareto_front(rows)
    users, days = source.choose_size(PEOPLE)
    table = [{"days": days} | row.to_dict() | {"on_front": row.defence in front} for row in rows]
    found = check_arena_defence_claims(rows)
    compared = (AVERAGING, *DISGUISES)
    if source.data is None and days > FEW_DAYS and set(compared) <= set(defences):
        short = run_team_sweep(replace(source, size=Size(users, FEW_DAYS)), compared, ("all",))
        table += [{"days": FEW_DAYS} | row.to_dict() | {"on_front": False} for row in short]
        found += check_disguise_claims(rows, short, days)

    def draw(figure: Any, axes: Any) -> None:
        on = [row for row in rows if row.defence in front]
        off = [row for row in rows if row.defence not in front]
        for some, size, edge in ((off, 26, "none"), (on, 62, "black")):
            drawn = axes.scatter(
                [row.utility for row in some], [row.scores.s_T_min for row in some], s=size,
                c=[row.scores.s_R_min for row in some], edgecolors=edge, linewidths=1.2,
                cmap="viridis", vmin=0.0, vmax=1.0, zorder=3,
            )  # fmt: skip
        axes.set(xlabel=USEFULNESS.title, ylabel=WHEREABOUTS.title)
        axes.margins(0.08)
        draw_bands(axes, rows, USEFULNESS)
        axes.axvline(0.7, color="#555555", linewidth=0.8, linestyle=":")
        figure.colorbar(drawn, ax=axes, label=NAMES.title)
        points: Any = [(row.utility, row.scores.s_T_min) for row in on]
        label_points(axes, points, [row.defence for row in on], size=7)
        title = (
            f"{len(rows)} defences by all three scores; ringed and named: the Pareto front of {len(on)}; "
            "strokes: to the estimate for an attacker with the table of users; dotted: valid from 0.7 on"
        )
        axes.set_title(format_title(textwrap.fill(title, 100), found), fontsize=9.5, loc="left", pad=10)

    return Drawing(table, draw, (9, 6.4), claims=found)


def find_pareto_front(rows: Sequence[SweepRow]) -> set[str]:
    """Return the defences that no other beats: none is as good in all three scores and better in one.

    >>> from tracearena.arena import AttackScores
    >>> def row(name, utility, s_R, s_T):
    ...     return SweepRow(name, utility, True, AttackScores({"r": s_R}, {"t": s_T}))
    >>> rows = [row("a", 1.0, 0.0, 0.0), row("b", 0.8, 0.5, 0.1), row("c", 0.8, 0.5, 0.05)]
    >>> sorted(find_pareto_front(rows))
    ['a', 'b']
    """

    def is_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        pairs = list(zip(one, other, strict=True))
        return any(a > b + TIE for a, b in pairs) and not any(a < b - TIE for a, b in pairs)

    points = {row.defence: (row.utility or 0.0, *row.scores.minima) for row in rows}
    return {
        name for name, own in points.items() if not any(is_better(other, own) for other in points.values())
    }


def check_arena_defence_claims(rows: Sequence[SweepRow]) -> list[ClaimResult]:
    """Return whether one defence is the most private in both ways among the valid ones.

    It takes the same defence at the top of s_R,min and of s_T,min.
    """
    statement = "of the valid defences one is the best against both kinds of attack"
    valid = [row for row in rows if row.valid]
    if not valid:
        return [ClaimResult(statement, False, "no defence is valid", None)]
    by_name = max(valid, key=lambda row: row.scores.minima[0])
    by_place = max(valid, key=lambda row: row.scores.minima[1])
    told = (
        f"highest s_R,min = {by_name.scores.minima[0]:.3f} {by_name.defence}, "
        f"highest s_T,min = {by_place.scores.minima[1]:.3f} {by_place.defence}"
    )
    return [ClaimResult(statement, by_name is by_place, told, by_place.scores.minima[1])]


def check_disguise_claims(
    long: Sequence[SweepRow], short: Sequence[SweepRow], days: int
) -> list[ClaimResult]:
    """Return whether disguises hide more of the whereabouts than cluster averaging, on long and short traces.

    It takes a disguise with a larger s_T,min on long traces, and none on short ones.
    """
    found = []
    for rows, known, which, expected in ((long, days, "a", True), (short, FEW_DAYS, "no", False)):
        left = {row.defence: row.scores.minima[1] for row in rows if row.defence in DISGUISES}
        (averaged,) = (row.scores.minima[1] for row in rows if row.defence == AVERAGING)
        told = ", ".join(f"{name} {value:.3f}" for name, value in (left | {AVERAGING: averaged}).items())
        gain = max(left.values()) - averaged
        statement = f"of {known} known and {known} released days {which} disguise hides more"
        found.append(
            ClaimResult(
                f"{statement} of the whereabouts than cluster averaging",
                (gain > TIE) == expected,
                f"s_T,min = {told}",
                gain,
            )
        )
    return found


# One team's people under many defences, small enough for the attacks that take long.
PEOPLE = Size(200, 10)
"""People of the city, and days of reference and as many of original traces."""


def run_team_sweep(source: FigureSource, defences: Sequence[str], attacks: Sequence[str]) -> Sweep:
    """Try defences against attacks on one team, with the band of each."""
    (team,) = load_teams(FigureSource(source.data, source.seed, source.choose_size(PEOPLE)))
    rows = run_sweep(*team, defences=defences, attacks=attacks, band=True, seed=source.seed)
    require_success(rows)
    return rows
