"""``tracearena audit`` and ``tracearena protect``.

How risky a file is, or how safe a release of it, as one page; and the search for a defence that keeps the
limits, with an audit of what it releases.
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
    Path, typer.Argument(metavar="IN", help="Original traces of any format: events at places, or GPS points.")
]
OutOption = Annotated[Path, typer.Option("--out", help="New folder for audit.html and audit.json.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Write tables of all shares beside the page, too.")]


def _build_measuring_option(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel="Measuring")


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """What the command line says about measuring."""

    people: Annotated[
        int,
        _build_measuring_option(
            "--people", help="Try attacks for so many people; of more, for a random sample."
        ),
    ] = 1000
    draws: Annotated[
        int, _build_measuring_option("--draws", help="How often a person's known points are drawn.")
    ] = 20
    limit: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--limit",
            help="What may be found: NAME=SHARE, of found-again, singling-out and inference; the last two "
            "above guessing. [default: found-again=5% singling-out=20% inference=20%]",
        ),
    ] = None
    attack: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--attack", help="A further attack, such as my_module:MyLinker; repeat for more."
        ),
    ] = None
    within: Annotated[
        float,
        _build_measuring_option(
            "--within", help="Metres within which a home or a workplace counts as found."
        ),
    ] = 200.0
    cell: Annotated[
        float,
        _build_measuring_option(
            "--cell", help="GPS points: metres of the cells that attacks on places work on."
        ),
    ] = 500.0
    every: Annotated[
        float,
        _build_measuring_option(
            "--every", help="GPS points: minutes between the instants that they work on."
        ),
    ] = 30.0
    smallest_group: Annotated[
        int,
        _build_measuring_option("--smallest-group", help="Draw no place on a map where fewer people were."),
    ] = 10
    quick: Annotated[
        bool,
        _build_measuring_option(
            "--quick",
            help="A first page within a minute: at most 2,000 people are read and 200 "
            "tried, wider intervals.",
        ),
    ] = False

    def settings(self, *, show_people: bool = False) -> Settings:
        """Return them as the audit takes them."""
        from tracearena.audit import Settings

        limits: dict[str, Any] = parse_limits(self.limit or ())
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


def parse_limits(said: Sequence[str]) -> dict[str, float]:
    """Return what ``--limit`` says, by the settings of an audit."""
    from tracearena.audit.settings import LIMITS
    from tracearena.errors import ParameterError

    known = {name.replace("_", "-"): name for name in LIMITS.values()}
    found = {}
    for one in said:
        name, sign, share = one.partition("=")
        if name not in known or not sign:
            raise ParameterError.of("--limit", one, f"NAME=SHARE, the name one of {', '.join(known)}")
        found[known[name]] = parse_proportion(f"--limit {name}", share)
    return found


@reads_traces(beside={"measuring": MeasuringOptions})
def audit(
    reading: ReadingOptions,
    measuring: MeasuringOptions,
    file: FileArgument,
    out: OutOption,
    released: Annotated[
        Path | None, typer.Option("--released", help="What is to be published of it: audit this version.")
    ] = None,
    id_table: Annotated[
        Path | None,
        typer.Option("--id-table", help="Who is who (pse_id,user_id), where the release has pseudonyms."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help="The defence that made the release, which attackers know."),
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Nobody in the release is a person of the original.")
    ] = False,
    others: Annotated[
        Path | None,
        typer.Option("--others", help="People who were not used for a synthetic release, for membership."),
    ] = None,
    show_people: Annotated[
        bool,
        typer.Option("--show-people", help="Draw the weeks of three people, who should have agreed to it."),
    ] = False,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit traces: can people be singled out, found again, and what can be learned about them.

    Attacks run on the file itself, each beside what guessing gives. With --released they run against
    that version of it. The page is OUT/audit.html; stopped by Ctrl-C, it holds what was finished.
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
"""Exit status where no defence keeps the limits."""


@reads_traces(beside={"measuring": MeasuringOptions})
def protect(
    reading: ReadingOptions,
    measuring: MeasuringOptions,
    file: FileArgument,
    safer: Annotated[
        Path,
        typer.Argument(metavar="SAFER", help="Where the release goes, under pseudonyms (.csv, .parquet)."),
    ],
    out: OutOption,
    target_risk: Annotated[
        str,
        typer.Option(
            "--target-risk",
            help="Of so many people at most may be found again, by the upper end of the 95 % interval.",
        ),
    ] = "5%",
    defences: Annotated[
        list[str] | None,
        typer.Option(
            "--defences",
            help="A defence to try, such as 'PL(1,1)+SwapTimes(1km,month)'; repeat for more. "
            "[default: those that suit the file]",
        ),
    ] = None,
    id_table: Annotated[
        Path | None, typer.Option("--id-table", help="Where the secret table of who is who goes.")
    ] = None,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the most useful defence that keeps the limits, apply it to the traces, and prove the release.

    Defences are chosen on one half of the people; the proof is an audit of the released file on the other
    half. The release is drawn from the system's secret source, whatever --seed says: that is for the
    measurement. Exit status 0: a release was written and keeps all limits. 3: none does; the page says the
    least risk that was reached and by what, and SAFER is not written.
    """
    from tracearena import jobs
    from tracearena.audit.page import PAGE, describe_changes, describe_outcome
    from tracearena.errors import ParameterError

    if any(one.startswith("found-again") for one in measuring.limit or ()):
        raise ParameterError("--limit found-again is for audit; protect takes it as --target-risk")
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
            shown["usefulness"] = f"{kept:.0%} of six tasks is kept, {whole:.0%} against the original file"
            changes = describe_changes(found)
            if changes:
                shown["changed"] = " ".join(changes)
        print_result(shown | {"page": str(out / PAGE)}, False)
    if found.chosen is None:
        raise typer.Exit(NOTHING_HOLDS)
