"""Draw every figure on small data into docs/img/gallery, and write the page that shows them.

``python docs/gallery.py`` draws all (about ten minutes on two cores), ``python docs/gallery.py geo-2`` only
those named. The pictures are smaller and rougher than those of ``tracearena figure``: fewer people, fewer
iterations. The page is written from the list of figures alone, so a test can hold it to them.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

from tracearena.papers import figure, list_figures
from tracearena.papers.data import Size

DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "img" / "gallery"
PAGE = DOCS / "reference" / "gallery.md"
WIDTH_PIXELS = 900

CHECK_INS: dict[str, Any] = {"size": Size(600, 20), "iterations": 30}
PEOPLE_FLOW: dict[str, Any] = {"size": Size(200), "iterations": 30}
TEAM: dict[str, Any] = {"size": Size(300, 10)}
RECEIVERS: dict[str, Any] = {"size": Size(20, 15)}
ARENA: dict[str, Any] = {
    "size": Size(60, 3),
    "defences": (
        *("No", "MRLH(0,0,0.25)", "MRLH(1,1,0.1)", "RR(1)", "RR(8)", "PL(0.1,1)", "PL(1,1)", "PL(4,1)"),
        *("PL(7,1)", "Cheat(0.25)", "Cheat(1)", "ClusterAveraging(0.7,blur_km=0.5)"),
    ),
}
SMALL: dict[str, dict[str, Any]] = {
    "samples-4": TEAM,
    "ppmtf-7": PEOPLE_FLOW
    | {"alphas": (1, 10, 100, 1000), "copied": (0, 5, 10), "dropped": (0, 0.5, 1)}
    | {"classes": (50, 200)},
    "ppmtf-8": PEOPLE_FLOW,
    "ppmtf-9": PEOPLE_FLOW | {"sizes": (100, 200, 400)},
    "ppmtf-10": CHECK_INS,
    "ppmtf-11": CHECK_INS,
    "ppmtf-12": CHECK_INS,
    "ppmtf-13": CHECK_INS,
    "ppmtf-14": CHECK_INS,
    "ppmtf-15": CHECK_INS,
    "ppmtf-factors": PEOPLE_FLOW | {"alphas": (1.0, 200.0), "seeds": 2},
    "ppmtf-chains": {"size": Size(200), "iterations": 60},
    "ppmtf-parameters": PEOPLE_FLOW | {"alphas": (1.0, 20.0, 200.0)},
    "ppmtf-knowledge": {"size": Size(200, 2), "iterations": 30},
    "contest-4": {"size": Size(400, 6), "iterations": 30},
    "contest-8": TEAM | {"iterations": 30},
    "contest-9": TEAM | {"iterations": 30},
    "contest-12": TEAM,
    "contest-13": TEAM | {"count": 3},
    "contest-16": CHECK_INS,
    "contest-17": CHECK_INS,
    "contest-18": PEOPLE_FLOW | {"alphas": (10.0, 1000.0), "settings": ((50, 1.0), (50, 0.0))},
    "contest-people": {"size": Size(400, 6), "iterations": 30},
    "contest-spread": {"size": Size(400, 6), "iterations": 30, "count": 4, "days": 6},
    "contest-k-anonymity": {"size": Size(100, 5)},
    "contest-table2": {"size": Size(400, 6), "iterations": 30, "count": 4},
    "sglt-similarity": {"size": Size(150)},
    "sglt-tables": {"size": Size(150)},
    "sglt-qq": {"size": Size(150)},
    "sglt-lbs": {"size": Size(60)},
    "sglt-published": {"size": Size(100), "classes": (20, 60), "dropped": (0, 0.5, 1), "seeds": 1},
    "sglt-classes": {"size": Size(150)},
    "arena-attacks": ARENA,
    "arena-defences": ARENA,
    "city-map": {"size": Size(1_000, 5)},
    "city-laws": {"size": Size(1_000, 20), "checkin_days": 365},
    "geo-2": RECEIVERS,
    "geo-3": RECEIVERS,
    "geo-4": RECEIVERS,
    "geo-5": RECEIVERS,
    "geo-6": RECEIVERS,
}
"""What makes a figure quick to draw. A figure that is missing here is drawn at its full size."""

DRAWN_WITH = {"contest-19": "contest-4"}
"""Figures that another one makes too."""
PAPERS = {
    "samples": "The sample program of 2019",
    "ppmtf": "PPMTF",
    "contest": "The contest and PPMTF+",
    "sglt": "Fake traces",
    "arena": "The strength of attacks and defences",
    "city": "The embedded city",
    "geo": "GPS traces",
}


@contextmanager
def drawn_small() -> Iterator[list[bytes]]:
    """Draw every picture that is saved inside the block a second time, small, and keep its bytes in order."""
    from matplotlib.figure import Figure

    savefig, drawn = Figure.savefig, []

    def save_twice(self: Figure, file: Any, **options: Any) -> None:
        savefig(self, file, **options)
        small = io.BytesIO()
        dpi = WIDTH_PIXELS / self.get_size_inches()[0]
        savefig(self, small, format="webp", dpi=dpi, pil_kwargs={"quality": 70, "method": 6})
        drawn.append(small.getvalue())

    with mock.patch.object(Figure, "savefig", save_twice):
        yield drawn


def draw(name: str) -> None:
    """Draw one figure into the gallery."""
    with tempfile.TemporaryDirectory() as folder, drawn_small() as drawn:
        written = figure(name)(Path(folder), seed=1, **SMALL.get(name, {}))
    shown = [path.stem for path in written if path.suffix in {".svg", ".png"}]
    for stem, picture in zip(shown, drawn, strict=True):
        (PICTURES / f"{stem}.webp").write_bytes(picture)


def pictures(name: str) -> list[Path]:
    """Return the pictures of a figure: one, or all those of the city that are no figure themselves."""
    one = PICTURES / f"{name}.webp"
    if one.is_file():
        return [one]
    family = name.partition("-")[0]
    return [path for path in sorted(PICTURES.glob(f"{family}-*.webp")) if path.stem not in list_figures()]


def page() -> str:
    """Return the page of the gallery."""
    parts = [
        "# Gallery of figures",
        "",
        "<!-- Written by docs/gallery.py. -->",
        "",
        "`tracearena figure NAME` makes a picture and a CSV file with its numbers, on the simulated city or,",
        "with `--data`, on published data. `tracearena figure list` prints this list. The pictures below use",
        "few people and only show what each figure looks like. For numbers that you can quote, see",
        "[Measurements](../measurements/index.md); for the papers, see [Papers](papers.md).",
    ]
    for paper, names in groupby(sorted(list_figures(), key=_paper), key=_paper):
        parts += ["", f"## {list(PAPERS.values())[paper]}"]
        for name in names:
            shows = figure(name).shows
            parts += ["", f"### {name}", "", f"{shows[0].upper()}{shows[1:]}.", ""]
            parts += [f"![{shows}](../img/gallery/{path.name}){{ loading=lazy }}" for path in pictures(name)]
    return "\n".join(parts) + "\n"


def _paper(name: str) -> int:
    return list(PAPERS).index(name.partition("-")[0])


def main() -> None:
    """Draw the figures named on the command line, or all, and write the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or [name for name in list_figures() if name not in DRAWN_WITH]:
        print(name, flush=True)
        draw(name)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
