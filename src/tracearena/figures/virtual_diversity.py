"""[contest] Figure 16: do two teams get the same people?"""

from __future__ import annotations

from pathlib import Path

from tracearena.engine import Progress, child_seed, seed_sequence
from tracearena.figures._check_ins import check_ins
from tracearena.figures._rows import write_rows
from tracearena.figures.style import OKABE_ITO, canvas, save
from tracearena.metrics import Diversity, diversity
from tracearena.synthesis import PPMTF

DAYS = 20


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write contest-16.svg and contest-16.csv: Same-TV and Diff-TV of PPMTF and PPMTF+, 20 days a user."""
    training, _ = check_ins(data, seed)
    root = seed_sequence(seed)
    model = PPMTF(zeros="all").fit(training, seed=child_seed(root, 0), progress=progress)
    pair = [child_seed(root, 1), child_seed(root, 2)]
    real = [model.synthesize(DAYS, seed=one) for one in pair]
    virtual = [model.sample_users(training.n_users, DAYS, seed=one) for one in pair]
    found = {"PPMTF": diversity(*real, seed=seed), "PPMTF+": diversity(*virtual, seed=seed)}
    rows = [{"method": name, **result.to_dict()} for name, result in found.items()]
    return [_draw(out / "contest-16.svg", found), write_rows(out / "contest-16.csv", rows)]


def _draw(path: Path, found: dict[str, Diversity]) -> Path:
    with canvas(5.5, 4) as (figure, axes):
        for number, (label, side) in enumerate((("same number", -0.2), ("other number", 0.2))):
            values = [one.diff_tv if number else one.same_tv for one in found.values()]
            errors = [0.1 * (one.diff_sd if number else one.same_sd) for one in found.values()]
            at = [place + side for place in range(len(found))]
            axes.bar(at, values, 0.38, yerr=errors, capsize=3, color=OKABE_ITO[number], label=label)
        axes.set_xticks(range(len(found)), list(found))
        axes.set(ylim=(0, 1), ylabel="mean total variation of two users of two teams")
        axes.set_title("With PPMTF+ every team has people of its own", fontsize=11)
        axes.legend(frameon=False, title="bars: 0.1 × standard deviation", loc="lower right")
        return save(figure, path)
