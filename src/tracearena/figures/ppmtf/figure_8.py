"""[ppmtf] Figure 8: clusters of users, where they are, and the factors that say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import generator
from tracearena.figures.data import Source, people_flow
from tracearena.figures.style import canvas, head, save
from tracearena.files import write_csv
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import cluster_features
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 3
HALVINGS = 10
ITERATIONS = 100
COLUMNS = (
    "cluster", "total_variation", "from_everybody", "halves", "place", "training", "synthetic", "b", "c",
)  # fmt: skip
_ROWS = ("training", "synthetic", "column of B", "column of C")


def make(out: Path, source: Source, tell: Tell | None, *, iterations: int = ITERATIONS) -> list[Path]:
    """Write ppmtf-8.svg and ppmtf-8.csv: three clusters of a tenth of the users."""
    training, _ = people_flow(source)
    model = PPMTF(iterations=iterations).fit(training, seed=source.seed)
    synthetic = model.synthesize(10, seed=source.seed)
    clusters = cluster_features(model, training, synthetic)
    chosen, people = clusters.most_distinct(SHOWN), clusters.populations
    shown = people.training, people.synthetic, clusters.places, clusters.next_places
    rows = [values[chosen] for values in shown]
    apart = {
        "synthetic": people.total_variation[chosen],
        "everybody": np.abs(rows[0] - clusters.everybody).sum(axis=1) / 2,
        "halves": np.array([_halves(training.take_users(people.users[one]), source.seed) for one in chosen]),
    }
    found = findings(apart["synthetic"], apart["everybody"])
    announce(found, tell)
    return [
        _draw(out / "ppmtf-8.svg", training, rows, apart, found),
        write_csv(out / "ppmtf-8.csv", COLUMNS, _numbers(chosen, rows, apart)),
    ]


def findings(synthetic: NDArray[np.float64], everybody: NDArray[np.float64]) -> list[Finding]:
    """Compare the total variation of a cluster's people from its synthetic ones and from everybody.

    [ppmtf] section 4.4 says that synthetic traces preserve the behaviour of a cluster: each must be
    nearer to its own people than everybody is.
    """
    return [
        counted(
            "synthetic people of a cluster are where its people are",
            (synthetic < everybody).tolist(),
            "clusters are nearer to their synthetic people than to everybody, mean total variation "
            f"{float(np.mean(synthetic)):.2f} against {float(np.mean(everybody)):.2f}",
        )
    ]


def _halves(cluster: Traces, seed: int) -> float:
    """Return the mean total variation of random halves of a cluster's people from each other."""
    rng, n = generator(seed), cluster.n_users
    found = []
    for _ in range(HALVINGS if n > 1 else 0):
        order = rng.permutation(n)
        parts = [cluster.take_users(np.sort(part)) for part in (order[: n // 2], order[n // 2 :])]
        one, other = (
            np.bincount(part.place_index, minlength=len(cluster.places)) / max(part.n_events, 1)
            for part in parts
        )
        found.append(float(np.abs(one - other).sum() / 2))
    return float(np.mean(found)) if found else 0.0


def _numbers(
    chosen: NDArray[np.int64], rows: list[NDArray[np.float64]], apart: dict[str, NDArray[np.float64]]
) -> Iterator[list[float]]:
    for number, factor in enumerate(chosen.tolist()):
        for place, values in enumerate(zip(*(row[number].tolist() for row in rows), strict=True)):
            yield [factor, *(float(one[number]) for one in apart.values()), place, *values]


def _draw(
    path: Path,
    training: Traces,
    rows: list[NDArray[np.float64]],
    apart: dict[str, NDArray[np.float64]],
    found: list[Finding],
) -> Path:
    with canvas(3.2 * SHOWN + 1.2, 12, nrows=len(rows), ncols=SHOWN) as (figure, axes):
        for row, (label, values) in enumerate(zip(_ROWS, rows, strict=True)):
            for column in range(SHOWN):
                top = max(values[column].max(), 1e-12)
                _map(axes[row, column], training, values[column], top)
                if row == 0:
                    told = "\n".join(f"{name}: {one[column]:.2f} apart" for name, one in apart.items())
                    axes[row, column].set_title(f"cluster {column + 1}\n{told}", fontsize=9)
            axes[row, 0].set_ylabel(label)
        title = "Three clusters: real people, synthetic people (total variation) and columns of the factors"
        head(figure, title, found, width=100)
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
