"""[ppmtf] Figure 13: running time of training, synthesis and deniability test on check-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tracearena.arena.claims import Finding, Tell, announce, titled
from tracearena.engine import tracked
from tracearena.figures.data import CHECK_INS, Size, Source, check_ins
from tracearena.figures.style import canvas, save
from tracearena.figures.tables import growth, timed, write_records
from tracearena.pages.html import COLOURS, MARKERS
from tracearena.synthesis import PPMTF, SGD
from tracearena.synthesis.ppmtf import Deniability, measure_deniability
from tracearena.synthesis.ppmtf.tensors import Zeros
from tracearena.traces import Traces

SIZE = Size(10_000, CHECK_INS.days)
SHARES = (0.125, 0.25, 0.5, 1.0)
VERIFIERS = 32_000
K = 10
ITERATIONS = 100
ZEROS: dict[str, Zeros] = {"PPMTF": "sampled", "PPMTF, all zeros": "all"}
ISTANBUL = 219_793
AUTHORS = {"PPMTF (T)": 10.2, "PPMTF (S)": 0.6, "PPMTF (P)": 2.1}
"""Hours of the authors' program (one thread) for Istanbul, extrapolated from runs with up to 8,000 users."""


def make(
    out: Path, source: Source, tell: Tell | None, *, k: int = K, iterations: int = ITERATIONS
) -> list[Path]:
    """Write ppmtf-13.svg and ppmtf-13.csv: up to 8,000 training users, k = 10, η = 1, |U*| = 32,000.

    T is training (100 iterations), S one trace a user, P the test with early stop; with the paper's sampled
    zeros, and with all of them.
    """
    training, _ = check_ins(source, SIZE)
    _measured(training.take_users(range(min(50, training.n_users))), k, iterations, source.seed)
    rows: list[dict[str, Any]] = []
    for share in tracked(SHARES, len(SHARES)):
        users = max(round(share * training.n_users), 1)
        seconds = _measured(training.take_users(range(users)), k, iterations, source.seed)
        rows += [
            {"series": name, "users": users, "seconds": value, "source": "measured"}
            for name, value in seconds.items()
        ]
    found = findings(rows)
    announce(found, tell)
    rows += [
        {
            "series": name,
            "users": ISTANBUL,
            "seconds": hours * 3600,
            "source": "authors' program, extrapolated",
        }
        for name, hours in AUTHORS.items()
    ]
    return [_draw(out / "ppmtf-13.svg", rows, found), write_records(out / "ppmtf-13.csv", rows)]


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Fit how the measured times grow with the users.

    [ppmtf] calls the time linear in the users (of Figure 9). Twice the users may take 2.2 times as long in
    training and synthesis, a tenth for measuring; the test, to which every user adds a trace and a
    verifier until 32,000, must be between that and 4 times.
    """
    found = []
    for series, least, most in (("PPMTF (T)", 0, 2.2), ("PPMTF (S)", 0, 2.2), ("PPMTF (P)", 2.2, 4.0)):
        mine = [row for row in rows if row["series"] == series and row["source"] == "measured"]
        slope = growth([(row["users"], row["seconds"]) for row in mine])
        factor = None if slope is None else 2.0**slope
        said = f"at most {most:g}" if not least else f"{least:g} to {most:g}"
        found.append(
            Finding(
                f"twice the users cost {series} {said} times the time",
                factor is not None and least <= factor <= most,
                "not measured" if factor is None else f"{factor:.2f} times",
                factor,
            )
        )
    return found


def _measured(training: Traces, k: int, iterations: int, seed: int) -> dict[str, float]:
    """Return the seconds of each part."""
    ours: dict[str, float] = {}
    for name, zeros in ZEROS.items():
        model = PPMTF(zeros=zeros, iterations=iterations)
        _, learned = timed(partial(model.fit, training, seed=seed))
        made, drawn = timed(partial(model.synthesize, 1, seed=seed))
        _, tested = timed(partial(_tested, model, made, k, seed))
        ours |= {f"{name} (T)": learned, f"{name} (S)": drawn, f"{name} (P)": tested}
    chain, counted = timed(lambda: SGD().fit(training))
    _, walked = timed(lambda: chain.synthesize(1, seed=seed))
    return ours | {"SGD (T)": counted, "SGD (S)": walked}


def _tested(model: PPMTF, made: Traces, k: int, seed: int) -> Deniability:
    return measure_deniability(model, made, k=k, eta=1, verifiers=VERIFIERS, early_stop=True, seed=seed)


def _draw(path: Path, rows: list[dict[str, Any]], found: list[Finding]) -> Path:
    with canvas(7.5, 4.8) as (figure, axes):
        for number, series in enumerate(dict.fromkeys(row["series"] for row in rows)):
            style = {"marker": MARKERS[number].matplotlib, "color": COLOURS[number]}
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
        axes.set(xlabel="training users", ylabel="processor seconds")
        title = "Running time of training (T), synthesis (S) and deniability test (P)"
        axes.set_title(titled(title, found), fontsize=10, loc="left")
        axes.legend(frameon=False, fontsize=8)
        return save(figure, path)
