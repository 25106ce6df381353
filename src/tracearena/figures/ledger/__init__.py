"""What five papers say, figure by figure, and whether it holds here.

A `Row` is one figure, table or stated finding: the command that tries it, what of the command's output is
looked at, and what is published. A row without a command names the data that is missing. What the
commands printed is kept in ``measured``, one file a command, with version and seed; the page of
the documentation is made from both, and no number of ours is typed by hand.
"""

from __future__ import annotations

from tracearena.figures.ledger import contest, geo, ours, ppmtf, samples, sglt
from tracearena.figures.ledger.rows import Row

PAPERS: dict[str, tuple[str, tuple[Row, ...]]] = {
    "samples": ("The sample program of 2019 [samples]", samples.ROWS),
    "contest": ("The contest and PPMTF+ [contest]", contest.ROWS),
    "ppmtf": ("PPMTF [ppmtf]", ppmtf.ROWS),
    "geo": ("GPS traces [geo-ind]", geo.ROWS),
    "sglt": ("Fake traces [sglt]", sglt.ROWS),
    "ours": ("Beside the papers", ours.ROWS),
}
"""Key of a paper → its heading and its rows."""

__all__ = ["PAPERS", "Row"]
