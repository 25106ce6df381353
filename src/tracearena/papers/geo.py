"""Figures 2 to 6 of [geo-ind]: GPS trajectories, hotspots, gossip and attacks under noise."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import Deanonymisation, deanonymise
from tracearena.arena.claims import ClaimResult, check_share
from tracearena.attacks import Interpolation
from tracearena.attacks.deanonymisation import LstmClassifier, WindowForest
from tracearena.cities import simulate_gps
from tracearena.engine import report
from tracearena.errors import DataError
from tracearena.io import read
from tracearena.metrics.applications import bayesian_update, distance_error, gossip, hotspots
from tracearena.metrics.applications.networks import MARGIN_KM, RANGE_M, count_released_points
from tracearena.obfuscation import GeoInd
from tracearena.pages.html import BLUE, COLOURS, MARKERS
from tracearena.papers.base import Drawing, paper_figure
from tracearena.papers.data import FigureSource, Size, round_to_six_digits
from tracearena.papers.style import choose_look, draw_cells, draw_ground
from tracearena.traces import GpsTraces
from tracearena.traces.box import Box
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.gridding import default_area, tessellation

RECEIVERS = Size(40, 30)
"""People of the city with a GPS receiver, and days of each."""
BEIJING = Box(39.85, 116.25, 40.05, 116.5)
"""The box of [geo-ind]."""
NOISE_M = (50, 100, 250, 500, 1000)


class GpsData(NamedTuple):
    """Traces cut to an area, and what to call them."""

    traces: GpsTraces
    area: Box
    name: str


def load_gps_data(source: FigureSource) -> GpsData:
    """Read GPS traces, or simulate them; cut them to the paper's box if most points lie there.

    Published data is a file of GPS traces, or a folder: of such files, or with the GeoLife archive in it.
    """
    if source.data is None:
        size = source.choose_size(RECEIVERS)
        traces, name = simulate_gps(*size, seed=source.seed), f"simulated city, {size.users} users"
    elif not source.data.exists():
        raise DataError(f"{source.data} does not exist")
    else:
        packed = sorted([*source.data.glob("*eolife*.tar.gz"), *source.data.glob("*eolife*.zip")])
        archive = packed[0] if packed else source.data
        traces = read(archive).as_points().traces
        name = f"{archive.name}, {traces.n_users} users"
    inside = traces.take_box(BEIJING)
    area = BEIJING if 2 * len(inside) > len(traces) else default_area(traces, 88.6)
    return GpsData(traces.take_box(area), area, name)


# [geo-ind] Figure 2: one trajectory under noise.
TRAJECTORY_NOISE_M, TRAJECTORY_WINDOW_S = 100.0, 300.0
_EXTENT_M = 8000.0
_LONGEST_S = 7200.0


@paper_figure("geo-2", "one GPS trajectory four times: the original, and three with noise")
def compute_geo_figure_2(source: FigureSource) -> Drawing:
    """Release a trajectory with independent and with time-dependent noise, and interpolate the latter."""
    original = _choose_trajectory(load_gps_data(source).traces)
    plain, held = (
        GeoInd(expected_noise=TRAJECTORY_NOISE_M, window=window).transform(original, seed=source.seed)
        for window in (None, TRAJECTORY_WINDOW_S)
    )
    versions = {
        "original": original,
        "independent noise, 100 m": plain,
        "time-dependent noise, 100 m, T = 5 min": held,
        "the same after interpolation": Interpolation().recover(held),
    }
    box = Box.of(original)
    latitude, longitude = box.middle
    north, east = (0.62 * max(box.size_m()) / float(m) for m in metres_per_degree(latitude))
    area = Box(latitude, longitude, latitude, longitude).with_margin(north, east)
    rows = [
        (name, int(t), f"{lat:.7f}", f"{lon:.7f}")
        for name, traces in versions.items()
        for t, lat, lon in zip(traces.time_ms, traces.latitude, traces.longitude, strict=True)
    ]

    def draw(figure: Any, axes: Any) -> None:
        figure.set_layout_engine("constrained")
        for axis, (name, traces) in zip(axes.flat, versions.items(), strict=True):
            axis.plot(traces.longitude, traces.latitude, color=BLUE, linewidth=0.5, alpha=0.6)
            axis.scatter(traces.longitude, traces.latitude, s=5, color=BLUE, linewidths=0)
            draw_ground(axis, area)
            error = distance_error(original, traces).mean_m
            axis.set_title(name if traces is original else f"{name}: {error:.0f} m off", fontsize=10)
        for axis in axes[-1]:
            axis.set_xlabel("longitude, degrees")
        for axis in axes[:, 0]:
            axis.set_ylabel("latitude, degrees")

    return Drawing(
        (("version", "time_ms", "latitude", "longitude"), rows), draw, (9, 8.4),
        {"nrows": 2, "ncols": 2, "sharex": True, "sharey": True},
        title="One trajectory four ways, with the mean distance from the original",
        head={"top": 1.01}, suffix="png",
    )  # fmt: skip


def _choose_trajectory(traces: GpsTraces) -> GpsTraces:
    """Return the trajectory with the most points of those that fit into the picture."""
    best, most = 0, -1
    for trajectory in range(traces.n_trajectories):
        first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
        points = traces.trajectory_order[first:stop]
        north, east = metres_per_degree(traces.latitude[points[0]])
        height = np.ptp(traces.latitude[points]) * float(north)
        width = np.ptp(traces.longitude[points]) * float(east)
        lasts = np.ptp(traces.time_ms[points]) / 1000
        fits = 1500 <= max(height, width) <= _EXTENT_M and min(height, width) > 500 and lasts <= _LONGEST_S
        if fits and stop - first > most:
            best, most = trajectory, int(stop - first)
    chosen = traces.keep(traces.trajectory == best)
    return chosen.take_users(np.diff(chosen.offsets) > 0)


# [geo-ind] Figure 3: traffic offloaded by hotspots against the noise.
OFFLOADING_PAPER = {250: (0.96, 0.98), 500: (0.95, None), 1000: (0.89, 0.93)}
"""Values that the text of [geo-ind] names: empirical, after the update."""
_COLUMNS = ("offloaded", "offloaded_after_update", "cells_found", "cells_found_after_update")


@paper_figure("geo-3", "traffic offloaded by hotspots, by size of the noise")
def compute_geo_figure_3(source: FigureSource, *, runs: int = 3) -> Drawing:
    """Measure the share of original points served, before and after the Bayesian update.

    The numbers also have the cells found, and all of it on a grid that continues for some kilometres around
    the area (``margin``) and on one that ends with it (``clipped``).
    """
    gps = load_gps_data(source)
    both = np.empty((2, len(_COLUMNS), len(NOISE_M), runs))
    for at, noise in enumerate(NOISE_M):
        for run in range(runs):
            released = GeoInd(expected_noise=noise).transform(gps.traces, seed=source.seed * 1000 + run)
            for wide, margin in enumerate((MARGIN_KM, 0.0)):
                one = hotspots(gps.traces, released, area=gps.area, expected_noise_m=noise, margin_km=margin)
                both[wide, :, at, run] = [getattr(one, name) for name in _COLUMNS]
            report(at * runs + run + 1, len(NOISE_M) * runs)
    found = both[:, :2]
    rows = [
        (grid, noise, run, *both[wide, :, at, run].tolist())
        for wide, grid in enumerate(("margin", "clipped"))
        for at, noise in enumerate(NOISE_M)
        for run in range(runs)
    ]

    def draw(figure: Any, axes: Any) -> None:
        for k, name in enumerate(("chosen by the noisy counts", "after the Bayesian update")):
            _plot_runs(axes, found[0, k], k, name, 0.25)
            clipped = "the same on a grid that ends with the area"
            axes.plot(NOISE_M, found[1, k].mean(axis=1), ":", color=COLOURS[k], label=clipped)
        for k in (0, 1):
            shown = [(noise, value[k]) for noise, value in OFFLOADING_PAPER.items() if value[k] is not None]
            label = None if k else "[geo-ind], all of GeoLife"
            look = {"marker": MARKERS[k].matplotlib, "facecolors": "none", "edgecolors": "#444444"}
            axes.scatter(*zip(*shown, strict=True), label=label, zorder=3, **look)
        axes.set(xlabel="expected noise, m", ylabel="traffic offloaded (1 = all)")
        axes.set_ylim(min(0.8, found.min() - 0.01), 1.005)
        axes.legend(frameon=False, fontsize=8.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.13))

    return Drawing(
        (("grid", "expected_noise_m", "run", *_COLUMNS), round_to_six_digits(rows)), draw, (7, 4.6),
        title=f"Traffic offloaded against the noise ({gps.name})",
        claims=[*check_geo_3_claims(found[0]), *check_grid_margin_claims(found)],
        head={"width": 78}, suffix="png",
    )  # fmt: skip


def _plot_runs(axes: Any, values: NDArray[np.float64], number: int, name: str, alpha: float) -> None:
    """Draw the mean of the runs over the noise, and a band from the least to the largest."""
    ends = values.min(axis=1), values.max(axis=1)
    axes.fill_between(NOISE_M, *ends, color=COLOURS[number], alpha=alpha, linewidth=0)
    axes.plot(NOISE_M, values.mean(axis=1), label=name, **choose_look(number))


def check_geo_3_claims(found: NDArray[np.float64]) -> list[ClaimResult]:
    """Compare the mean over the runs before and after the update, at every noise.

    [geo-ind] Figure 3: the update "improves the performance of the hotspots deployed, on average, by
    2 percentage points". It must offload more at every noise.

    Parameters
    ----------
    found
        Shares by (before or after the update, noise, run).
    """
    gain = found[1].mean(axis=1) - found[0].mean(axis=1)
    told = f"noises have more traffic offloaded after it, on average {100 * gain.mean():+.1f} points"
    return [check_share("the update wins back part of what noise costs", (gain > 0).tolist(), told)]


def check_grid_margin_claims(found: NDArray[np.float64]) -> list[ClaimResult]:
    """Compare the update on a grid that continues around the area and on one that ends with it.

    Parameters
    ----------
    found
        Shares by (with a margin or clipped, before or after the update, noise, run).
    """
    gain = 100 * (found[0, 1] - found[1, 1]).mean(axis=1)
    shown = ", ".join(f"{one:+.2f} at {noise} m" for noise, one in zip(NOISE_M, gain, strict=True))
    told = f"points won by a margin of {MARGIN_KM:g} km: {shown}"
    statement = "heaping what leaves the area on its border costs traffic after the update"
    return [ClaimResult(statement, bool(gain.mean() > 0), told, float(gain.mean()))]


# [geo-ind] Figure 4: where people seem to be, before and after the Bayesian update.
MAP_NOISE_M = (100, 250, 1000)


@paper_figure("geo-4", "population maps from noisy points, before and after the Bayesian update")
def compute_geo_figure_4(source: FigureSource) -> Drawing:
    """Compute the original, and for each noise the noisy distribution and the updated one."""
    gps = load_gps_data(source)
    side_m = RANGE_M * math.sqrt(math.pi)
    grid = tessellation(gps.area, side_m)
    true = count_released_points(gps.traces, gps.traces, grid)
    shares = {"original": true / true.sum()}
    for noise in MAP_NOISE_M:
        released = GeoInd(expected_noise=noise).transform(gps.traces, seed=source.seed)
        counts = count_released_points(gps.traces, released, grid)
        update = bayesian_update(
            counts.reshape(grid.rows, grid.columns), side_m=side_m, expected_noise_m=noise
        )
        shares[f"noise of {noise} m"] = counts / counts.sum()
        shares[f"{noise} m, after {update.rounds} rounds"] = update.distribution.ravel()
    least = 1 / len(gps.traces)
    latitude, longitude = grid.centres()
    rows = [
        (name, f"{latitude[cell]:.6f}", f"{longitude[cell]:.6f}", float(share[cell]))
        for name, share in shares.items()
        for cell in np.flatnonzero(share >= least)
    ]

    def draw(figure: Any, axes: Any) -> None:
        from matplotlib.colors import LogNorm

        figure.set_layout_engine("constrained")
        norm = LogNorm(least, max(float(s.max()) for s in shares.values()))
        look = {"norm": norm, "cmap": "viridis", "interpolation": "nearest"}
        first, empty, *others = axes.flat
        empty.axis("off")
        for axis, (name, share) in zip((first, *others), shares.items(), strict=True):
            image = draw_cells(axis, grid, np.ma.masked_less(share, least), **look)
            draw_ground(axis, gps.area)
            axis.set_title(name, fontsize=10)
            axis.tick_params(labelsize=7)
        figure.colorbar(image, ax=axes, label="share of all points in a cell", shrink=0.4, location="bottom")

    return Drawing(
        (("map", "latitude", "longitude", "share"), round_to_six_digits(rows)), draw, (7.4, 12.5),
        {"nrows": 4, "ncols": 2}, title=f"Points by cell, before and after the update ({gps.name})",
        claims=check_geo_4_claims(shares), head={"width": 85, "top": 1.005}, suffix="png",
    )  # fmt: skip


def check_geo_4_claims(shares: Mapping[str, NDArray[np.float64]]) -> list[ClaimResult]:
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
        check_share(
            "noise blurs the map and the update sharpens it again",
            [after < before for before, after in pairs],
            "maps are nearer to the original after it: total variation "
            + ", ".join(f"{before:.2f} → {after:.2f}" for before, after in pairs),
        )
    ]


# [geo-ind] Figure 5: how far gossip spreads in noisy traces.
WINDOWS_S = (None, 120.0, 300.0, 600.0)


@paper_figure("geo-5", "how far gossip spreads in noisy traces")
def compute_geo_figure_5(source: FigureSource, *, runs: int = 3) -> Drawing:
    """Measure the infection rate against the noise; time-dependent noise after interpolation."""
    gps = load_gps_data(source)
    baseline = gossip(gps.traces).infection_rate
    if baseline is None:
        raise DataError(f"{gps.name}: gossip needs people")
    rates = np.empty((len(WINDOWS_S), len(NOISE_M), runs))
    rows: list[tuple[object, ...]] = [("original", None, None, baseline)]
    for done, (w, at, run) in enumerate(np.ndindex(rates.shape)):
        mechanism = GeoInd(expected_noise=NOISE_M[at], window=WINDOWS_S[w])
        released = mechanism.transform(gps.traces, seed=source.seed * 1000 + run)
        if WINDOWS_S[w] is not None:
            released = Interpolation().recover(released)
        rates[w, at, run] = gossip(released).infection_rate
        window = "independent" if WINDOWS_S[w] is None else f"{WINDOWS_S[w]:g}"
        rows.append((window, NOISE_M[at], run, float(rates[w, at, run])))
        report(done + 1, rates.size)

    def draw(figure: Any, axes: Any) -> None:
        for w, window in enumerate(WINDOWS_S):
            name = "independent noise" if window is None else f"T = {window / 60:g} min, interpolated"
            _plot_runs(axes, rates[w], w, name, 0.2)
        axes.axhline(baseline, color="#222222", linestyle="--", label=f"original: {baseline:.2f}")
        axes.set(xlabel="expected noise, m", ylabel="share of users reached (1 = all)", ylim=(0, 1))
        axes.legend(frameon=False, fontsize=9)

    header = ("window_s", "expected_noise_m", "run", "infection_rate")
    return Drawing(
        (header, round_to_six_digits(rows)), draw, (7, 4.6),
        title=f"Share of users reached by gossip, against the noise ({gps.name})",
        claims=check_geo_5_claims(baseline, rates), head={"width": 78}, suffix="png",
    )  # fmt: skip


def check_geo_5_claims(baseline: float, rates: NDArray[np.float64]) -> list[ClaimResult]:
    """Check whether gossip spreads farther in noisy traces than in the original ones.

    [geo-ind] Figure 5: "to stronger sanitization corresponds higher average infection rate". The mean
    over the runs with independent noise must be above the original at every noise.

    Parameters
    ----------
    rates
        Infection rates by (window, noise, run); the first window is independent noise.
    """
    mean = rates[0].mean(axis=1)
    return [
        check_share(
            "independent noise makes people meet who never met",
            (mean > baseline).tolist(),
            f"noises reach more users than the original's {baseline:.2f}: "
            f"{mean.min():.2f} to {mean.max():.2f}",
        )
    ]


# [geo-ind] Figure 6: who is told from whom in noisy trajectories.
CONFUSION_NOISE_M, CLASSIFIER_WINDOW_S = 100.0, 300.0
FAIR = 0.1


@paper_figure("geo-6", "which people a classifier distinguishes in noisy trajectories")
def compute_geo_figure_6(source: FigureSource, *, targets: int = 10) -> Drawing:
    """Compute confusion matrices of the LSTM and of the forest, for both kinds of noise.

    Without PyTorch (extra ``neural``) the forest alone is tried.
    """
    traces = load_gps_data(source).traces
    found: dict[tuple[str, str], Deanonymisation] = {}
    for noise, window in (("independent", None), ("T = 5 min", CLASSIFIER_WINDOW_S)):
        released = GeoInd(expected_noise=CONFUSION_NOISE_M, window=window).transform(traces, seed=source.seed)
        if importlib.util.find_spec("torch") is not None:
            network = LstmClassifier()
            found["LSTM", noise] = deanonymise(released, network, targets=targets, seed=source.seed)
        found["forest", noise] = deanonymise(released, WindowForest(), targets=targets, seed=source.seed)
    header = ["method", "noise", "true_class", "answered_class", "windows"]
    header += ["accuracy", "most_frequent", "balanced_accuracy"]
    rows = [
        (*key, *answer, int(count), one.accuracy, one.most_frequent, one.balanced_accuracy)
        for key, one in found.items()
        for answer, count in np.ndenumerate(one.confusion)
    ]

    def draw(figure: Any, axes: Any) -> None:
        figure.set_layout_engine("constrained")
        for axis, ((method, noise), result) in zip(axes.flat, found.items(), strict=True):
            shares = result.confusion / np.maximum(result.confusion.sum(axis=1, keepdims=True), 1)
            axis.imshow(shares, cmap="viridis", vmin=0, vmax=1)
            for (true, answer), share in np.ndenumerate(shares):
                if share >= 0.05:
                    look = {"fontsize": 6.5, "color": "black" if share > 0.6 else "white"}
                    axis.text(answer, true, f"{100 * share:.0f}", ha="center", va="center", **look)
            names = ["others", *(str(k) for k in range(1, len(shares)))]
            axis.set_xticks(range(len(shares)), names, fontsize=7)
            axis.set_yticks(range(len(shares)), names, fontsize=7)
            axis.grid(False)
            axis.set(xlabel="answered (target user)", ylabel="true (percent of its windows)")
            right = f"{result.accuracy:.0%} right, balanced {result.balanced_accuracy:.0%}"
            axis.set_title(f"{method}, {noise}: {right}", fontsize=10)

    many = len({method for method, _ in found})
    return Drawing(
        (header, round_to_six_digits(rows)), draw, (8.4, 4.3 * many),
        {"nrows": many, "ncols": 2, "squeeze": False},
        title=f"Confusion of people under {CONFUSION_NOISE_M:g} m of noise",
        claims=check_geo_6_claims(found.values()), head={"width": 95, "top": 1.01}, suffix="png",
    )  # fmt: skip


def check_geo_6_claims(found: Iterable[Deanonymisation]) -> list[ClaimResult]:
    """Check whether the classifiers tell people apart better than a guess.

    [geo-ind] Figure 6: the network "can effectively de-anonymize obfuscated traces", 47 and 49 % right
    among ten targets. Every classifier must be right three standard errors more often than always
    answering the most frequent class is; and, each class counting alike, come a tenth of the way from one
    answer for all to all right.
    """
    results = list(found)
    better = []
    for one in results:
        share = one.most_frequent
        error = (share * (1 - share) / max(int(one.confusion.sum()), 1)) ** 0.5
        better.append(one.accuracy > share + 3 * error)
    shown = ", ".join(f"{one.accuracy:.0%}" for one in results)
    most = max((one.most_frequent for one in results), default=0.0)
    fair = [one.balanced_accuracy > one.balanced_guess + FAIR * (1 - one.balanced_guess) for one in results]
    balanced = ", ".join(f"{one.balanced_accuracy:.0%}" for one in results)
    guess = max((one.balanced_guess for one in results), default=0.0)
    return [
        check_share(
            f"{CONFUSION_NOISE_M:g} m of noise do not hide who a person is",
            better,
            f"classifiers beat always answering the most frequent class ({most:.0%}): {shown} right",
        ),
        check_share(
            "classifiers tell the targets apart, each class counting alike",
            fair,
            f"classifiers come more than {FAIR:.0%} of the way from one answer for all ({guess:.0%}) to all "
            f"right: balanced accuracy {balanced}",
        ),
    ]
