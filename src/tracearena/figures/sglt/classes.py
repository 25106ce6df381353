"""[sglt] Figure 3: where people are, and the semantic classes of places, on two maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.arena import location_classes
from tracearena.arena.claims import Finding, Tell, announce, titled
from tracearena.figures.data import Size, Source, classes_of, same_people
from tracearena.figures.style import canvas, save
from tracearena.files import write_csv
from tracearena.pages.html import COLOURS
from tracearena.synthesis.sglt import LocationClasses
from tracearena.traces import Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 7
SIZE = Size(2_000)
WIDE = 0.7


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Write sglt-classes.png and .csv: every place by its visits, and in the colour of its class."""
    training, _ = same_people(source, SIZE)
    classes = location_classes(training, classes_of(training), seed=source.seed)
    visits = np.bincount(training.place_index, minlength=len(training.places))
    found = findings(training.places, classes.class_of)
    announce(found, tell)
    with canvas(12.5, 6, ncols=2) as (figure, axes):
        draw_visits(axes[0], training)
        draw(axes[1], training, classes)
        axes[0].set_title("Visits", fontsize=10, loc="left")
        title = titled("Semantic classes of places", found, width=80)
        axes[1].set_title(title, fontsize=10, loc="left")
        picture = save(figure, out / "sglt-classes.png")
    places = training.places
    rows = zip(places.ids, places.latitude, places.longitude, classes.class_of, visits, strict=True)
    header = ["place", "latitude", "longitude", "class", "visits"]
    return [picture, write_csv(out / "sglt-classes.csv", header, rows)]


def findings(places: Places, class_of: NDArray[np.int32]) -> list[Finding]:
    """Ask whether the places of a class are spread as widely as all places.

    [sglt] has places of one class in different parts of the city. The spread about the middle
    of the class (root mean square, classes of one place left out) must be at least 0.7 of that of all
    places; 1 is what classes drawn at random have.
    """
    x, y = _plane_km(places)
    of = np.asarray(class_of, np.int64)
    counts = np.maximum(np.bincount(of), 1)
    several = counts[of] > 1
    inside = sum(
        float(((axis - (np.bincount(of, weights=axis) / counts)[of]) ** 2)[several].sum()) for axis in (x, y)
    )
    # A class of n places has n - 1 free places about its own middle.
    free = int(several.sum()) - len(np.unique(of[several]))
    everywhere = float(np.var(x, ddof=1) + np.var(y, ddof=1)) if len(places) > 1 else 0.0
    statement = "places that mean the same lie all over the city"
    if not free or not everywhere:
        return [Finding(statement, False, "no class has two places apart", None)]
    ratio = float((inside / free / everywhere) ** 0.5)
    told = f"spread of a class {ratio:.2f} of that of all places, it takes {WIDE:g}"
    return [Finding(statement, ratio >= WIDE, told, ratio)]


def draw_visits(axes: Axes, traces: Traces) -> None:
    """Draw every place in the colour of its share of all visits, on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    visits = np.bincount(traces.place_index, minlength=len(traces.places))
    share = visits / max(int(visits.sum()), 1)
    seen = visits > 0
    x, y = _plane_km(traces.places)
    axes.scatter(x[~seen], y[~seen], s=6, color="#cccccc")
    least = share[seen].min() if seen.any() else 1e-3
    scale = LogNorm(least, max(float(share.max()), 2 * least))
    points = axes.scatter(x[seen], y[seen], s=14, c=share[seen], cmap="viridis", norm=scale)
    axes.figure.colorbar(points, ax=axes, shrink=0.7, label="share of all visits (grey: none)")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")


def draw(axes: Axes, traces: Traces, classes: LocationClasses) -> None:
    """Draw the seven most visited classes in colour, the others grey; larger is more visited."""
    visits = np.bincount(traces.place_index, minlength=len(traces.places))
    per_class = np.bincount(classes.class_of, weights=visits, minlength=len(classes))
    shown = np.argsort(-per_class, kind="stable")[:SHOWN]
    x, y = _plane_km(traces.places)
    size = 4 + 60 * np.sqrt(visits / max(int(visits.max()), 1))
    rest = ~np.isin(classes.class_of, shown)
    axes.scatter(
        x[rest], y[rest], s=size[rest], color="#cccccc", label=f"{len(classes) - len(shown)} more classes"
    )
    for number, kind in enumerate(shown):
        own = classes.class_of == kind
        label = (
            f"class {kind}: {int(own.sum())} places, {per_class[kind] / max(visits.sum(), 1):.0%} of visits"
        )
        axes.scatter(x[own], y[own], s=size[own], color=COLOURS[number], label=label)
    marked = traces.places.sensitive
    if marked.any():
        axes.scatter(x[marked], y[marked], s=16, marker="+", color="black", linewidths=0.8, label="sensitive")
    axes.set(aspect="equal", xlabel="km east", ylabel="km north")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def _plane_km(places: Places) -> tuple[np.ndarray, np.ndarray]:
    """Return kilometres east and north of the south-west corner."""
    north, east = places.km_per_degree or (
        KM_PER_DEGREE,
        KM_PER_DEGREE * float(np.cos(np.radians(places.latitude.mean()))),
    )
    return (places.longitude - places.longitude.min()) * east, (
        places.latitude - places.latitude.min()
    ) * north
