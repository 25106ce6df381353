"""The papers' figures, and the table of what the papers claim.

A figure computes its numbers from published data or from a simulated city, and writes a picture and the
numbers behind it (CSV). What makes it quick or slow (iterations, settings) is a keyword, with the paper's
value by default.

The title of a picture is neutral. What a paper says about it is tested on the numbers drawn, by a function
``check_…_claims``; each `ClaimResult` is written below the title and given to `tell`.

Each figure is one function with the decorator `tracearena.papers.base.paper_figure`, in the module of its
subject. Data comes from `tracearena.papers.data`, and all pictures share `tracearena.papers.style`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
from typing import TYPE_CHECKING

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.papers.base import Figure

__all__ = ["figure", "list_figures"]

_MODULES = (
    *("ppmtf_training", "ppmtf_privacy", "ppmtf_utility", "contest_people", "contest_board"),
    *("contest_scores", "sglt", "arena", "city", "geo"),
)
_PAPERS = ("samples", "ppmtf", "contest", "sglt", "arena", "city", "geo")


@functools.cache
def list_figures() -> dict[str, Figure]:
    """Return all figures by name: paper by paper, those with a number first.

    >>> list(list_figures())[:3]
    ['samples-4', 'ppmtf-7', 'ppmtf-8']
    """
    from tracearena.papers.base import REGISTRY

    for module in _MODULES:
        importlib.import_module(f"tracearena.papers.{module}")

    def order(one: Figure) -> tuple[int, float, int]:
        paper, _, number = one.name.partition("-")
        # Somebody may have loaded one of the modules before the others.
        module = _MODULES.index(one.compute.__module__.rpartition(".")[2])
        return _PAPERS.index(paper), int(number) if number.isdecimal() else float("inf"), module

    return {one.name: one for one in sorted(REGISTRY.values(), key=order)}


def figure(name: str) -> Figure:
    """Return a figure; ``figure(name)(out)`` writes its picture and its numbers into the folder `out`.

    >>> figure("contest-7").shows
    'the two functions that turn distances into scores'
    """
    figures = list_figures()
    if name not in figures:
        near = difflib.get_close_matches(name.casefold(), figures, n=1)
        advice = f"did you mean {near[0]}? There" if near else "there"
        raise ParameterError(f"there is no figure {name!r}; {advice} are {', '.join(figures)}")
    return figures[name]
