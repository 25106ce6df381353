"""[ppmtf] Figure 8: clusters of users, where they are, and the factors that say so."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import Progress
from tracearena.figures._people_flow import people_flow
from tracearena.figures.style import canvas, save
from tracearena.formats._files import replacing
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import cluster_features
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 3
_ROWS = ("training", "synthetic", "column of B", "column of C")


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write ppmtf-8.svg and ppmtf-8.csv: three clusters of a tenth of the users."""
    training, _ = people_flow(data, seed)
    model = PPMTF().fit(training, seed=seed, progress=progress)
    synthetic = model.synthesize(10, seed=seed)
    clusters = cluster_features(model, training, synthetic)
    chosen, people = clusters.most_distinct(SHOWN), clusters.populations
    shown = people.training, people.synthetic, clusters.places, clusters.next_places
    rows, variation = [values[chosen] for values in shown], people.total_variation[chosen]
    _write_csv(out / "ppmtf-8.csv", chosen, rows, variation)
    return [_draw(out / "ppmtf-8.svg", training, rows, variation), out / "ppmtf-8.csv"]


def _write_csv(
    path: Path, chosen: NDArray[np.int64], rows: list[NDArray[np.float64]], variation: NDArray[np.float64]
) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["cluster", "total_variation", "place", "training", "synthetic", "b", "c"])
    for number, factor in enumerate(chosen.tolist()):
        for place, values in enumerate(zip(*(row[number].tolist() for row in rows), strict=True)):
            table.writerow([factor, float(variation[number]), place, *values])
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def _draw(
    path: Path, training: Traces, rows: list[NDArray[np.float64]], variation: NDArray[np.float64]
) -> Path:
    with canvas(3.2 * SHOWN + 1.2, 12, nrows=len(rows), ncols=SHOWN) as (figure, axes):
        for row, (label, values) in enumerate(zip(_ROWS, rows, strict=True)):
            for column in range(SHOWN):
                top = max(values[column].max(), 1e-12)
                _map(axes[row, column], training, values[column], top)
                if row == 0:
                    axes[row, column].set_title(
                        f"cluster {column + 1} (total variation {variation[column]:.2f})", fontsize=9
                    )
            axes[row, 0].set_ylabel(label)
        figure.suptitle(
            "Synthetic people of a cluster are where its people are; the factors say where that is",
            fontsize=11,
            y=0.93,
        )
        return save(figure, path)


def _map(panel: Axes, training: Traces, values: NDArray[np.float64], top: float) -> None:
    places = training.places
    shrunk = float(np.cos(np.radians(places.latitude.mean())))
    panel.set_aspect(1 / shrunk)
    panel.grid(False)
    panel.tick_params(labelsize=6)
    if places.grid is not None:
        grid = places.grid
        image = np.clip(values, 0, None).reshape(grid.rows, grid.columns)
        extent = (grid.west, grid.east, grid.south, grid.north)
        panel.imshow(image, origin="lower", extent=extent, vmin=0, vmax=top, aspect=1 / shrunk)
    else:
        panel.scatter(places.longitude, places.latitude, c=np.clip(values, 0, None), s=6, vmin=0, vmax=top)
