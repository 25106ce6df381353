"""[contest] Figure 17: utility of PPMTF+ beside PPMTF and SGD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.arena.claims import Finding, Tell, announce, counted
from tracearena.engine import child_seed, seed_sequence, tracked
from tracearena.figures.bars import draw_bars
from tracearena.figures.check_in_cities import City, check_in_cities
from tracearena.figures.data import Source
from tracearena.figures.tables import TITLES, halved, utility, write_records
from tracearena.synthesis import PPMTF, SGD
from tracearena.traces import Traces

DAYS = 20
ITERATIONS = 100
METRICS = ("vf_tv", "tp_tv_top50", "tm_emd_sliced")


def make(
    out: Path, source: Source, tell: Tell | None, *, days: int = DAYS, iterations: int = ITERATIONS
) -> list[Path]:
    """Write contest-17.svg and contest-17.csv: each of 20 days against the training traces, averaged.

    In several cities: three simulated ones, or those of a folder of published data.
    """
    rows: list[dict[str, Any]] = []
    spread: dict[str, Mapping[str, float | None]] = {}
    cities = check_in_cities(source)
    for city in tracked(cities, len(cities)):
        mine, spread[city.name] = usefulness(city, days, iterations, source.seed)
        rows += [{"city": city.name, **row} for row in mine]
    found = findings(rows)
    announce(found, tell)
    title = "Utility of PPMTF+, PPMTF and SGD, against the training traces"
    return [
        draw_bars(out / "contest-17.svg", rows, METRICS, title, found, spread),
        write_records(out / "contest-17.csv", rows),
    ]


def usefulness(
    city: City, days: int, iterations: int, seed: int
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """Return a row a synthesizer, one each of real, uniform and halved traces, and the halves' spread."""
    _, training, testing = city
    root = seed_sequence(seed)
    model = PPMTF(zeros="all", iterations=iterations).fit(training, seed=child_seed(root, 0))
    candidates: dict[str, Traces | None] = {
        "PPMTF+": model.sample_users(training.n_users, days, seed=child_seed(root, 1)),
        "PPMTF": model.synthesize(days, seed=child_seed(root, 2)),
        "SGD": SGD().fit(training).synthesize(days, seed=child_seed(root, 3)),
        "real": testing,
        "uniform": None,
    }
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            **utility(training, traces, METRICS, by_day=name not in ("real", "uniform"), other=testing),
        }
        for name, traces in candidates.items()
    ]
    parted, spread = halved(training, testing, METRICS)
    return rows + parted, spread


def findings(rows: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Compare virtual users with PPMTF's, and SGD's with uniform places, in each city.

    [contest] appendix B: PPMTF+ has about the utility of PPMTF (here: at most a tenth worse in every
    metric), and SGD is "almost the same as Uniform" in VF-TV (here: nearer to uniform than to PPMTF).
    """
    by: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by.setdefault(row["city"], {})[row["method"]] = row
    pairs = {
        city: [
            (name, of["PPMTF+"][name], of["PPMTF"][name]) for name in METRICS if of["PPMTF"][name] is not None
        ]
        for city, of in by.items()
    }
    listed = {
        city: ", ".join(f"{TITLES[name]} {plus:.3f} / {plain:.3f}" for name, plus, plain in mine)
        for city, mine in pairs.items()
    }
    found = [
        counted(
            "virtual users (PPMTF+) are as useful as PPMTF's",
            [plus <= 1.1 * plain for mine in pairs.values() for _, plus, plain in mine],
            f"metrics are at most a tenth worse: {_by_city(listed)}",
        )
    ]
    habits = {
        city: [of[name]["vf_tv"] for name in ("SGD", "PPMTF", "uniform")]
        for city, of in by.items()
        if of["PPMTF"]["vf_tv"] is not None
    }
    if habits:
        found.append(
            counted(
                "SGD's people behave alike: their VF-TV is nearer to that of uniform places than to PPMTF's",
                [abs(chain - uniform) < abs(chain - ours) for chain, ours, uniform in habits.values()],
                "cities: "
                + _by_city(
                    {
                        city: f"SGD {chain:.3f}, PPMTF {ours:.3f}, uniform {uniform:.3f}"
                        for city, (chain, ours, uniform) in habits.items()
                    }
                ),
            )
        )
    return found


def _by_city(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{city} {text}" for city, text in texts.items())
