"""[contest] Figure 9: privacy of the teams' releases, ours with a defence for each team.

Where the published scores of the final of 2019 are at hand, its own points are drawn beside ours: they
lie in the folder of published data, or in ``pwscup2019-results`` beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tracearena.arena import ATTACKS_2019, SweepRow, run_sweep, succeeded, write_table
from tracearena.arena.claims import Finding, Tell, announce, privacies_together, titled
from tracearena.contest import compared, read_score_tables
from tracearena.contest.board import BoardRow, Role
from tracearena.figures import privacy_scatter
from tracearena.figures.data import DEFENCES, Source
from tracearena.figures.style import canvas, label_points, save
from tracearena.figures.tables import correlation_of, write_records
from tracearena.figures.virtual_teams import ITERATIONS, virtual_teams
from tracearena.pages.html import BLUE

RESULTS = "pwscup2019-results"
TABLES = ("final_reidentification.csv", "final_trace_inference.csv", "final_utility.csv")


def make(out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS) -> list[Path]:
    """Write contest-9.svg and contest-9.csv, and contest-9-2019.csv where the published final is at hand."""
    tables = published_final(source.data)
    # A folder with the published scores alone has no traces: ours are then virtual users.
    ours = source if tables is None or tables[0].parent != source.data else replace(source, data=None)
    (team,) = virtual_teams(ours, iterations=iterations)
    rows = run_sweep(*team, defences=("No", *DEFENCES), attacks=ATTACKS_2019, seed=source.seed)
    succeeded(rows)
    write_table(rows, out / "contest-9.csv")
    points = [] if tables is None else compared(read_score_tables(*tables).board())
    found = findings(rows, points)
    announce(found, tell)
    picture, numbers = out / "contest-9.svg", [out / "contest-9.csv"]
    title = f"{len(rows)} releases by both kinds of privacy"
    if not points:
        return [privacy_scatter.draw_found(rows, picture, title, found), *numbers]
    numbers.append(write_records(out / "contest-9-2019.csv", [row.to_dict() for row in points]))
    return [_draw_both(picture, title, rows, points, found), *numbers]


def published_final(data: Path | None) -> tuple[Path, Path, Path] | None:
    """Return the published tables of scores, if they lie in the folder or beside it."""
    for folder in () if data is None else (data, data.resolve().parent / RESULTS):
        found = tuple(folder / name for name in TABLES)
        if all(path.is_file() for path in found):
            return found[0], found[1], found[2]
    return None


def findings(rows: Sequence[SweepRow], published: Sequence[BoardRow] = ()) -> list[Finding]:
    """Say whether the two kinds of privacy go together over the valid releases ([contest] Figure 9).

    The same is asked of the published points, where they are at hand.
    """
    found = [privacies_together(row.scores.minima for row in rows if row.valid)]
    if published:
        theirs = privacies_together((row.s_R_min, row.s_T_min) for row in published)
        found.append(replace(theirs, statement=f"{theirs.statement}, in the published final"))
    return found


def correlation(rows: Sequence[SweepRow]) -> float:
    """Return the correlation of s_R,min and s_T,min over the valid releases."""
    return correlation_of([row.scores.minima for row in rows if row.valid])


def _draw_both(
    path: Path, title: str, rows: Sequence[SweepRow], points: Sequence[BoardRow], found: Sequence[Finding]
) -> Path:
    with canvas(14, 6, ncols=2) as (figure, axes):
        privacy_scatter.scatter(axes[0], rows)
        axes[0].set_title(titled(title, found[:1]), fontsize=10, loc="left", pad=24)
        where = [(row.s_R_min, row.s_T_min) for row in points]
        for role, marker in ((Role.TEAM, "o"), (Role.PSEUDONYMISED, "x")):
            own = [pair for row, pair in zip(points, where, strict=True) if row.role is role]
            axes[1].scatter([x for x, _ in own], [y for _, y in own], marker=marker, color=BLUE, zorder=3)
        label_points(axes[1], where, [row.team for row in points], size=6.5)
        axes[1].set(xlabel=privacy_scatter.NAMES.title, ylabel=privacy_scatter.WHEREABOUTS.title)
        theirs = f"{len(points)} data sets of the published final (x: pseudonymised only)"
        axes[1].set_title(titled(theirs, found[1:]), fontsize=10, loc="left", pad=24)
        for one in axes:
            one.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        return save(figure, path)
