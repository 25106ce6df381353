"""The papers' figures, one module each.

Every figure module has
``make(out, *, data=None, seed=1, progress=None, tell=None) -> list[Path]``: it writes its picture and
the numbers behind it (CSV) into the folder `out` and returns the files, from the published data in the
folder `data` if it is given and from the simulated city if not.

The title of a picture is neutral. What a paper says of it is tested on the numbers drawn: a module with
such a statement has a function ``findings``, whose docstring says what it takes; each `Finding` is
written below the title and given to `tell`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from tracearena.errors import ParameterError

FIGURES: dict[str, tuple[str, str]] = {
    "samples-4": (
        "sample_programs",
        "privacy of the sample defences, with and without the utility threshold",
    ),
    "ppmtf-7": ("synthesizer_privacy", "privacy and utility of PPMTF, SGD and SGLT"),
    "ppmtf-8": ("synthesizer_clusters", "clusters of users in training and synthetic traces"),
    "ppmtf-9": ("synthesizer_times", "running time over users and places"),
    "ppmtf-10": ("deniability_utility", "utility of traces with (k, 1)-plausible deniability"),
    "ppmtf-11": ("category_visits", "how much time people spend at parks, bars, offices and universities"),
    "ppmtf-12": ("check_in_clusters", "two clusters of check-in users: their places and hours"),
    "ppmtf-13": ("check_in_times", "running time of training, synthesis and deniability test over users"),
    "ppmtf-14": ("deniability_rates", "share of traces that pass the plausible-deniability test, over k"),
    "ppmtf-15": ("parameter_budget", "privacy budget ε of the parameters against utility"),
    "contest-4": ("contest_people", "where virtual users are at noon (makes contest-19 too)"),
    "contest-8": (
        "sample_algorithms",
        "both kinds of privacy of the sample defences, the cheating anonymization among them",
    ),
    "contest-9": ("contest_teams", "both kinds of privacy of 17 defences that stand for the teams"),
    "contest-12": (
        "expected_error",
        "the trace-inference score and the plain mean error, by hospital weight",
    ),
    "contest-13": (
        "application_utility",
        "what releases are still good for: places to eat, crowds, movements",
    ),
    "sglt-similarity": (
        "sglt_similarity",
        "how alike people are in place and in kind, and fakes to their seeds",
    ),
    "sglt-tables": ("sglt_tables", "what fake traces keep of visits and of people's time"),
    "sglt-qq": ("sglt_quantiles", "similarity among fakes against similarity among real people"),
    "sglt-lbs": ("sglt_service", "privacy and overhead of hiding among fakes from a service"),
    "sglt-classes": ("sglt_classes", "the semantic classes of places on a map"),
    "contest-16": ("virtual_diversity", "diversity of PPMTF and PPMTF+: same people in two teams?"),
    "contest-17": ("virtual_utility", "utility of PPMTF+, PPMTF and SGD"),
    "contest-18": ("virtual_privacy", "privacy and utility of PPMTF+, PPMTF, SGD and SGLT"),
    "contest-19": ("contest_people", "share of virtual users at home by time of day (makes contest-4 too)"),
    "contest-table2": ("fairness_table", "fairness: spread of the scores over the teams' data"),
    "city-map": (
        "city_map",
        "the embedded city: land use, hospitals, and where people are at night and at noon",
    ),
    "city-laws": ("city_laws", "how the people of the embedded city move, beside published laws"),
    "geo-2": ("gps_trajectory", "one GPS trajectory four ways: as it was, and under noise"),
    "geo-3": ("gps_offloading", "traffic offloaded by hotspots against the noise"),
    "geo-4": ("gps_heat_maps", "where people seem to be, before and after the Bayesian update"),
    "geo-5": ("gps_gossip", "how far gossip spreads in noisy traces"),
    "geo-6": ("gps_confusion", "who is told from whom in noisy trajectories"),
}
"""Name of the figure → module, and what it shows."""

__all__ = ["FIGURES", "figure"]


def figure(name: str) -> Callable[..., list[Path]]:
    """Return the function that makes a figure.

    >>> figure("contest-8").__name__
    'make'
    """
    if name not in FIGURES:
        raise ParameterError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    make: Callable[..., list[Path]] = importlib.import_module(f"tracearena.figures.{FIGURES[name][0]}").make
    return make
