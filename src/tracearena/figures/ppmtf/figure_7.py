"""[ppmtf] Figure 7: privacy and utility of PPMTF, SGD and SGLT on people-flow data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.arena.evaluation import baselines, evaluate, halves
from tracearena.engine import tracked
from tracearena.figures.data import Source, people_flow, published_results
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF, SGD, SGLT
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 10, 20, 100, 200, 1000)
COPIED = (0, 1, 2, 3, 4, 5)
DROPPED = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1)
"""par_l of SGLT."""
CLASSES = (50, 100, 150, 200)
"""c of SGLT."""
TRACES_PER_USER = 10
ITERATIONS = 100
MOST_REIDENTIFIED, LARGEST_ADVANTAGE = 0.02, 0.055
"""What [ppmtf] section 4.4 claims for PPMTF in Figure 7."""
UTILITIES = {
    "tp_tv": ("TP-TV", "TP-TV"),
    "tp_tv_top50": ("TP-TV-Top50", "TP-TV-Top50"),
    "tm_emd_x": ("TM-EMD-X", "TM-EMD-X"),
    "tm_emd_y": ("TM-EMD-Y", "TM-EMD-Y"),
}
_PUBLISHED = " (published)"
PRIVACIES = {
    "reidentification_rate": "share of traces re-identified",
    "membership_advantage": "membership advantage",
}


@dataclass(frozen=True)
class Point:
    """One synthesizer with one setting."""

    series: str
    setting: str
    tp_tv: float
    tp_tv_top50: float
    tm_emd_x: float
    tm_emd_y: float
    reidentification_rate: float
    membership_advantage: float


def make(
    out: Path,
    source: Source,
    tell: Tell | None,
    *,
    alphas: Sequence[float] = ALPHAS,
    copied: Sequence[int] = COPIED,
    dropped: Sequence[float] = DROPPED,
    classes: Sequence[int] = CLASSES,
    iterations: int = ITERATIONS,
) -> list[Path]:
    """Write ppmtf-7.svg and ppmtf-7.csv; the authors' points come from their tables."""
    training, testing = people_flow(source)
    points: list[Point] = []
    models: list[tuple[str, str, PPMTF | SGD | SGLT]] = [
        *(("PPMTF", f"α={alpha:g}", PPMTF(alpha=alpha, iterations=iterations)) for alpha in alphas),
        *(("SGD", f"ξ={many}", SGD(copied=many)) for many in copied),
        *(
            (f"SGLT, c={many}", f"par_l={share:g}", SGLT(classes=many, par_l=share, privacy_tests=False))
            for many in classes
            for share in dropped
        ),
    ]
    for series, setting, model in tracked(models, len(models)):
        made = model.fit(training, seed=source.seed).synthesize(TRACES_PER_USER, seed=source.seed)
        points.append(_point(series, setting, made, training, testing))
    for method in ("PPMTF", "SGD", "SGLT"):
        points += [_published(row, method) for row in published_results(source.data, method)]
    limits = {name: use.to_dict() for name, use in baselines(training, testing).items()}
    parted = halves(training, testing)
    if parted is not None:
        limits |= {"halves": parted.mean.to_dict(), "halves, spread": parted.spread.to_dict()}
    found = findings(points, limits)
    announce(found, tell)
    return [
        _draw(out / "ppmtf-7.svg", points, limits, found),
        _write_numbers(out / "ppmtf-7.csv", points, limits),
    ]


def findings(points: Sequence[Point], limits: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Compare PPMTF, over all settings measured here, with what [ppmtf] section 4.4 says of it.

    There TP-TV is "close to Training" while less than 0.02 of the traces are re-identified and the
    membership advantage is below 0.055, and TM-EMD "significantly outperforms Uniform". Here close is
    nearer to the training data than to uniform, at one setting at least that keeps both bounds; and
    TM-EMD must be better than uniform in every setting.
    """
    ours = [point for point in points if point.series == "PPMTF"]
    training, uniform = (limits[name]["tp_tv"] for name in ("training", "uniform"))
    near = [point for point in ours if training <= point.tp_tv < (training + uniform) / 2]
    near += [point for point in ours if point.tp_tv < training < uniform]
    kept = [
        point
        for point in near
        if point.reidentification_rate < MOST_REIDENTIFIED and point.membership_advantage < LARGEST_ADVANTAGE
    ]
    worse = sum(point.tp_tv >= uniform for point in ours)
    return [
        Finding(
            "PPMTF comes near the training data in where people are while betraying almost nobody",
            bool(kept),
            f"TP-TV is worse than uniform at {worse} of {len(ours)} settings and nearer to training than to "
            f"uniform at {len(near)}, at {len(kept)} of these with < {MOST_REIDENTIFIED:g} re-identified and "
            f"an advantage < {LARGEST_ADVANTAGE:g}",
            len(kept) / len(ours) if ours else None,
        ),
        *(
            counted(
                f"PPMTF keeps people's moves better than uniform places do ({UTILITIES[name][0]})",
                [getattr(point, name) < limits["uniform"][name] for point in ours],
                "settings are better",
            )
            for name in ("tm_emd_x", "tm_emd_y")
            if limits["uniform"][name] is not None
        ),
    ]


def _point(series: str, setting: str, synthetic: Traces, training: Traces, testing: Traces) -> Point:
    found = evaluate(synthetic, training, testing).to_dict()
    return Point(series, setting, **{name: found[name] for name in (*UTILITIES, *PRIVACIES)})


def _published(row: dict[str, Any], method: str) -> Point:
    """Return a point of the authors' table, under the name and setting that ours has."""
    file = row["tracefile"]
    series, setting = method + _PUBLISHED, file
    if match := re.search(r"_alp([\d.]+)_", row["tracedir"]):
        setting = f"α={float(match[1]):g}"
    elif match := re.search(r"_cn(\d+)", file):
        setting = f"ξ={match[1]}"
    elif match := re.search(r"_c(\d+)_[\d.]+_[\d.]+_([\d.]+)_", file):
        series, setting = f"{method}, c={match[1]}{_PUBLISHED}", f"par_l={float(match[2]):g}"
    values = {name: row[f"{column}_syn"] for name, (_, column) in UTILITIES.items()}
    return Point(
        series,
        setting,
        **values,
        reidentification_rate=row["reid_rate"],
        membership_advantage=row["MIA_adv"],
    )


def _write_numbers(path: Path, points: list[Point], limits: dict[str, dict[str, Any]]) -> Path:
    rows = [asdict(point) for point in points]
    rows += [{"series": name, **values} for name, values in limits.items()]
    return write_records(path, rows, list(Point.__dataclass_fields__))


def _draw(path: Path, points: list[Point], limits: dict[str, dict[str, Any]], found: list[Finding]) -> Path:
    series = list(dict.fromkeys(point.series for point in points))
    with canvas(14, 6.5, nrows=2, ncols=4, sharex="col", sharey="row") as (figure, axes):
        for row, (privacy, privacy_label) in enumerate(PRIVACIES.items()):
            for column, (utility, (label, _)) in enumerate(UTILITIES.items()):
                panel = axes[row, column]
                _panel(panel, points, series, utility, privacy)
                _limits(panel, limits, utility)
                panel.set_xlabel(f"{label} (0 is best)" if row else "")
                panel.set_ylabel(f"{privacy_label} (0 is best)" if column == 0 else "")
        handles = axes[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
        head(
            figure,
            "Privacy against utility; lines: training data, halves of it against each other, uniform places",
            found,
            width=150,
        )
        return save(figure, path)


def _panel(panel: Axes, points: list[Point], series: list[str], utility: str, privacy: str) -> None:
    """Draw the points; a method and its published ones share colour and marker, these hollow."""
    methods = list(dict.fromkeys(name.removesuffix(_PUBLISHED) for name in series))
    for name in series:
        mine = [point for point in points if point.series == name]
        x, y = ([getattr(point, axis) for point in mine] for axis in (utility, privacy))
        number = methods.index(name.removesuffix(_PUBLISHED))
        look: dict[str, Any] = {"mfc": "none"} if name.endswith(_PUBLISHED) else {}
        panel.plot(
            x,
            y,
            MARKERS[number % len(MARKERS)].matplotlib,
            ms=5,
            color=COLOURS[number % len(COLOURS)],
            label=name,
            alpha=0.85,
            **look,
        )


def _limits(panel: Axes, limits: dict[str, dict[str, Any]], utility: str) -> None:
    spread = limits.get("halves, spread", {}).get(utility)
    if spread is not None:
        middle = limits["halves"][utility]
        panel.axvspan(middle - spread, middle + spread, color="#bbbbbb", alpha=0.5, linewidth=0)
    for name, style in (("training", "--"), ("halves", "-."), ("uniform", ":")):
        value = limits.get(name, {}).get(utility)
        if value is not None:
            panel.axvline(value, color="#555555", linestyle=style, linewidth=1)
            panel.annotate(
                name, (value, 1), xycoords=("data", "axes fraction"), fontsize=7, rotation=90, va="top"
            )
