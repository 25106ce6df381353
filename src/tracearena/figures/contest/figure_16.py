"""[contest] Figure 16: do two teams get the same people?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.check_in_cities import check_in_cities
from tracearena.figures.data import Source
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.metrics import Diversity, measure_diversity
from tracearena.pages.html import COLOURS
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces

DAYS = 20
ITERATIONS = 100
ALIKE = 0.1
METHODS = ("PPMTF", "PPMTF+")


def make(
    out: Path, source: Source, tell: Tell | None, *, days: int = DAYS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write contest-16.svg and contest-16.csv: Same-TV and Diff-TV of PPMTF and PPMTF+, 20 days a user.

    In several cities: three simulated ones, or those of a folder of published data.
    """
    cities = check_in_cities(source)
    found = {
        city.name: diversity(city.training, days, iterations, source.seed)
        for city in tracked(cities, len(cities))
    }
    rows = [
        {"city": city, "method": name, **result.to_dict()}
        for city, of in found.items()
        for name, result in of.items()
    ]
    said = findings(found)
    announce(said, tell)
    return [_draw(out / "contest-16.svg", found, said), write_records(out / "contest-16.csv", rows)]


def diversity(training: Traces, days: int, iterations: int, seed: int) -> dict[str, Diversity]:
    """Return how alike two teams are that PPMTF, and PPMTF+, makes of the same people."""
    root = seed_sequence(seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    pair = [child_seed(root, 1), child_seed(root, 2)]
    real = [model.synthesize(days, seed=one) for one in pair]
    virtual = [model.sample_users(training.n_users, days, seed=one) for one in pair]
    return {
        name: measure_diversity(*teams, seed=seed)
        for name, teams in zip(METHODS, (real, virtual), strict=True)
    }


def findings(found: Mapping[str, Mapping[str, Diversity]]) -> list[Finding]:
    """Ask in each city whether user i of one team is more like user i of another than like anybody there.

    [contest] appendix B: with PPMTF Same-TV is smaller than Diff-TV, with PPMTF+ their difference is
    smaller than 0.1 times the standard deviation. The same bound is taken for both.
    """
    virtual, real = ([of[name].gap for of in found.values()] for name in ("PPMTF+", "PPMTF"))
    return [
        counted(
            "with PPMTF+ every team has people of its own",
            [abs(gap) < ALIKE for gap in virtual],
            f"cities have Same-TV within {ALIKE:g} standard deviations of Diff-TV: {_listed(virtual)} below",
        ),
        counted(
            "with PPMTF two teams have the same people",
            [gap >= ALIKE for gap in real],
            f"cities have Same-TV at least {ALIKE:g} standard deviations below Diff-TV: {_listed(real)}",
        ),
    ]


def _listed(gaps: list[float]) -> str:
    return ", ".join(f"{gap:.3f}" for gap in gaps)


def _draw(path: Path, found: Mapping[str, Mapping[str, Diversity]], said: list[Finding]) -> Path:
    with canvas(8.5, 3.8, ncols=2, sharey=True) as (figure, panels):
        for panel, name in zip(panels, METHODS, strict=True):
            mine = [of[name] for of in found.values()]
            for number, (label, side) in enumerate((("same number", -0.2), ("other number", 0.2))):
                values = [one.diff_tv if number else one.same_tv for one in mine]
                errors = [0.1 * (one.diff_sd if number else one.same_sd) for one in mine]
                at = [place + side for place in range(len(mine))]
                panel.bar(at, values, 0.38, yerr=errors, capsize=3, color=COLOURS[number], label=label)
            panel.set_xticks(range(len(found)), list(found))
            panel.set_title(name, fontsize=10)
        panels[0].set(ylim=(0, 1), ylabel="mean total variation\nof two users of two teams")
        words = "bars: 0.1 × standard deviation"
        panels[1].legend(frameon=False, title=words, loc="center left", bbox_to_anchor=(1, 0.5))
        head(figure, "Same-TV and Diff-TV of two teams", said, width=105)
        return save(figure, path)
