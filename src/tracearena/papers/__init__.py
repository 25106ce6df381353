"""The papers' figures, and the table of what the papers claim.

Every figure has a function ``draw_…(out, source, tell, *, ...) -> list[Path]``: it writes its picture and
the numbers behind it (CSV) into the folder `out` and returns the files. The numbers come from a `Source`:
published data, or a simulated city. What makes a figure quick or slow (iterations, settings) is a keyword,
with the paper's value by default.

The title of a picture is neutral. What a paper says about it is tested on the numbers drawn, by a function
``check_…_claims``; each `Finding` is written below the title and given to `tell`.

Data comes from `tracearena.papers.data`, and all pictures share `tracearena.papers.style`.
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
    from tracearena.papers.data import Size

FIGURES: dict[str, tuple[str, str]] = {
    "samples-4": (
        "contest_board.draw_samples_figure_4",
        "privacy of the sample defences, with and without the utility threshold",
    ),
    "ppmtf-7": ("ppmtf_utility.draw_ppmtf_figure_7", "privacy and utility of PPMTF, SGD and SGLT"),
    "ppmtf-8": ("ppmtf_utility.draw_ppmtf_figure_8", "clusters of users in training and synthetic traces"),
    "ppmtf-9": ("ppmtf_training.draw_ppmtf_figure_9", "running time over users and places"),
    "ppmtf-10": ("ppmtf_privacy.draw_ppmtf_figure_10", "utility of traces with (k, 1)-plausible deniability"),
    "ppmtf-11": (
        "ppmtf_utility.draw_ppmtf_figure_11",
        "how much time people spend at parks, bars, offices and universities",
    ),
    "ppmtf-12": (
        "ppmtf_utility.draw_ppmtf_figure_12",
        "two clusters of check-in users: their places and hours",
    ),
    "ppmtf-13": (
        "ppmtf_training.draw_ppmtf_figure_13",
        "running time of training, synthesis and deniability test over users",
    ),
    "ppmtf-14": (
        "ppmtf_privacy.draw_ppmtf_figure_14",
        "share of traces that pass the plausible-deniability test, over k",
    ),
    "ppmtf-15": ("ppmtf_privacy.draw_ppmtf_figure_15", "privacy budget ε of the parameters against utility"),
    "ppmtf-factors": (
        "ppmtf_training.draw_ppmtf_factors",
        "factors shared by both tensors, and factors apart",
    ),
    "ppmtf-chains": (
        "ppmtf_training.draw_ppmtf_chains",
        "whether chains from different starts agree: R̂ and effective draws",
    ),
    "ppmtf-parameters": ("ppmtf_privacy.draw_ppmtf_parameters", "what published parameters of PPMTF betray"),
    "ppmtf-knowledge": (
        "ppmtf_privacy.draw_ppmtf_knowledge",
        "synthetic traces against maximum and partial knowledge",
    ),
    "contest-4": (
        "contest_people.draw_contest_figures_4_and_19",
        "where virtual users are at noon (makes contest-19 too)",
    ),
    "contest-7": ("contest_board.draw_contest_figure_7", "the two functions that make scores of distances"),
    "contest-8": (
        "contest_board.draw_contest_figure_8",
        "both kinds of privacy of the sample defences, the cheating anonymization among them",
    ),
    "contest-9": (
        "contest_board.draw_contest_figure_9",
        "both kinds of privacy of 17 defences that stand for the teams",
    ),
    "contest-12": (
        "contest_scores.draw_contest_figure_12",
        "the trace-inference score and the plain mean error, by hospital weight",
    ),
    "contest-13": (
        "contest_scores.draw_contest_figure_13",
        "what releases are still good for: places to eat, crowds, movements",
    ),
    "contest-16": (
        "contest_scores.draw_contest_figure_16",
        "diversity of PPMTF and PPMTF+: same people in two teams?",
    ),
    "contest-17": ("contest_scores.draw_contest_figure_17", "utility of PPMTF+, PPMTF and SGD"),
    "contest-18": (
        "contest_scores.draw_contest_figure_18",
        "privacy and utility of PPMTF+, PPMTF, SGD and SGLT",
    ),
    "contest-19": (
        "contest_people.draw_contest_figures_4_and_19",
        "share of virtual users at home by time of day (makes contest-4 too)",
    ),
    "contest-people": (
        "contest_people.draw_contest_people",
        "virtual users beside the people they are learned from",
    ),
    "contest-table2": (
        "contest_board.draw_contest_table_2",
        "fairness: spread of the scores over the teams' data",
    ),
    "contest-spread": (
        "contest_board.draw_contest_spread",
        "spread of the scores over teams of ever more users",
    ),
    "contest-k-anonymity": (
        "contest_board.draw_contest_k_anonymity",
        "k-anonymity: one in k re-identified at most, and whereabouts told all the same",
    ),
    "sglt-similarity": (
        "sglt_service.draw_sglt_similarity",
        "how alike people are in place and in kind, and fakes to their seeds",
    ),
    "sglt-tables": ("sglt_service.draw_sglt_tables", "what fake traces keep of visits and of people's time"),
    "sglt-qq": ("sglt.draw_sglt_quantiles", "similarity among fakes against similarity among real people"),
    "sglt-lbs": (
        "sglt_service.draw_sglt_service",
        "privacy and overhead of hiding among fakes from a service",
    ),
    "sglt-published": (
        "sglt.draw_sglt_published",
        "every row of the published SGLT table, under the paper's rules and the program's",
    ),
    "sglt-classes": (
        "sglt.draw_sglt_classes",
        "where people are, and the semantic classes of places, on two maps",
    ),
    "arena-attacks": (
        "arena.draw_arena_attacks",
        "old and new attacks on the same releases, and their bounds",
    ),
    "arena-defences": (
        "arena.draw_arena_defences",
        "defences that no other beats in usefulness and both privacies",
    ),
    "city-map": (
        "city.draw_city_map",
        "the embedded city: land use, hospitals, and where people are at night and at noon",
    ),
    "city-laws": (
        "city.draw_city_statistics",
        "how the people of the embedded city move, beside published laws",
    ),
    "geo-2": ("geo.draw_geo_figure_2", "one GPS trajectory four ways: as it was, and under noise"),
    "geo-3": ("geo.draw_geo_figure_3", "traffic offloaded by hotspots against the noise"),
    "geo-4": ("geo.draw_geo_figure_4", "where people seem to be, before and after the Bayesian update"),
    "geo-5": ("geo.draw_geo_figure_5", "how far gossip spreads in noisy traces"),
    "geo-6": ("geo.draw_geo_figure_6", "who is told from whom in noisy trajectories"),
}
"""Name of the figure → the function that draws it, and what it shows."""

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
    module, _, function = FIGURES[name][0].rpartition(".")
    draw = getattr(importlib.import_module(f"tracearena.papers.{module}"), function)

    def make(
        out: Path,
        *,
        data: Path | None = None,
        seed: int = 1,
        size: Size | None = None,
        tell: Tell | None = None,
        **options: Any,
    ) -> list[Path]:
        from tracearena.papers.data import FigureSource

        written: list[Path] = draw(out, FigureSource(data, seed, size), tell, **options)
        return written

    return make
