"""A map the size of a stamp, as SVG without scripts: where most of it is."""

from __future__ import annotations

from functools import cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tracearena.pages.html import scale_length
from tracearena.traces.box import Box
from tracearena.traces.places import Grid

_CELLS = 40
_CELL_PX = 6
_SIZE_PX = _CELLS * _CELL_PX
_LEVELS = 8


def small_map(
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    amounts: NDArray[np.float64],
    box: Box,
    grid: Grid | None = None,
) -> str:
    """Return the amounts of the cells of a box, in eight colours on a logarithmic scale.

    North is up, and the map has the shape of the ground; a bar gives the scale in the ink of the page.
    Cells are those of the grid if there is one, or several of them together if there are many.
    """
    height_m, width_m = (max(metres, 1.0) for metres in box.size_m())
    longer = max(height_m, width_m)
    height, width = height_m / longer * _SIZE_PX, width_m / longer * _SIZE_PX
    rows, columns = max(1, round(height / _CELL_PX)), max(1, round(width / _CELL_PX))
    if grid is not None:
        together = -(-max(grid.rows, grid.columns) // _CELLS)
        rows, columns = -(-grid.rows // together), -(-grid.columns // together)
    table = _table(latitude, longitude, amounts, box, (rows, columns))
    bar_km, words = scale_length(width_m / 1000)
    bar = bar_km * 1000 / width_m * width
    frame = f'width="{width:.4g}" height="{height:.4g}"'
    return (
        f'<svg viewBox="0 0 {width:.4g} {height + 16:.4g}" width="{width:.4g}" height="{height + 16:.4g}" '
        'role="img" style="max-width:100%;height:auto"><title>where it is; darker is less</title>'
        f'<g transform="scale({width / columns:.5g} {height / rows:.5g})" shape-rendering="crispEdges">'
        f'{_cells(table)}</g><rect {frame} fill="none" stroke="currentColor" stroke-opacity=".35"/>'
        f'<path d="M0 {height + 9:.4g}h{bar:.4g}" stroke="currentColor" stroke-width="2"/>'
        f'<text x="{bar + 5:.4g}" y="{height + 13:.4g}" font-size="11" fill="currentColor">{words}</text>'
        "</svg>"
    )


def _table(
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    amounts: NDArray[np.float64],
    box: Box,
    shape: tuple[int, int],
) -> NDArray[np.int64]:
    """Return the level of each cell from the north-west, 0 where there is nothing."""
    inside = box.contains(latitude, longitude) & (amounts > 0)
    spans = max(box.north - box.south, 1e-9), max(box.east - box.west, 1e-9)
    row = ((box.north - latitude[inside]) / spans[0] * shape[0]).astype(np.int64).clip(0, shape[0] - 1)
    column = ((longitude[inside] - box.west) / spans[1] * shape[1]).astype(np.int64).clip(0, shape[1] - 1)
    totals = np.bincount(row * shape[1] + column, weights=amounts[inside], minlength=shape[0] * shape[1])
    seen = totals > 0
    levels = np.zeros(len(totals), np.int64)
    if seen.any():
        logs = np.log(totals[seen])
        levels[seen] = 1 + np.rint((logs - logs.min()) / max(np.ptp(logs), 1e-9) * (_LEVELS - 1)).astype(int)
    return levels.reshape(shape)


def _cells(table: NDArray[np.int64]) -> str:
    """Write one path a colour; cells of a row that follow each other are one rectangle."""
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(table.tolist()):
        x = 0
        for level, same in groupby(row):
            run = len(list(same))
            if level:
                paths.setdefault(level, []).append(f"M{x} {y}h{run}v1h-{run}z")
            x += run
    return "".join(
        f'<path fill="{_colours()[level - 1]}" d="{"".join(paths[level])}"/>' for level in sorted(paths)
    )


@cache
def _colours() -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    viridis = colormaps["viridis"]
    return [to_hex(viridis(level / (_LEVELS - 1))) for level in range(_LEVELS)]
