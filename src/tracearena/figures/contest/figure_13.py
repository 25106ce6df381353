"""[contest] Figure 13: what released traces are still good for."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tracearena.algorithms import catalogue
from tracearena.arena.claims import Tell
from tracearena.attacks import ReferenceReplay
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence
from tracearena.figures.data import DEFENCES, Source, Team, points_of_interest, teams
from tracearena.figures.style import canvas, save
from tracearena.files import write_csv
from tracearena.metrics import poi_accuracy_score, tm_emd_sliced, tp_tv, utility_score
from tracearena.metrics.contest_scores import places_at
from tracearena.metrics.transitions import BINS
from tracearena.pages.html import VERMILION
from tracearena.traces import ObfuscatedTraces, Places

TEAMS = 17
TOP = 50
OURS = "17 defences"
UNIFORM = "RR(0)"
"""Randomised response without a budget answers every place equally often."""

GROUPS = {"PL(4,1)": "PL(4,1)", "PL(1,1)": "PL(1,1)", "PL(0.1,1)": "PL(0.1,1)", "Uniform": UNIFORM}
REFERENCE = "Reference"


class Usefulness(NamedTuple):
    """One release of one team, measured for three uses; `poi_accuracy` is None without POIs."""

    group: str
    defence: str
    team: int
    s_U: float
    poi_accuracy: float | None
    tp_tv_top50: float
    tm_emd: float


PANELS = (
    ("poi_accuracy", "POI accuracy (1 is best)"),
    ("tp_tv_top50", "TP-TV-Top50 (0 is best)"),
    ("tm_emd", "TM-EMD, sliced, in regions (0 is best)"),
)


def make(out: Path, source: Source, tell: Tell | None, *, count: int = TEAMS) -> list[Path]:
    """Write contest-13.svg and contest-13.csv; without a file of POIs the first panel is left out.

    Every team has a defence of its own, and every comparator; with fewer teams they take turns.
    """
    several = teams(source, count)
    found = usefulness(several, points_of_interest(source.data), source.seed)
    table = write_csv(out / "contest-13.csv", Usefulness._fields, found)
    return [_draw(out / "contest-13.svg", found), table]


def usefulness(several: Sequence[Team], pois: Places | None, seed: SeedLike) -> list[Usefulness]:
    """Measure the 17 defences, each on one of the teams in turn, and the comparators on every team."""
    work = [(OURS, defence, number % len(several)) for number, defence in enumerate(DEFENCES)]
    work += [(group, name, team) for group, name in GROUPS.items() for team in range(len(several))]
    work += [(REFERENCE, REFERENCE, team) for team in range(len(several))]
    root = seed_sequence(seed)

    def one(block: int, first: int, stop: int) -> Usefulness:
        group, defence, number = work[first]
        team = several[number]
        released = _released(team, defence, child_seed(root, zlib.crc32(defence.encode()), number))
        return Usefulness(
            group,
            defence,
            number + 1,
            utility_score(team.original, released).utility,
            None if pois is None else poi_accuracy_score(team.original, released, pois).poi_accuracy,
            tp_tv(team.original, released, top=TOP),
            tm_emd_sliced(team.original, released, bins=_regions_across(team.original.places)),
        )

    return run_blocks(one, block_ranges(len(work), 1), report=True)


def _regions_across(places: Places) -> int:
    """Return how many regions the city is wide or high: transitions are compared region by region."""
    return BINS if places.grid is None else max(places.grid.rows, places.grid.columns)


def _released(team: Team, defence: str, seed: SeedLike) -> ObfuscatedTraces:
    if defence != REFERENCE:
        released: ObfuscatedTraces = catalogue.create(defence, "obfuscator").transform(
            team.original, seed=seed
        )
        return released
    frame = ObfuscatedTraces.unchanged(team.original)
    replayed = ReferenceReplay().fit(team.reference).infer(frame, seed=seed)
    return ObfuscatedTraces.like(team.original, places_at(replayed, team.original))


def _draw(path: Path, found: Sequence[Usefulness]) -> Path:
    groups = list(dict.fromkeys(one.group for one in found))
    panels = [panel for panel in PANELS if getattr(found[0], panel[0]) is not None]
    with canvas(5 * len(panels), 4.2, ncols=len(panels)) as (figure, all_axes):
        for axes, (field, title) in zip(all_axes, panels, strict=True):
            values = [[getattr(one, field) for one in found if one.group == group] for group in groups]
            axes.boxplot(values, medianprops={"color": VERMILION, "linewidth": 2})
            axes.set_xticks(range(1, len(groups) + 1), _labels(found, groups), fontsize=7)
            axes.set_ylim(bottom=0)
            axes.set_title(title, fontsize=10, loc="left")
        figure.tight_layout()
        return save(figure, path)


def _labels(found: Sequence[Usefulness], groups: Sequence[str]) -> list[str]:
    """Return each group with its mean utility in brackets, as in the paper."""
    labels = []
    for group in groups:
        own = [one.s_U for one in found if one.group == group]
        labels.append(f"{group}\n[{sum(own) / len(own):.2f}]")
    return labels
