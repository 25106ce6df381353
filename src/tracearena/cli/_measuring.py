"""How `audit` and `protect` measure: one record of options, declared once, and the run that writes a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import note, working
from tracearena.cli._percent import share_of
from tracearena.cli._stopping import say_outcome, unhurried

if TYPE_CHECKING:
    from tracearena.audit import Audit, Settings
    from tracearena.intake import Reading
    from tracearena.intake.sampling import Sample, Sampled

FileArgument = Annotated[
    Path, typer.Argument(metavar="IN", help="Original traces of any format: events at places, or GPS points.")
]
OutOption = Annotated[Path, typer.Option("--out", help="New folder for audit.html and audit.json.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Write tables of all shares beside the page, too.")]


_SAMPLED = "a random sample of a large file; in the whole file people have more others to hide among"
_LARGE_BYTES = 300 << 20
"""A file up to this size is read as a whole."""
_MOST_PEOPLE, _MOST_ROWS = 1_000_000, 20_000_000
"""Of a larger file, a random sample of people with about this many rows in total is read."""


def _option(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel="Measuring")


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """What the command line says about measuring."""

    people: Annotated[
        int, _option("--people", help="Try attacks for so many people; of more, for a random sample.")
    ] = 1000
    draws: Annotated[int, _option("--draws", help="How often a person's known points are drawn.")] = 20
    limit: Annotated[
        list[str] | None,
        _option(
            "--limit",
            help="What may be found: NAME=SHARE, of found-again, singling-out and inference; the last two "
            "above guessing. [default: found-again=5% singling-out=20% inference=20%]",
        ),
    ] = None
    attack: Annotated[
        list[str] | None,
        _option("--attack", help="A further attack, such as my_module:MyLinker; repeat for more."),
    ] = None
    within: Annotated[
        float, _option("--within", help="Metres within which a home or a workplace counts as found.")
    ] = 200.0
    cell: Annotated[
        float, _option("--cell", help="GPS points: metres of the cells that attacks on places work on.")
    ] = 500.0
    every: Annotated[
        float, _option("--every", help="GPS points: minutes between the instants that they work on.")
    ] = 30.0
    smallest_group: Annotated[
        int, _option("--smallest-group", help="Draw no place on a map where fewer people were.")
    ] = 10
    quick: Annotated[
        bool,
        _option(
            "--quick",
            help="A first page within a minute: at most 2,000 people are read and 200 "
            "tried, wider intervals.",
        ),
    ] = False

    def settings(self, *, show_people: bool = False) -> Settings:
        """Return them as the audit takes them."""
        from tracearena.audit import Settings

        limits: dict[str, Any] = limits_of(self.limit or ())
        return Settings(
            people=self.people, draws=self.draws, within_m=self.within, cell_m=self.cell,
            interval_min=self.every, smallest_group=self.smallest_group, quick=self.quick,
            show_people=show_people, **limits,
        )  # fmt: skip

    @property
    def words(self) -> list[str]:
        """The limits and the further attacks as they were said, for a command that is printed."""
        said = (("--limit", self.limit), ("--attack", self.attack))
        return [word for name, values in said for value in values or () for word in (name, value)]

    def sample(self, file: Path, seed: int) -> Sample | None:
        """Return how many people are read of a large file; None for all of them."""
        from tracearena.intake.sampling import Sample

        if self.quick:
            return Sample(seed=seed)
        files = file.rglob("*") if file.is_dir() else [file]
        is_large = sum(one.stat().st_size for one in files if one.is_file()) > _LARGE_BYTES
        return Sample(users=_MOST_PEOPLE, rows=_MOST_ROWS, seed=seed) if is_large else None


def limits_of(said: Sequence[str]) -> dict[str, float]:
    """Return what ``--limit`` says, by the settings of an audit."""
    from tracearena.audit.settings import LIMITS
    from tracearena.errors import ParameterError

    known = {name.replace("_", "-"): name for name in LIMITS.values()}
    found = {}
    for one in said:
        name, sign, share = one.partition("=")
        if name not in known or not sign:
            raise ParameterError.of("--limit", one, f"NAME=SHARE, the name one of {', '.join(known)}")
        found[known[name]] = share_of(f"--limit {name}", share)
    return found


def order_of(reading: Reading[Any]) -> Any:
    """Return the users of a file by their first rows, where it has rows."""
    order = reading.report.user_order
    return None if order is None else order.to_numpy()


def run(
    given: dict[str, Any],
    settings: Settings,
    seed: int,
    out: Path,
    *,
    tables: bool,
    read: Sampled | None = None,
    **told: Any,
) -> Audit:
    """Audit and write the folder; what was finished before Ctrl-C is written, too.

    Parameters
    ----------
    read
        How many people of the file were read, if not all.
    """
    from tracearena.audit import stages, write_audit
    from tracearena.audit.settings import Choice

    def with_sample(audit: Audit) -> Audit:
        if read is None:
            return audit
        people = Choice("people read", f"{read.users:,} of {read.of:,}", _SAMPLED)
        return replace(audit, choices=(people, *audit.choices))

    last: Audit | None = None
    said = 0
    with unhurried():
        try:
            with working("attacks"):
                for last in map(with_sample, stages(**given, settings=settings, seed=seed)):
                    for choice in last.choices[said:]:
                        note(f"{choice.name}: {choice.value} ({choice.reason})")
                    said = len(last.choices)
        except KeyboardInterrupt:
            if last is not None:
                write_audit(last, out, tables=tables, **told)
                say_outcome(f"{out} holds what was finished, marked as incomplete")
            raise
    assert last is not None
    write_audit(last, out, tables=tables, **told)
    return last
