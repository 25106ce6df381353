"""[contest] Figure 8: privacy scores of the sample algorithms."""

from __future__ import annotations

from pathlib import Path

from tracearena.contest import write_table
from tracearena.engine import Progress
from tracearena.figures import privacy_scatter
from tracearena.figures._sample_sweep import sample_sweep
from tracearena.figures.style import canvas, save

CAPTION = "Shuffling whole traces (Cheat) hides who is who, and hides nothing else"


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write contest-8.svg and contest-8.csv."""
    rows = sample_sweep(data, seed, progress)
    write_table(rows, out / "contest-8.csv")
    with canvas(8, 6) as (figure, axes):
        privacy_scatter.scatter(axes, rows)
        axes.set_title(CAPTION, fontsize=10, loc="left", pad=24)
        picture = save(figure, out / "contest-8.svg")
    return [picture, out / "contest-8.csv"]
