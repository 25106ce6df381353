"""Figures of our own: attacks and defences compared on the same releases.

The first sets old and new attacks against each other and shows between which values s_T must lie; the
second shows which defences no other beats in usefulness and both kinds of privacy.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tracearena.arena import (
    ATTACKS_2019,
    SAMPLE_DEFENCES,
    STRONGEST_ATTACKS,
    Sweep,
    SweepRow,
    require_success,
    run_sweep,
    write_table,
)
from tracearena.arena.claims import ClaimResult, Tell, check_share, format_title, report_findings
from tracearena.pages.html import BLUE, GREY, ORANGE, VERMILION
from tracearena.papers.data import DEFENCES, FigureSource, Size, load_teams, write_records
from tracearena.papers.style import (
    NAMES,
    USEFULNESS,
    WHEREABOUTS,
    draw_bands,
    label_points,
    open_canvas,
    save_figure,
    write_head,
)

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


def draw_arena_attacks(
    out: Path,
    source: FigureSource,
    tell: Tell | None,
    *,
    defences: Sequence[str] = (*SAMPLE_DEFENCES, "ClusterAveraging(0.7,blur_km=0.5)"),
) -> list[Path]:
    """Write arena-attacks.svg and arena-attacks.csv."""
    rows = run_team_sweep(source, defences, (*ATTACKS_2019, "strongest"))
    write_table(rows, out / "arena-attacks.csv")
    found = check_arena_attack_claims(rows)
    report_findings(found, tell)
    titles = "share of people not identified, s_R (1 is private)", "whereabouts not found, s_T (1 is private)"
    height = 1.2 + 0.2 * len(rows)
    with open_canvas(11, height, ncols=2, sharey=True) as (figure, axes):
        for kind, (axis, title) in enumerate(zip(axes, titles, strict=True)):
            if kind == 1:
                _draw_bands(axis, rows)
            for side, size in zip(ATTACK_GROUPS, (46, 26, 14), strict=True):
                values = [find_least_score(row, side, kind) for row in rows]
                at = [number for number, value in enumerate(values) if value is not None]
                axis.scatter(
                    [values[number] for number in at], at, marker=side.marker, s=size, zorder=3,
                    facecolors="none" if side is OLD else side.colour, edgecolors=side.colour,
                    label=side.title,
                )  # fmt: skip
            axis.set(xlabel=title, xlim=(-0.03, 1.03), ylim=(len(rows) - 0.4, -0.6))
        names = [row.defence if row.valid else f"{row.defence} *" for row in rows]
        axes[0].set_yticks(range(len(rows)), names, fontsize=7.5)
        handles, labels = axes[1].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="lower center", ncols=5, frameon=False, fontsize=8,
            bbox_to_anchor=(0.5, 0.06 - 0.55 / height),
        )  # fmt: skip
        figure.subplots_adjust(wspace=0.06, bottom=0.06 + 0.5 / height, top=0.95)
        title = f"The strongest of old and new attacks on {len(rows)} defences (* utility below 0.7)"
        write_head(figure, title, found, width=130, top=0.96)
        picture = save_figure(figure, out / "arena-attacks.svg")
    return [picture, out / "arena-attacks.csv"]


def check_arena_attack_claims(rows: Sequence[SweepRow]) -> list[ClaimResult]:
    """Say whether the new attacks are at least as strong, and what the old ones made too much of.

    At least as strong takes a score that is at most 0.01 above the old attacks' on every defence.
    A defence is made too much of if the attacks of 2019 leave more of it than habits alone do.
    """
    both = (("re-identification", "s_R", 0), ("trace inference", "s_T", 1))
    compared = [
        check_share(
            f"in {words} the new attacks are at least as strong as those of 2019",
            (new <= old + NOISE for old, new in _pair_scores(rows, kind)),
            f"defences, {symbol} at most {NOISE:g} higher",
        )
        for words, symbol, kind in both
    ]
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


def _pair_scores(rows: Sequence[SweepRow], kind: int) -> list[tuple[float, float]]:
    pairs = [(find_least_score(row, OLD, kind), find_least_score(row, NEW, kind)) for row in rows]
    return [(old, new) for old, new in pairs if old is not None and new is not None]


def _draw_bands(axis: object, rows: Sequence[SweepRow]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axis, Axes)
    banded = [(number, row.band) for number, row in enumerate(rows) if row.band is not None]
    if not banded:
        return
    axis.barh(
        [number for number, _ in banded],
        [band.ceiling - band.estimate for _, band in banded],
        left=[band.estimate for _, band in banded],
        height=0.62,
        color=GREY,
        alpha=0.25,
        label="must lie here (left end: an estimate)",
    )
    ceiling = max(band.ceiling for _, band in banded)
    axis.axvline(ceiling, color=GREY, linestyle="--", linewidth=1.1, label=f"habits alone, {ceiling:.3f}")


# Which defences nobody beats in usefulness and both kinds of privacy at once.


TIE = 1e-9
AVERAGING = "ClusterAveraging(0.7,100,0.5)"
DISGUISES = ("Impostor(0.7)", "Decoy(0.7)")
FEW_DAYS = 2
"""Days known, and as many released, of the traces that count as short."""


def draw_arena_defences(
    out: Path,
    source: FigureSource,
    tell: Tell | None,
    *,
    defences: Sequence[str] = tuple(dict.fromkeys((*SAMPLE_DEFENCES, *DEFENCES, *DISGUISES))),
) -> list[Path]:
    """Write arena-defences.svg and arena-defences.csv.

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
        found += compare_disguises(rows, short, days)
    write_records(out / "arena-defences.csv", table)
    report_findings(found, tell)
    with open_canvas(9, 6.4) as (figure, axes):
        on = [row for row in rows if row.defence in front]
        off = [row for row in rows if row.defence not in front]
        colours: dict[str, Any] = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, "zorder": 3}
        drawn: Any = None
        for some, size, edge in ((off, 26, "none"), (on, 62, "black")):
            drawn = axes.scatter(
                [row.utility for row in some], [row.scores.s_T_min for row in some], s=size,
                c=[row.scores.s_R_min for row in some], edgecolors=edge, linewidths=1.2, **colours,
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
        picture = save_figure(figure, out / "arena-defences.svg")
    return [picture, out / "arena-defences.csv"]


def find_pareto_front(rows: Sequence[SweepRow]) -> set[str]:
    """Return the defences that no other beats: none is as good in all three scores and better in one.

    >>> from tracearena.arena import AttackScores
    >>> def row(name, utility, s_R, s_T):
    ...     return SweepRow(name, utility, True, AttackScores({"r": s_R}, {"t": s_T}))
    >>> rows = [row("a", 1.0, 0.0, 0.0), row("b", 0.8, 0.5, 0.1), row("c", 0.8, 0.5, 0.05)]
    >>> sorted(find_pareto_front(rows))
    ['a', 'b']
    """
    points = {row.defence: (row.utility or 0.0, *row.scores.minima) for row in rows}
    return {
        name
        for name, own in points.items()
        if not any(_is_better(other, own) for another, other in points.items() if another != name)
    }


def _is_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    better = [a > b + TIE for a, b in zip(one, other, strict=True)]
    worse = [a < b - TIE for a, b in zip(one, other, strict=True)]
    return any(better) and not any(worse)


def check_arena_defence_claims(rows: Sequence[SweepRow]) -> list[ClaimResult]:
    """Say whether one defence is the most private in both ways among the valid ones.

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


def compare_disguises(long: Sequence[SweepRow], short: Sequence[SweepRow], days: int) -> list[ClaimResult]:
    """Say whether disguises hide more of the whereabouts than cluster averaging, on long and short traces."""
    return [
        _compare_disguises(long, f"of {days} known and {days} released days a disguise hides more", True),
        _compare_disguises(
            short, f"of {FEW_DAYS} known and {FEW_DAYS} released days no disguise hides more", False
        ),
    ]


def _compare_disguises(rows: Sequence[SweepRow], statement: str, expected: bool) -> ClaimResult:
    left = {row.defence: row.scores.minima[1] for row in rows if row.defence in (AVERAGING, *DISGUISES)}
    averaged = left.pop(AVERAGING)
    told = ", ".join(f"{name} {value:.3f}" for name, value in (left | {AVERAGING: averaged}).items())
    best = max(left.values())
    statement = f"{statement} of the whereabouts than cluster averaging"
    return ClaimResult(statement, (best > averaged + TIE) == expected, f"s_T,min = {told}", best - averaged)


# One team's people under many defences, small enough for the attacks that take long.


PEOPLE = Size(200, 10)
"""People of the city, and days of reference and as many of original traces."""


def run_team_sweep(source: FigureSource, defences: Sequence[str], attacks: Sequence[str]) -> Sweep:
    """Try defences against attacks on one team, with the band of each."""
    (team,) = load_teams(FigureSource(source.data, source.seed, source.choose_size(PEOPLE)))
    rows = run_sweep(*team, defences=defences, attacks=attacks, band=True, seed=source.seed)
    require_success(rows)
    return rows
