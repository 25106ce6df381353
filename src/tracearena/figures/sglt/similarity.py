"""[sglt] Figures 4, 5 and 7: people are alike in kind, not in place, and so are fakes and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Finding, Tell, announce
from tracearena.engine import generator
from tracearena.figures.data import FakesExperiment, Source, fakes_experiment
from tracearena.figures.style import canvas, head, save
from tracearena.files import write_csv
from tracearena.metrics.similarity import all_pairs, geographic_similarity, semantic_similarity
from tracearena.pages.html import COLOURS
from tracearena.traces import Traces

_BINS = np.linspace(0, 1, 26)
_OTHERS = 50
DENIABLE = 0.1
"""Difference of similarities up to which another person could be the seed, as in the privacy test."""
_TITLES = {
    "real_geographic": "two real people, in place",
    "real_semantic": "two real people, in kind",
    "fake_seed_semantic": "a fake and its seed, in kind",
    "differential": "difference: seed or another person",
}


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write sglt-similarity.png and .csv: four histograms."""
    values = similarities(fakes_experiment(source), source.seed)
    said = findings(values)
    announce(said, tell)
    shares = {name: np.histogram(found, _BINS)[0] / max(len(found), 1) for name, found in values.items()}
    with canvas(9, 6.2, nrows=2, ncols=2, sharex=True) as (figure, axes):
        figure.set_layout_engine("constrained")
        for number, (axis, name) in enumerate(zip(axes.flat, _TITLES, strict=True)):
            axis.bar(_BINS[:-1], shares[name], width=0.036, align="edge", color=COLOURS[number])
            axis.axvline(float(values[name].mean()), color="#333333", linewidth=1, linestyle="--")
            axis.set_title(f"{_TITLES[name]} (mean {values[name].mean():.2f})", fontsize=10, loc="left")
            axis.set_xlabel(
                "difference of similarities" if name == "differential" else "similarity (1 = alike)"
            )
            axis.set_ylabel("share of pairs")
            axis.tick_params(labelbottom=True)
        head(figure, "Likeness of people, and of fakes and people", said, width=100, top=1.01)
        picture = save(figure, out / "sglt-similarity.png")
    rows = zip(_BINS[:-1].round(2), _BINS[1:].round(2), *shares.values(), strict=True)
    return [picture, write_csv(out / "sglt-similarity.csv", ["from", "to", *shares], rows)]


def similarities(found: FakesExperiment, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the similarities of pairs behind each histogram."""
    real, fake = found.profiles(found.training), found.profiles(found.fakes)
    pairs = all_pairs(real.n_users)
    model = found.model
    days = Traces.from_dense(model.seeds_.places, model.places_, model.clock_)
    seeds = found.profiles(days)
    own = semantic_similarity(fake, seeds, np.column_stack([np.arange(fake.n_users), found.seeds]))
    others = generator(seed).integers(0, seeds.n_users, (fake.n_users, _OTHERS))
    mixed = np.column_stack([np.repeat(np.arange(fake.n_users), _OTHERS), others.ravel()])
    different = others.ravel() != np.repeat(found.seeds, _OTHERS)
    to_others = semantic_similarity(fake, seeds, mixed[different])
    return {
        "real_geographic": geographic_similarity(real, real, pairs),
        "real_semantic": semantic_similarity(real, real, pairs),
        "fake_seed_semantic": own,
        "differential": np.abs(to_others - np.repeat(own, _OTHERS)[different]),
    }


def findings(values: Mapping[str, NDArray[np.float64]]) -> list[Finding]:
    """Ask whether people are alike in kind more than in place, and could be the seed of others' fakes.

    As in the histograms of [sglt]. A pair of a fake and another person counts if the difference of the
    similarities is at most 0.1, the bound of the privacy test; it takes half of the pairs.
    """
    kind, place = (float(values[name].mean()) for name in ("real_semantic", "real_geographic"))
    share = float((values["differential"] <= DENIABLE).mean()) if len(values["differential"]) else 0.0
    return [
        Finding(
            "people visit different places in the same way",
            kind > place,
            f"mean similarity {kind:.2f} in kind, {place:.2f} in place",
            kind - place,
        ),
        Finding(
            "every second person could be the seed of a fake",
            share >= 0.5,
            f"{share:.0%} of the pairs differ by at most {DENIABLE:g}, it takes half",
            share,
        ),
    ]
