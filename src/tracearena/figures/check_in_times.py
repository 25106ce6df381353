"""[ppmtf] Figure 13: running time of training, synthesis and deniability test on check-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracearena.engine import Progress
from tracearena.figures._check_ins import check_ins
from tracearena.figures._rows import write_rows
from tracearena.figures._seconds import timed
from tracearena.figures.style import MARKERS, OKABE_ITO, canvas, save
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import deniability
from tracearena.traces import Traces

USERS = 10_000
SHARES = (0.125, 0.25, 0.5, 1.0)
VERIFIERS = 32_000
K = 10
ISTANBUL = 219_793
AUTHORS = {"PPMTF (T)": 10.2, "PPMTF (S)": 0.6, "PPMTF (P)": 2.1}
"""Hours of the authors' program (one thread) for Istanbul, extrapolated from runs with up to 8,000 users."""


def make(
    out: Path, *, data: Path | None = None, seed: int = 1, progress: Progress | None = None
) -> list[Path]:
    """Write ppmtf-13.svg and ppmtf-13.csv: up to 8,000 training users, k = 10, η = 1, |U*| = 32,000.

    T is training (100 iterations), S one trace a user, P the test with early stop.
    """
    training, _ = check_ins(data, seed, USERS)
    _measured(training.take_users(range(min(50, training.n_users))), seed)
    rows: list[dict[str, Any]] = []
    for done, share in enumerate(SHARES, 1):
        users = max(round(share * training.n_users), 1)
        seconds = _measured(training.take_users(range(users)), seed)
        rows += [
            {"series": name, "users": users, "seconds": value, "source": "measured"}
            for name, value in seconds.items()
        ]
        if progress is not None:
            progress(done, len(SHARES))
    rows += [
        {
            "series": name,
            "users": ISTANBUL,
            "seconds": hours * 3600,
            "source": "authors' program, extrapolated",
        }
        for name, hours in AUTHORS.items()
    ]
    return [_draw(out / "ppmtf-13.svg", rows), write_rows(out / "ppmtf-13.csv", rows)]


def _measured(training: Traces, seed: int) -> dict[str, float]:
    """Return the seconds of each part."""
    model, learned = timed(lambda: PPMTF(zeros="all").fit(training, seed=seed))
    made, drawn = timed(lambda: model.synthesize(1, seed=seed))
    _, tested = timed(
        lambda: deniability(model, made, k=K, eta=1, verifiers=VERIFIERS, early_stop=True, seed=seed)
    )
    chain, counted = timed(lambda: SGD().fit(training))
    _, walked = timed(lambda: chain.synthesize(1, seed=seed))
    ours = {"PPMTF (T)": learned, "PPMTF (S)": drawn, "PPMTF (P)": tested}
    return ours | {"SGD (T)": counted, "SGD (S)": walked}


def _draw(path: Path, rows: list[dict[str, Any]]) -> Path:
    with canvas(7.5, 4.8) as (figure, axes):
        for number, series in enumerate(dict.fromkeys(row["series"] for row in rows)):
            style = {"marker": MARKERS[number], "color": OKABE_ITO[number]}
            for source, look in (
                ("measured", {"label": series}),
                ("authors' program, extrapolated", {"mfc": "white"}),
            ):
                mine = [row for row in rows if (row["series"], row["source"]) == (series, source)]
                axes.plot([row["users"] for row in mine], [row["seconds"] for row in mine], **style, **look)
        axes.plot(
            [], [], "o", color="#555555", mfc="white", label="authors' program for Istanbul,\nextrapolated"
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set(xlabel="training users", ylabel="seconds")
        axes.set_title(
            "Training and synthesis grow at most in step with the users, the test a little faster",
            fontsize=11,
        )
        axes.legend(frameon=False, fontsize=8)
        return save(figure, path)
