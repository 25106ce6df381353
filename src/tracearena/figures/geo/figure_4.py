"""[geo-ind] Figure 4: where people seem to be, before and after the Bayesian update."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.figures.data import Source, gps_data
from tracearena.figures.style import canvas, draw_ground, head, save
from tracearena.figures.tables import six_digits
from tracearena.files import write_csv
from tracearena.metrics.applications import bayesian_update
from tracearena.metrics.applications.offloading import RANGE_M, released_counts
from tracearena.obfuscation import GeoInd
from tracearena.traces.gridding import tessellation

NOISE_M = (100, 250, 1000)


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Draw the original, and for each noise the noisy distribution and the updated one."""
    from matplotlib.colors import LogNorm

    gps = gps_data(source)
    side_m = RANGE_M * math.sqrt(math.pi)
    grid = tessellation(gps.area, side_m)
    true = released_counts(gps.traces, gps.traces, grid)
    shares = {"original": true / true.sum()}
    for noise in NOISE_M:
        counts = released_counts(
            gps.traces, GeoInd(expected_noise=noise).transform(gps.traces, seed=source.seed), grid
        )
        update = bayesian_update(
            counts.reshape(grid.rows, grid.columns), side_m=side_m, expected_noise_m=noise
        )
        shares[f"noise of {noise} m"] = counts / counts.sum()
        shares[f"{noise} m, after {update.rounds} rounds"] = update.distribution.ravel()
    least = 1 / len(gps.traces)
    norm = LogNorm(least, max(float(s.max()) for s in shares.values()))
    found = findings(shares)
    announce(found, tell)
    with canvas(7.4, 12.5, nrows=4, ncols=2) as (figure, axes):
        figure.set_layout_engine("constrained")
        names = ["original", None, *list(shares)[1:]]
        for axis, name in zip(axes.flat, names, strict=True):
            if name is None:
                axis.axis("off")
                continue
            table = np.ma.masked_less(shares[name].reshape(grid.rows, grid.columns), least)
            extent = (grid.west, grid.east, grid.south, grid.north)
            image = axis.imshow(
                table, origin="lower", extent=extent, norm=norm, cmap="viridis", interpolation="nearest"
            )
            draw_ground(axis, gps.area)
            axis.set_title(name, fontsize=10)
            axis.tick_params(labelsize=7)
        figure.colorbar(image, ax=axes, label="share of all points in a cell", shrink=0.4, location="bottom")
        head(figure, f"Points by cell, before and after the update ({gps.name})", found, width=85, top=1.005)
        picture = save(figure, out / "geo-4.png")
    latitude, longitude = grid.centres()
    rows = [
        (name, f"{latitude[cell]:.6f}", f"{longitude[cell]:.6f}", float(share[cell]))
        for name, share in shares.items()
        for cell in np.flatnonzero(share >= least)
    ]
    return [
        picture,
        write_csv(out / "geo-4.csv", ["map", "latitude", "longitude", "share"], six_digits(rows)),
    ]


def findings(shares: Mapping[str, NDArray[np.float64]]) -> list[Finding]:
    """Compare the maps before and after the update by their total variation from the original.

    [geo-ind] Figure 4: the update refines the frequency distribution. It must be nearer to the
    original at every noise.

    Parameters
    ----------
    shares
        The original first, then a noisy and an updated map for each noise.
    """
    original, *others = shares.values()
    far = [float(np.abs(share - original).sum() / 2) for share in others]
    pairs = list(zip(far[::2], far[1::2], strict=True))
    return [
        counted(
            "noise blurs the map and the update sharpens it again",
            [after < before for before, after in pairs],
            "maps are nearer to the original after it: total variation "
            + ", ".join(f"{before:.2f} → {after:.2f}" for before, after in pairs),
        )
    ]
