"""The base of all figures: what a figure's function returns, and what is done with it.

A figure is one function with the decorator `paper_figure`. It takes a `FigureSource`, and as keywords what
makes it quick or slow, with the paper's values by default; it computes the numbers and returns a `Drawing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tracearena.arena import SweepRow, write_table
from tracearena.arena.claims import ClaimResult, Tell
from tracearena.errors import ParameterError
from tracearena.files import write_csv
from tracearena.pages.html import COLOURS
from tracearena.papers.data import HALVES, TITLES, FigureSource, Size
from tracearena.papers.style import open_canvas, save_figure, write_title
from tracearena.synthesis.ppmtf.tensors import Zeros

Table: TypeAlias = (
    Sequence[Mapping[str, Any]] | Sequence[SweepRow] | tuple[Sequence[str], Iterable[Iterable[Any]]]
)
"""Rows, the first of which names the columns; the defences of a sweep; or columns, and values row by row."""


@dataclass(frozen=True)
class Drawing:
    """A picture, the numbers behind it, and what is claimed of them.

    Attributes
    ----------
    table
        The numbers; of several files, by the ending of their names.
    draw
        Draws the numbers, given a figure of Matplotlib and its axes; None for numbers without a picture.
    size, layout
        Inches; keywords of ``Figure.subplots``.
    title, claims, head
        A neutral title, what was found, and keywords of `write_title`; no title where `draw` writes it.
    name, suffix
        Of the files, where the name is not that of the figure.
    """

    table: Table | dict[str, Table]
    draw: Callable[[Any, Any], object] | None = None
    size: tuple[float, float] = (7.0, 5.0)
    layout: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    claims: Sequence[ClaimResult] = ()
    head: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    suffix: str = "svg"

    def write(self, out: Path, name: str) -> list[Path]:
        """Write the picture and its numbers into a folder; return the files."""
        name, written = self.name or name, []
        if self.draw is not None:
            with open_canvas(*self.size, **self.layout) as (figure, axes):
                self.draw(figure, axes)
                if self.title:
                    write_title(figure, axes, self.title, self.claims, **self.head)
                written.append(save_figure(figure, out / f"{name}.{self.suffix}"))
        tables = self.table if isinstance(self.table, dict) else {"": self.table}
        return written + [_write_rows(out / f"{name}{end}.csv", rows) for end, rows in tables.items()]


def _write_rows(path: Path, table: Table) -> Path:
    """Write one line per row; what a row does not have is an empty cell."""
    if isinstance(table, tuple):
        return write_csv(path, *table)
    if isinstance(table[0], SweepRow):
        write_table(table, path)  # type: ignore[arg-type]
        return path
    names = list(table[0])
    return write_csv(path, names, ([row.get(name) for name in names] for row in table))  # type: ignore[union-attr]


Compute: TypeAlias = Callable[..., Drawing | list[Drawing]]


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: its name, what it shows, and the function that computes it.

    `takes_zeros` is whether it trains PPMTF with the zero cells of its source.
    """

    name: str
    shows: str
    compute: Compute
    takes_zeros: bool = False

    def __call__(
        self,
        out: Path,
        *,
        data: Path | None = None,
        seed: int = 1,
        size: Size | None = None,
        zeros: Zeros | None = None,
        tell: Tell | None = None,
        **options: Any,
    ) -> list[Path]:
        """Write the pictures and their numbers (CSV) into the folder `out`; return the files.

        `data`, `seed`, `size` and `zeros` are those of a `FigureSource`, `tell` is called with each finding,
        and `options` are the keywords of the figure's function.
        """
        if zeros is not None and not self.takes_zeros:
            with_choice = ", ".join(name for name, one in REGISTRY.items() if one.takes_zeros)
            raise ParameterError(
                f"{self.name} has no choice of the zeros that PPMTF is trained with; {with_choice} have"
            )
        computed = self.compute(FigureSource(data, seed, size, zeros or "sampled"), **options)
        drawings = computed if isinstance(computed, list) else [computed]
        if tell is not None:
            for drawing in drawings:
                for claim in drawing.claims:
                    tell(claim)
        return [path for drawing in drawings for path in drawing.write(out, self.name)]


REGISTRY: dict[str, Figure] = {}
"""Name of a figure → the figure, of the modules that are loaded."""


def paper_figure(name: str, shows: str, *, takes_zeros: bool = False) -> Callable[[Compute], Compute]:
    """Register the function that computes a figure under its name, with what it shows."""

    def register(compute: Compute) -> Compute:
        REGISTRY[name] = Figure(name, shows, compute, takes_zeros)
        return compute

    return register


def draw_bars(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    title: str,
    claims: Sequence[ClaimResult],
    spread: Mapping[str, Mapping[str, float | None]],
) -> Drawing:
    """Return a panel a metric and a bar a method, whose name stands once, at the left; it keeps its colour.

    Rows may name a `city`; those of one city stand together, below its name. `spread` is that of the
    halves by city ("" where none is named), whose mean is a line through the bars of the city.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cities = [str(row.get("city", "")) for row in rows]
    # Each further city has room for its name above its bars.
    at: list[float] = []
    for own, former in zip(cities, [*cities[:1], *cities], strict=False):
        at.append(at[-1] + (1.0 if own == former else 3.0) if at else 0.0)
    height = 0.21 * (max(at) + 2) + 0.8

    def draw(figure: Any, panels: Any) -> None:
        for panel, name in zip(panels, names, strict=True):
            shown = [(place, row) for place, row in zip(at, rows, strict=True) if row[name] is not None]
            numbers = [methods.index(row["method"]) for _, row in shown]
            colours = ["#aaaaaa" if methods[k] == HALVES else COLOURS[k % len(COLOURS)] for k in numbers]
            panel.barh([place for place, _ in shown], [row[name] for _, row in shown], color=colours)
            for place, row in shown:
                if row["method"] == HALVES:
                    city = str(row.get("city", ""))
                    mine = [one for one, other in zip(at, cities, strict=True) if other == city]
                    ends = min(mine) - 0.5, max(mine) + 0.5
                    panel.vlines(row[name], *ends, color="#555555", linestyle="-.", linewidth=1)
                    error = spread.get(city, {}).get(name)
                    panel.errorbar(row[name], place, xerr=error, color="#222222", capsize=3)
            panel.set_title(TITLES[name], fontsize=10)
            panel.set_xlabel("0 is best", fontsize=8)
            panel.tick_params(axis="x", labelsize=8)
            panel.grid(False, axis="y")
        panels[0].set_yticks(at, [row["method"] for row in rows], fontsize=8)
        panels[0].set_ylim(max(at) + 0.7, min(at) - (1.7 if any(cities) else 0.7))
        for place, city, former in zip(at, cities, ["", *cities], strict=False):
            if city != former:
                x = panels[0].get_yaxis_transform()
                panels[0].text(-0.02, place - 0.9, city, transform=x, ha="right", va="center", weight="bold")
        figure.subplots_adjust(wspace=0.12, top=1 - 0.3 / height, bottom=0.5 / height)

    head = {"width": 36 * len(names), "top": 1.0}
    layout = {"ncols": len(names), "sharey": True}
    return Drawing(rows, draw, (2.5 * len(names) + 1, height), layout, title, claims, head)
