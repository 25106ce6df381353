"""[contest] Figure 16: do two teams get the same people?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracearena.arena.findings import Finding, Tell, announce, titled
from tracearena.engine import child_seed, seed_sequence
from tracearena.figures.data import Source, check_ins
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import write_records
from tracearena.metrics import Diversity, measure_diversity
from tracearena.pages.style import COLOURS
from tracearena.synthesis import PPMTF

DAYS = 20
ITERATIONS = 100
ALIKE = 0.1


def make(
    out: Path, source: Source, tell: Tell | None, *, days: int = DAYS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write contest-16.svg and contest-16.csv: Same-TV and Diff-TV of PPMTF and PPMTF+, 20 days a user."""
    training, _ = check_ins(source)
    root = seed_sequence(source.seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    pair = [child_seed(root, 1), child_seed(root, 2)]
    real = [model.synthesize(days, seed=one) for one in pair]
    virtual = [model.sample_users(training.n_users, days, seed=one) for one in pair]
    found = {
        "PPMTF": measure_diversity(*real, seed=source.seed),
        "PPMTF+": measure_diversity(*virtual, seed=source.seed),
    }
    rows = [{"method": name, **result.to_dict()} for name, result in found.items()]
    said = findings(found)
    announce(said, tell)
    return [_draw(out / "contest-16.svg", found, said), write_records(out / "contest-16.csv", rows)]


def findings(found: Mapping[str, Diversity]) -> list[Finding]:
    """Ask whether user i of one team is more like user i of another than like anybody there.

    [contest] appendix B: with PPMTF Same-TV is smaller than Diff-TV, with PPMTF+ their difference is
    smaller than 0.1 times the standard deviation. The same bound is taken for both.
    """
    virtual, real = (found[name].gap for name in ("PPMTF+", "PPMTF"))
    return [
        Finding(
            "with PPMTF+ every team has people of its own",
            abs(virtual) < ALIKE,
            f"Same-TV is {virtual:.3f} standard deviations below Diff-TV, less than {ALIKE:g} is none",
            virtual,
        ),
        Finding(
            "with PPMTF two teams have the same people",
            real >= ALIKE,
            f"{real:.3f} standard deviations, from {ALIKE:g} on",
            real,
        ),
    ]


def _draw(path: Path, found: dict[str, Diversity], said: list[Finding]) -> Path:
    with canvas(5.5, 4) as (figure, axes):
        for number, (label, side) in enumerate((("same number", -0.2), ("other number", 0.2))):
            values = [one.diff_tv if number else one.same_tv for one in found.values()]
            errors = [0.1 * (one.diff_sd if number else one.same_sd) for one in found.values()]
            at = [place + side for place in range(len(found))]
            axes.bar(at, values, 0.38, yerr=errors, capsize=3, color=COLOURS[number], label=label)
        axes.set_xticks(range(len(found)), list(found))
        axes.set(ylim=(0, 1), ylabel="mean total variation of two users of two teams")
        title = "Same-TV and Diff-TV of two teams"
        axes.set_title(titled(title, said, width=64), fontsize=9.5, loc="left")
        axes.legend(frameon=False, title="bars: 0.1 × standard deviation", loc="lower right")
        return save(figure, path)
