"""[samples] Figure 4: the sample programs with and without the utility threshold."""

from __future__ import annotations

from pathlib import Path

from tracearena.arena import write_table
from tracearena.arena.findings import Tell
from tracearena.contest import Rules
from tracearena.figures import privacy_scatter
from tracearena.figures.data import Source, sample_sweep
from tracearena.figures.style import canvas, save


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write samples-4.svg and samples-4.csv."""
    rows = sample_sweep(source)
    write_table(rows, out / "samples-4.csv")
    threshold = Rules().utility_threshold
    with canvas(15, 6, ncols=2) as (figure, (everything, valid)):
        privacy_scatter.scatter(everything, rows)
        everything.set_title("all releases (threshold 0)", fontsize=10, loc="left", pad=24)
        privacy_scatter.scatter(valid, [row for row in rows if row.valid])
        valid.set_title(f"only useful releases (threshold {threshold:g})", fontsize=10, loc="left", pad=24)
        picture = save(figure, out / "samples-4.svg")
    return [picture, out / "samples-4.csv"]
