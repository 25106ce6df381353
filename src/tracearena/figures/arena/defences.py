"""Which defences nobody beats in usefulness and both kinds of privacy at once."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracearena.arena import SAMPLE_DEFENCES, SweepRow
from tracearena.arena.claims import Finding, Tell, announce, titled
from tracearena.figures.arena.trial import PEOPLE, tried
from tracearena.figures.data import DEFENCES, Size, Source
from tracearena.figures.privacy_scatter import NAMES, USEFULNESS, WHEREABOUTS, draw_bands
from tracearena.figures.style import canvas, label_points, save
from tracearena.figures.tables import write_records

TIE = 1e-9
AVERAGING = "ClusterAveraging(0.7,100,0.5)"
DISGUISES = ("Impostor(0.7)", "Decoy(0.7)")
FEW_DAYS = 2
"""Days known, and as many released, of the traces that count as short."""


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    defences: Sequence[str] = tuple(dict.fromkeys((*SAMPLE_DEFENCES, *DEFENCES, *DISGUISES))),
) -> list[Path]:
    """Write arena-defences.svg and arena-defences.csv.

    Disguises and cluster averaging are tried on short traces too: which of them hides more depends on it.
    """
    rows = tried(source, defences, ("all",))
    front = pareto(rows)
    users, days = source.sized(PEOPLE)
    table = [{"days": days} | row.to_dict() | {"on_front": row.defence in front} for row in rows]
    found = findings(rows)
    compared = (AVERAGING, *DISGUISES)
    if source.data is None and days > FEW_DAYS and set(compared) <= set(defences):
        short = tried(replace(source, size=Size(users, FEW_DAYS)), compared, ("all",))
        table += [{"days": FEW_DAYS} | row.to_dict() | {"on_front": False} for row in short]
        found += disguise_findings(rows, short, days)
    write_records(out / "arena-defences.csv", table)
    announce(found, tell)
    return [_draw(rows, front, out / "arena-defences.svg", found), out / "arena-defences.csv"]


def pareto(rows: Sequence[SweepRow]) -> set[str]:
    """Return the defences that no other beats: none is as good in all three scores and better in one.

    >>> from tracearena.arena import AttackScores
    >>> def row(name, utility, s_R, s_T):
    ...     return SweepRow(name, utility, True, AttackScores({"r": s_R}, {"t": s_T}))
    >>> sorted(pareto([row("a", 1.0, 0.0, 0.0), row("b", 0.8, 0.5, 0.1), row("c", 0.8, 0.5, 0.05)]))
    ['a', 'b']
    """
    points = {row.defence: (row.utility or 0.0, *row.scores.minima) for row in rows}
    return {
        name
        for name, own in points.items()
        if not any(_beats(other, own) for another, other in points.items() if another != name)
    }


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    better = [a > b + TIE for a, b in zip(one, other, strict=True)]
    worse = [a < b - TIE for a, b in zip(one, other, strict=True)]
    return any(better) and not any(worse)


def findings(rows: Sequence[SweepRow]) -> list[Finding]:
    """Say whether one defence is the most private in both ways among the valid ones.

    It takes the same defence at the top of s_R,min and of s_T,min.
    """
    statement = "of the valid defences one is the best against both kinds of attack"
    valid = [row for row in rows if row.valid]
    if not valid:
        return [Finding(statement, False, "no defence is valid", None)]
    by_name = max(valid, key=lambda row: row.scores.minima[0])
    by_place = max(valid, key=lambda row: row.scores.minima[1])
    told = (
        f"highest s_R,min = {by_name.scores.minima[0]:.3f} {by_name.defence}, "
        f"highest s_T,min = {by_place.scores.minima[1]:.3f} {by_place.defence}"
    )
    return [Finding(statement, by_name is by_place, told, by_place.scores.minima[1])]


def disguise_findings(long: Sequence[SweepRow], short: Sequence[SweepRow], days: int) -> list[Finding]:
    """Say whether disguises hide more of the whereabouts than cluster averaging, on long and short traces."""
    return [
        _disguised(long, f"of {days} known and {days} released days a disguise hides more", True),
        _disguised(short, f"of {FEW_DAYS} known and {FEW_DAYS} released days no disguise hides more", False),
    ]


def _disguised(rows: Sequence[SweepRow], statement: str, expected: bool) -> Finding:
    left = {row.defence: row.scores.minima[1] for row in rows if row.defence in (AVERAGING, *DISGUISES)}
    averaged = left.pop(AVERAGING)
    told = ", ".join(f"{name} {value:.3f}" for name, value in (left | {AVERAGING: averaged}).items())
    best = max(left.values())
    statement = f"{statement} of the whereabouts than cluster averaging"
    return Finding(statement, (best > averaged + TIE) == expected, f"s_T,min = {told}", best - averaged)


def _draw(rows: Sequence[SweepRow], front: set[str], path: Path, found: Sequence[Finding]) -> Path:
    with canvas(9, 6.4) as (figure, axes):
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
        axes.set_title(titled(textwrap.fill(title, 100), found), fontsize=9.5, loc="left", pad=10)
        return save(figure, path)
