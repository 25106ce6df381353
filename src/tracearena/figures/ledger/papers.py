"""All rows, by paper."""

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
