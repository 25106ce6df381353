"""[geo-ind] Figure 6: who is told from whom in noisy trajectories."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tracearena.arena import Deanonymisation, deanonymise
from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.attacks.deanonymisation import LstmClassifier, WindowForest
from tracearena.figures.data import Source, gps_data
from tracearena.figures.style import canvas, head, save
from tracearena.figures.tables import six_digits
from tracearena.files import write_csv
from tracearena.obfuscation import GeoInd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOISE_M, WINDOW_S, TARGETS = 100.0, 300.0, 10
FAIR = 0.1
PAPER = {"independent": 0.4727, "T = 5 min": 0.4876}


def make(out: Path, source: Source, tell: Tell | None, *, targets: int = TARGETS) -> list[Path]:
    """Draw confusion matrices of the LSTM and of the forest, for both kinds of noise.

    Without PyTorch (extra ``neural``) the forest alone is drawn.
    """
    traces = gps_data(source).traces
    found: dict[tuple[str, str], Deanonymisation] = {}
    for noise, window in (("independent", None), ("T = 5 min", WINDOW_S)):
        released = GeoInd(expected_noise=NOISE_M, window=window).transform(traces, seed=source.seed)
        if importlib.util.find_spec("torch") is not None:
            network = LstmClassifier()
            found["LSTM", noise] = deanonymise(released, network, targets=targets, seed=source.seed)
        found["forest", noise] = deanonymise(released, WindowForest(), targets=targets, seed=source.seed)
    said = findings(found.values())
    announce(said, tell)
    methods = list(dict.fromkeys(method for method, _ in found))
    with canvas(8.4, 4.3 * len(methods), nrows=len(methods), ncols=2, squeeze=False) as (figure, axes):
        figure.set_layout_engine("constrained")
        for axis, ((method, noise), result) in zip(axes.flat, found.items(), strict=True):
            _draw(axis, result, f"{method}, {noise}: {_said(result)}")
        head(figure, f"Confusion of people under {NOISE_M:g} m of noise", said, width=95, top=1.01)
        picture = save(figure, out / "geo-6.png")
    rows = [
        (method, noise, true, answer, int(count), result.accuracy, result.most_frequent, balanced)
        for (method, noise), result in found.items()
        for balanced in (result.balanced_accuracy,)
        for (true, answer), count in np.ndenumerate(result.confusion)
    ]
    header = ["method", "noise", "true_class", "answered_class", "windows", "accuracy", "most_frequent"]
    header += ["balanced_accuracy"]
    return [picture, write_csv(out / "geo-6.csv", header, six_digits(rows))]


def _said(result: Deanonymisation) -> str:
    return f"{result.accuracy:.0%} right, balanced {result.balanced_accuracy:.0%}"


def _draw(axes: Axes, result: Deanonymisation, title: str) -> None:
    shares = result.confusion / np.maximum(result.confusion.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="viridis", vmin=0, vmax=1)
    for (true, answer), share in np.ndenumerate(shares):
        if share >= 0.05:
            colour = "black" if share > 0.6 else "white"
            axes.text(
                answer, true, f"{100 * share:.0f}", ha="center", va="center", fontsize=6.5, color=colour
            )
    names = ["others", *(str(k) for k in range(1, len(shares)))]
    axes.set_xticks(range(len(shares)), names, fontsize=7)
    axes.set_yticks(range(len(shares)), names, fontsize=7)
    axes.grid(False)
    axes.set(xlabel="answered (target user)", ylabel="true (percent of its windows)")
    axes.set_title(title, fontsize=10)


def findings(found: Iterable[Deanonymisation]) -> list[Finding]:
    """Ask whether the classifiers tell people apart better than a guess.

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
        counted(
            f"{NOISE_M:g} m of noise do not hide who a person is",
            better,
            f"classifiers beat always answering the most frequent class ({most:.0%}): {shown} right",
        ),
        counted(
            "classifiers tell the targets apart, each class counting alike",
            fair,
            f"classifiers come more than {FAIR:.0%} of the way from one answer for all ({guess:.0%}) to all "
            f"right: balanced accuracy {balanced}",
        ),
    ]
