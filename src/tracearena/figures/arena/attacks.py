"""Old and new attacks on the same releases, and between which values s_T must lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tracearena.arena import ATTACKS_2019, SAMPLE_DEFENCES, STRONGEST_ATTACKS, SweepRow, write_table
from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.figures.arena.trial import tried
from tracearena.figures.data import Source
from tracearena.figures.style import canvas, head, save
from tracearena.pages.html import BLUE, GREY, ORANGE, VERMILION

NOISE = 0.01
"""Scores that differ by no more are ties: the spread between teams of 2,000 ([contest] Table 2)."""


class Side(NamedTuple):
    """Attacks that are compared as one: the strongest of them counts."""

    title: str
    names: tuple[str, ...]
    marker: str
    colour: str


UNTOLD = tuple(name for name in STRONGEST_ATTACKS if "adaptive" not in name)
SIDES = (
    Side("attacks of 2019", ATTACKS_2019, "o", BLUE),
    Side("weighing all, defence unknown", UNTOLD, "s", ORANGE),
    Side("weighing all, defence known or not", STRONGEST_ATTACKS, "D", VERMILION),
)
OLD, _, NEW = SIDES


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    defences: Sequence[str] = (*SAMPLE_DEFENCES, "ClusterAveraging(0.7,blur_km=0.5)"),
) -> list[Path]:
    """Write arena-attacks.svg and arena-attacks.csv."""
    rows = tried(source, defences, (*ATTACKS_2019, "strongest"))
    write_table(rows, out / "arena-attacks.csv")
    found = findings(rows)
    announce(found, tell)
    return [_draw(rows, out / "arena-attacks.svg", found), out / "arena-attacks.csv"]


def findings(rows: Sequence[SweepRow]) -> list[Finding]:
    """Say whether the new attacks are at least as strong, and what the old ones made too much of.

    At least as strong takes a score that is at most 0.01 above the old attacks' on every defence.
    A defence is made too much of if the attacks of 2019 leave more of it than habits alone do.
    """
    both = (("re-identification", "s_R", 0), ("trace inference", "s_T", 1))
    compared = [
        counted(
            f"in {words} the new attacks are at least as strong as those of 2019",
            (new <= old + NOISE for old, new in _pairs(rows, kind)),
            f"defences, {symbol} at most {NOISE:g} higher",
        )
        for words, symbol, kind in both
    ]
    over = [
        row.defence
        for row in rows
        if row.band is not None and (least(row, OLD, 1) or 0.0) > row.band.ceiling + NOISE
    ]
    told = f"{len(over)} of {len(rows)} defences lie above the ceiling against the attacks of 2019"
    statement = "the attacks of 2019 make some defences look better than any can be"
    return [*compared, Finding(statement, bool(over), told, float(len(over)))]


def least(row: SweepRow, side: Side, kind: int) -> float | None:
    """Return the lowest score of a side: s_R for kind 0, s_T for kind 1."""
    scores = (row.scores.reidentification, row.scores.trace_inference)[kind]
    return min((scores[name] for name in side.names if name in scores), default=None)


def _pairs(rows: Sequence[SweepRow], kind: int) -> list[tuple[float, float]]:
    pairs = [(least(row, OLD, kind), least(row, NEW, kind)) for row in rows]
    return [(old, new) for old, new in pairs if old is not None and new is not None]


def _draw(rows: Sequence[SweepRow], path: Path, found: Sequence[Finding]) -> Path:
    titles = "share of people not identified, s_R (1 is private)", "whereabouts not found, s_T (1 is private)"
    height = 1.2 + 0.2 * len(rows)
    with canvas(11, height, ncols=2, sharey=True) as (figure, axes):
        for kind, (axis, title) in enumerate(zip(axes, titles, strict=True)):
            if kind == 1:
                _draw_bands(axis, rows)
            for side, size in zip(SIDES, (46, 26, 14), strict=True):
                values = [least(row, side, kind) for row in rows]
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
        head(figure, title, found, width=130, top=0.96)
        return save(figure, path)


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
