"""The papers' figures, one module each.

Every figure module has ``make(out, source, tell, *, ...) -> list[Path]``: it writes its picture and the
numbers behind it (CSV) into the folder `out` and returns the files, drawn from a `Source`: published data,
or a simulated city. What makes a figure quick or slow (iterations, settings tried) is a keyword, with the
paper's value by default.

The title of a picture is neutral. What a paper says of it is tested on the numbers drawn: a module with
such a statement has a function ``findings``, whose docstring says what it takes; each `Finding` is
written below the title and given to `tell`.

What is drawn comes from `tracearena.figures.data`, what is written goes through `tracearena.figures.tables`,
and all pictures look as `tracearena.figures.style` has it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.arena.claims import Tell
    from tracearena.figures.data import Size

FIGURES: dict[str, tuple[str, str]] = {
    "samples-4": (
        "samples.figure_4",
        "privacy of the sample defences, with and without the utility threshold",
    ),
    "ppmtf-7": ("ppmtf.figure_7", "privacy and utility of PPMTF, SGD and SGLT"),
    "ppmtf-8": ("ppmtf.figure_8", "clusters of users in training and synthetic traces"),
    "ppmtf-9": ("ppmtf.figure_9", "running time over users and places"),
    "ppmtf-10": ("ppmtf.figure_10", "utility of traces with (k, 1)-plausible deniability"),
    "ppmtf-11": ("ppmtf.figure_11", "how much time people spend at parks, bars, offices and universities"),
    "ppmtf-12": ("ppmtf.figure_12", "two clusters of check-in users: their places and hours"),
    "ppmtf-13": ("ppmtf.figure_13", "running time of training, synthesis and deniability test over users"),
    "ppmtf-14": ("ppmtf.figure_14", "share of traces that pass the plausible-deniability test, over k"),
    "ppmtf-15": ("ppmtf.figure_15", "privacy budget ε of the parameters against utility"),
    "ppmtf-factors": ("ppmtf.factors", "factors shared by both tensors, and factors apart"),
    "ppmtf-chains": ("ppmtf.chains", "whether chains from different starts agree: R̂ and effective draws"),
    "ppmtf-parameters": ("ppmtf.parameters", "what published parameters of PPMTF betray"),
    "ppmtf-knowledge": ("ppmtf.knowledge", "synthetic traces against maximum and partial knowledge"),
    "contest-4": ("contest.figure_4_and_19", "where virtual users are at noon (makes contest-19 too)"),
    "contest-7": ("contest.figure_7", "the two functions that make scores of distances"),
    "contest-8": (
        "contest.figure_8",
        "both kinds of privacy of the sample defences, the cheating anonymization among them",
    ),
    "contest-9": ("contest.figure_9", "both kinds of privacy of 17 defences that stand for the teams"),
    "contest-12": (
        "contest.figure_12",
        "the trace-inference score and the plain mean error, by hospital weight",
    ),
    "contest-13": (
        "contest.figure_13",
        "what releases are still good for: places to eat, crowds, movements",
    ),
    "contest-16": ("contest.figure_16", "diversity of PPMTF and PPMTF+: same people in two teams?"),
    "contest-17": ("contest.figure_17", "utility of PPMTF+, PPMTF and SGD"),
    "contest-18": ("contest.figure_18", "privacy and utility of PPMTF+, PPMTF, SGD and SGLT"),
    "contest-19": (
        "contest.figure_4_and_19",
        "share of virtual users at home by time of day (makes contest-4 too)",
    ),
    "contest-people": ("contest.people", "virtual users beside the people they are learned from"),
    "contest-table2": ("contest.table_2", "fairness: spread of the scores over the teams' data"),
    "contest-spread": ("contest.spread", "spread of the scores over teams of ever more users"),
    "contest-k-anonymity": (
        "contest.k_anonymity",
        "k-anonymity: one in k re-identified at most, and whereabouts told all the same",
    ),
    "sglt-similarity": (
        "sglt.similarity",
        "how alike people are in place and in kind, and fakes to their seeds",
    ),
    "sglt-tables": ("sglt.tables", "what fake traces keep of visits and of people's time"),
    "sglt-qq": ("sglt.quantiles", "similarity among fakes against similarity among real people"),
    "sglt-lbs": ("sglt.service", "privacy and overhead of hiding among fakes from a service"),
    "sglt-published": (
        "sglt.published",
        "every row of the published SGLT table, under the paper's rules and the program's",
    ),
    "sglt-classes": ("sglt.classes", "where people are, and the semantic classes of places, on two maps"),
    "arena-attacks": (
        "arena.attacks",
        "old and new attacks on the same releases, and their bounds",
    ),
    "arena-defences": (
        "arena.defences",
        "defences that no other beats in usefulness and both privacies",
    ),
    "city-map": (
        "city.map",
        "the embedded city: land use, hospitals, and where people are at night and at noon",
    ),
    "city-laws": ("city.laws", "how the people of the embedded city move, beside published laws"),
    "geo-2": ("geo.figure_2", "one GPS trajectory four ways: as it was, and under noise"),
    "geo-3": ("geo.figure_3", "traffic offloaded by hotspots against the noise"),
    "geo-4": ("geo.figure_4", "where people seem to be, before and after the Bayesian update"),
    "geo-5": ("geo.figure_5", "how far gossip spreads in noisy traces"),
    "geo-6": ("geo.figure_6", "who is told from whom in noisy trajectories"),
}
"""Name of the figure → module, and what it shows."""

__all__ = ["FIGURES", "figure"]


def figure(name: str) -> Callable[..., list[Path]]:
    """Return the function that makes a figure: ``make(out, data=None, seed=1, size=None, tell=None)``.

    `data`, `seed` and `size` are those of a `Source`, `tell` is called with each finding; further
    keywords are those of the figure's module.

    >>> figure("contest-8").__name__
    'make'
    """
    if name not in FIGURES:
        near = difflib.get_close_matches(name.casefold(), FIGURES, n=1)
        advice = f"did you mean {near[0]}? There" if near else "there"
        raise ParameterError(f"there is no figure {name!r}; {advice} are {', '.join(FIGURES)}")
    module = importlib.import_module(f"tracearena.figures.{FIGURES[name][0]}")

    def make(
        out: Path,
        *,
        data: Path | None = None,
        seed: int = 1,
        size: Size | None = None,
        tell: Tell | None = None,
        **options: Any,
    ) -> list[Path]:
        from tracearena.figures.data import Source

        written: list[Path] = module.make(out, Source(data, seed, size), tell, **options)
        return written

    return make
