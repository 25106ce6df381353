"""``tracearena audit`` and ``tracearena protect``.

``audit`` measures the privacy risk of a file, or of a release of it, and writes one page. ``protect``
searches for a defence that keeps given limits, applies it, and audits the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, SeedOption, parse_proportion, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.audit import Settings


FileArgument = Annotated[
    Path, typer.Argument(metavar="IN", help="Original traces in any format: events at places, or GPS points.")
]
OutOption = Annotated[Path, typer.Option("--out", help="New folder for audit.html and audit.json.")]
CsvOption = Annotated[
    bool, typer.Option("--csv", help="Also write tables of all shares to the folder of the page.")
]


def _build_measuring_option(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel="Measuring")


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """Options of the measurements of an audit."""

    people: Annotated[
        int,
        _build_measuring_option("--people", help="Attack at most this many people, a random sample of all."),
    ] = 1000
    draws: Annotated[
        int, _build_measuring_option("--draws", help="Random draws of known points per person.")
    ] = 20
    limit: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--limit",
            help="Acceptable share NAME=SHARE, for found-again, singling-out or inference (the last two "
            "in excess of guessing). [default: found-again=5% singling-out=20% inference=20%]",
        ),
    ] = None
    attack: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--attack", help="Additional attack, such as my_module:MyLinker; repeat for more."
        ),
    ] = None
    within: Annotated[
        float,
        _build_measuring_option(
            "--within", help="A home or workplace this close counts as found, in metres."
        ),
    ] = 200.0
    cell: Annotated[
        float,
        _build_measuring_option(
            "--cell", help="GPS points: side of the grid cells used as places, in metres."
        ),
    ] = 500.0
    every: Annotated[
        float,
        _build_measuring_option("--every", help="GPS points: time between instants, in minutes."),
    ] = 30.0
    smallest_group: Annotated[
        int,
        _build_measuring_option("--smallest-group", help="Leave out places with fewer people from maps."),
    ] = 10
    quick: Annotated[
        bool,
        _build_measuring_option(
            "--quick",
            help="Get a first page within a minute: read at most 2,000 people and attack 200, which "
            "gives wider confidence intervals.",
        ),
    ] = False

    def settings(self, *, show_people: bool = False) -> Settings:
        """Return the settings of the audit."""
        from tracearena.audit import Settings

        limits: dict[str, Any] = parse_limits(self.limit or ())
        return Settings(
            people=self.people, draws=self.draws, within_m=self.within, cell_m=self.cell,
            interval_min=self.every, smallest_group=self.smallest_group, quick=self.quick,
            show_people=show_people, **limits,
        )  # fmt: skip

    @property
    def words(self) -> list[str]:
        """The options --limit and --attack as they were given, for a command that is printed."""
        said = (("--limit", self.limit), ("--attack", self.attack))
        return [word for name, values in said for value in values or () for word in (name, value)]


def parse_limits(said: Sequence[str]) -> dict[str, float]:
    """Return the values of ``--limit`` by the names of the settings of an audit."""
    from tracearena.audit.settings import LIMITS
    from tracearena.errors import ParameterError

    known = {name.replace("_", "-"): name for name in LIMITS.values()}
    found = {}
    for one in said:
        name, sign, share = one.partition("=")
        if name not in known or not sign:
            raise ParameterError.of("--limit", one, f"NAME=SHARE, where NAME is one of {', '.join(known)}")
        found[known[name]] = parse_proportion(f"--limit {name}", share)
    return found


@reads_traces(others={"measuring": MeasuringOptions})
def audit(
    reading: ReadingOptions,
    file: FileArgument,
    out: OutOption,
    released: Annotated[
        Path | None, typer.Option("--released", help="Version that is to be published: audit it against IN.")
    ] = None,
    id_table: Annotated[
        Path | None,
        typer.Option(
            "--id-table", help="Table of true identities (pse_id,user_id), if the release has pseudonyms."
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help="Defence that made the release; attackers know it."),
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="The release is synthetic: its people are not those of IN.")
    ] = False,
    others: Annotated[
        Path | None,
        typer.Option(
            "--others", help="Traces of people not used for a synthetic release, to attack membership."
        ),
    ] = None,
    show_people: Annotated[
        bool,
        typer.Option("--show-people", help="Draw the weeks of three people; use it only with their consent."),
    ] = False,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    *,
    measuring: MeasuringOptions,
) -> None:
    """Measure the privacy risk of traces: can people be singled out, found again, or profiled?

    Attacks run on the file itself, or with --released on that version of it; each result is compared with
    guessing. The page is OUT/audit.html. After Ctrl-C it has the results so far.

    Example:
      tracearena audit trips.csv --out audit --quick
    """
    from tracearena import jobs
    from tracearena.audit.page import PAGE
    from tracearena.audit.results import summarise_lines

    found = jobs.audit(
        file,
        out,
        reading=reading,
        settings=measuring.settings(show_people=show_people),
        released=released,
        id_table=id_table,
        mechanism=mechanism,
        synthetic=synthetic,
        others=others,
        attacks=measuring.attack or (),
        tables=tables,
        seed=seed,
    )
    shown = found.to_dict() if as_json else {**summarise_lines(found), "page": str(out / PAGE)}
    print_result(shown, as_json)


NOTHING_HOLDS = 3
"""Exit status if no defence keeps the limits."""


@reads_traces(others={"measuring": MeasuringOptions})
def protect(
    reading: ReadingOptions,
    file: FileArgument,
    safer: Annotated[
        Path,
        typer.Argument(metavar="SAFER", help="File for the release, with pseudonyms (.csv, .parquet)."),
    ],
    out: OutOption,
    target_risk: Annotated[
        str,
        typer.Option(
            "--target-risk",
            help="Largest acceptable share of people found again, at the upper end of the 95 % interval.",
        ),
    ] = "5%",
    defences: Annotated[
        list[str] | None,
        typer.Option(
            "--defences",
            help="Defence to try, such as 'PL(1,1)+SwapTimes(1km,month)'; repeat for more. "
            "[default: those that suit the file]",
        ),
    ] = None,
    id_table: Annotated[
        Path | None, typer.Option("--id-table", help="File for the secret table of true identities.")
    ] = None,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
    *,
    measuring: MeasuringOptions,
) -> None:
    """Find the most useful defence that keeps the risk limits, apply it, and audit the release.

    The defence is chosen on one half of the people; the released file is audited on the other half. --seed
    makes the measurements repeatable; the release itself always uses the system's secret source of
    randomness. The exit status is 0 if a release was written that keeps all limits. It is 3 if no defence
    keeps them: SAFER is then not written, and the page says which defence had the lowest risk.

    Example:
      tracearena protect trips.csv safer.csv --out proof --target-risk 5%
    """
    from tracearena import jobs
    from tracearena.audit.page import PAGE, describe_changes, describe_outcome
    from tracearena.errors import ParameterError

    if any(one.startswith("found-again") for one in measuring.limit or ()):
        raise ParameterError("--limit found-again is an option of `audit`; use --target-risk with `protect`")
    target = parse_proportion("--target-risk", target_risk)
    found, audit, command = jobs.protect(
        file,
        safer,
        out,
        reading=reading,
        settings=replace(measuring.settings(), found_again=target),
        defences=defences,
        attacks=measuring.attack or (),
        id_table=id_table,
        tables=tables,
        seed=seed,
        more_options=[*measuring.words, "--target-risk", target_risk],
    )
    result = {
        "verdict": describe_outcome(found),
        "defence": found.chosen,
        "file": str(safer) if found.chosen else None,
        "command": command,
    }
    if as_json:
        print_result(result | {"protection": found.to_dict(), "audit": audit.to_dict()}, True)
    else:
        shown = {name: value for name, value in result.items() if value is not None}
        usefulness = None if found.proof is None else found.proof.usefulness
        if usefulness is not None:
            kept, whole = usefulness.kept or 0.0, usefulness.kept_of_file or 0.0
            shown["usefulness"] = (
                f"{kept:.0%} kept on average over six tasks, {whole:.0%} compared with the original file"
            )
            changes = describe_changes(found)
            if changes:
                shown["changed"] = " ".join(changes)
        print_result(shown | {"page": str(out / PAGE)}, False)
    if found.chosen is None:
        raise typer.Exit(NOTHING_HOLDS)
