"""``tracearena sweep``: many defences against many attacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena import arena
from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import (
    JsonOption,
    SeedOption,
    check_outputs,
    chosen_seed,
    note,
    print_result,
    working,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._refusing import refuse
from tracearena.cli._stopping import say_outcome
from tracearena.cli.score import OriginalOption, Rule, RuleOption

if TYPE_CHECKING:
    from tracearena.traces import Traces


class Knowledge(StrEnum):
    """What attackers know beside the release."""

    partial = "partial"
    maximum = "maximum"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sweep)


@reads_traces(halves=True)
def sweep(
    reading: ReadingOptions,
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Where the table goes (CSV).")],
    original: OriginalOption,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Reference traces; --split-at cuts them off the original instead."),
    ] = None,
    defences: Annotated[
        list[str] | None,
        typer.Option("--defences", help="A defence; repeat for more. [default: the 37 samples]"),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="An attack; samples, strongest or all for several; repeat for more. [default: samples]",
        ),
    ] = None,
    rule: RuleOption = Rule.paper,
    seed: SeedOption = None,
    legacy_2019: Annotated[
        bool,
        typer.Option("--legacy-2019", help="Reproduce the organisers' programs of 2019 (seed 1 by default)."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw s_R,min against s_T,min (.svg, .png, .pdf or .html).")
    ] = None,
    band: Annotated[
        bool,
        typer.Option("--band", help="Also say, and draw, between which values s_T of each defence must lie."),
    ] = False,
    knowledge: Annotated[
        Knowledge,
        typer.Option(
            "--knowledge",
            help="What attackers know: partial, the reference; maximum, the original traces themselves.",
        ),
    ] = Knowledge.partial,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Also tune fuzzy counting for each defence, on the reference cut in two or on --samples.",
        ),
    ] = False,
    samples: Annotated[
        Path | None,
        typer.Option(
            "--samples",
            help="Folder of contest files (reftraces_*, orgtraces_*) of sample teams, for --tune.",
        ),
    ] = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try many defences against many attacks and write a table of scores.

    Finished rows are kept in OUT.unfinished until the table is whole: the same command goes on where
    a killed one stopped. A defence that fails has a row that says why; the exit status is 1 only if
    all of them fail. Tuned attacks count in s_R_min_tuned and s_T_min_tuned only.
    """
    from tracearena.arena.sweep import Scoring
    from tracearena.cli._sensitive import sensitive_places
    from tracearena.cli._together import read_halves
    from tracearena.figures import privacy_scatter
    from tracearena.files.atomic import replacing_all

    if not tune:
        refuse("a sweep without --tune", samples=samples)
    check_outputs(out, plot, inputs=(reference, original, *reading.files))
    if plot is not None:
        privacy_scatter.check_suffix(plot)
    halves = read_halves(reading, reference, original)
    kept = arena.unfinished(out)
    begun = arena.begun_with(kept)
    used = seed if legacy_2019 else chosen_seed(begun if seed is None else seed)
    if seed is None and begun is not None:
        note(f"seed {begun}, with which {kept} was begun: its rows are taken over")
    workers, scoring = joined(context, cluster), Scoring(utility_rule=rule.value)
    with _going_on_from(kept), working("defences", cluster=workers):
        rows = arena.run_sweep(
            *halves,
            defences=defences or arena.SAMPLE_DEFENCES,
            attacks=attacks or ("samples",),
            scoring=scoring,
            legacy_2019=legacy_2019,
            seed=used,
            band=band,
            knowledge=knowledge.value,
            tune=tune if samples is None else _sample_teams(samples),
            unfinished=kept,
        )
    with replacing_all():
        arena.write_table(rows, out)
        if plot is not None:
            privacy_scatter.draw(rows, plot)
    if plot is not None:
        note(f"picture in {plot}")
    kept.unlink(missing_ok=True)
    failed = [row for row in rows if row.error is not None]
    for row in failed:
        note(f"{row.defence}: {row.error}")
    if failed:
        note(f"{len(failed)} of {len(rows)} rows are not whole; the column error of {out} says why")
    by, best = arena.best_defences(rows)
    names = [row.defence for row in best]
    result = {
        "file": str(out),
        "defences": len(rows),
        "valid": sum(row.valid for row in rows),
        "failed": len(failed),
        "best": names if as_json else _told(names),
        "tie": len(best) > 1,
        "best_s_R_min": best[0].scores.s_R_min if by == "s_R_min" else None,
        "best_s_T_min": best[0].scores.s_T_min if by == "s_T_min" else None,
        "strongest_R": _most_often(row.scores.strongest[0] for row in rows),
        "strongest_T": _most_often(row.scores.strongest[1] for row in rows),
        "knowledge": None if knowledge is Knowledge.partial else knowledge.value,
        "tuning_lowers_s_R_min": _lowered((row.scores.s_R_min, row.s_R_min_tuned) for row in rows),
        "tuning_lowers_s_T_min": _lowered((row.scores.s_T_min, row.s_T_min_tuned) for row in rows),
        "s_T_ceiling": next((row.band.ceiling for row in rows if row.band is not None), None),
    }
    if any(row.scores.s_T_min is not None for row in rows):
        result |= sensitive_places(halves[1].places, scoring.sensitive_weight)
    if not as_json:
        result = {name: value for name, value in result.items() if value is not None}
    print_result(result, as_json)
    if rows and len(failed) == len(rows):
        raise typer.Exit(1)


def _sample_teams(folder: Path) -> list[tuple[Traces, Traces]]:
    """Read the sample teams of a folder of contest files."""
    from tracearena.figures.data import published_teams

    return [(team.reference, team.original) for team in published_teams(folder)]


def _lowered(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Say by how much tuning lowers a minimum in the mean over the defences; None without tuning."""
    known = [plain - tuned for plain, tuned in pairs if plain is not None and tuned is not None]
    return sum(known) / len(known) if known else None


def _told(names: list[str]) -> str:
    if len(names) < 2:
        return names[0] if names else "none is valid"
    return f"{', '.join(names[:-1])} and {names[-1]} tie"


def _most_often(names: Iterable[str | None]) -> str | None:
    """Say which attack was the strongest on the most defences."""
    from collections import Counter

    counted = Counter(name for name in names if name is not None)
    if not counted:
        return None
    (name, times), total = counted.most_common(1)[0], counted.total()
    return f"{name} ({times} of {total} defences)"


@contextmanager
def _going_on_from(kept: Path) -> Iterator[None]:
    """Say how to go on where a sweep is stopped."""
    try:
        yield
    except KeyboardInterrupt:
        if kept.exists():
            say_outcome(f"{kept}: holds the finished rows; the same command goes on from them")
        raise
