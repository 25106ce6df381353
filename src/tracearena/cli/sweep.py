"""``tracearena sweep``, ``tracearena bounds`` and ``tracearena tune``.

Many defences against many attacks; between which values the privacy of whereabouts must lie; and the best
synthesizer for some traces, by cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena import arena
from tracearena.cli._app import print_outcome
from tracearena.cli._output import ClusterOption, JsonOption, SeedOption, join_cluster, print_result
from tracearena.cli._reading import SlotsOption, reads_traces
from tracearena.cli.score import GeneralisationRule, OriginalOption, RuleOption
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import check_outputs, choose_seed, refuse_options
from tracearena.jobs.reading import ReadingOptions


class Knowledge(StrEnum):
    """What attackers know besides the release."""

    partial = "partial"
    maximum = "maximum"


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
    rule: RuleOption = GeneralisationRule.paper,
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
    from tracearena.cli._output import report_sensitive_places
    from tracearena.engine import get_checkpoint_path, read_checkpoint_seed
    from tracearena.files.atomic import replacing_all
    from tracearena.jobs.pairs import read_halves
    from tracearena.papers import style
    from tracearena.papers.data import read_published_teams

    if not tune:
        refuse_options("a sweep without --tune", samples=samples)
    check_outputs(out, plot, inputs=(reference, original, *reading.files))
    if plot is not None:
        style.check_suffix(plot)
    halves = read_halves(reading, reference, original)
    kept = get_checkpoint_path(out)
    begun = read_checkpoint_seed(kept)
    used = seed if legacy_2019 else choose_seed(begun if seed is None else seed)
    if seed is None and begun is not None:
        note(f"seed {begun}, with which {kept} was begun: its rows are taken over")
    workers, scoring = join_cluster(context, cluster), Scoring(utility_rule=rule.value)
    try:
        with show_progress("defences", cluster=workers):
            teams: Any = tune
            if samples is not None:
                teams = [(team.reference, team.original) for team in read_published_teams(samples)]
            rows = arena.run_sweep(
                *halves,
                defences=defences or arena.SAMPLE_DEFENCES,
                attacks=attacks or ("samples",),
                scoring=scoring,
                legacy_2019=legacy_2019,
                seed=used,
                band=band,
                knowledge=knowledge.value,
                tune=teams,
                unfinished=kept,
            )
    except KeyboardInterrupt:
        if kept.exists():
            print_outcome(f"{kept}: holds the finished rows; the same command goes on from them")
        raise
    with replacing_all():
        arena.write_table(rows, out)
        if plot is not None:
            style.draw_privacy_scatter(rows, plot)
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
    winners = names[0] if names else "none is valid"
    if len(names) > 1:
        winners = f"{', '.join(names[:-1])} and {names[-1]} tie"
    result = {
        "file": str(out),
        "defences": len(rows),
        "valid": sum(row.valid for row in rows),
        "failed": len(failed),
        "best": names if as_json else winners,
        "tie": len(best) > 1,
        "best_s_R_min": best[0].scores.s_R_min if by == "s_R_min" else None,
        "best_s_T_min": best[0].scores.s_T_min if by == "s_T_min" else None,
        "strongest_R": _find_most_frequent(row.scores.strongest[0] for row in rows),
        "strongest_T": _find_most_frequent(row.scores.strongest[1] for row in rows),
        "knowledge": None if knowledge is Knowledge.partial else knowledge.value,
        "tuning_lowers_s_R_min": _compute_mean_reduction(
            (row.scores.s_R_min, row.s_R_min_tuned) for row in rows
        ),
        "tuning_lowers_s_T_min": _compute_mean_reduction(
            (row.scores.s_T_min, row.s_T_min_tuned) for row in rows
        ),
        "s_T_ceiling": next((row.band.ceiling for row in rows if row.band is not None), None),
    }
    if any(row.scores.s_T_min is not None for row in rows):
        result |= report_sensitive_places(halves[1].places, scoring.sensitive_weight)
    if not as_json:
        result = {name: value for name, value in result.items() if value is not None}
    print_result(result, as_json)
    if rows and len(failed) == len(rows):
        raise typer.Exit(1)


def _compute_mean_reduction(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Say by how much tuning lowers a minimum in the mean over the defences; None without tuning."""
    known = [plain - tuned for plain, tuned in pairs if plain is not None and tuned is not None]
    return sum(known) / len(known) if known else None


def _find_most_frequent(names: Iterable[str | None]) -> str | None:
    """Say which attack was the strongest on the most defences."""
    from collections import Counter

    counted = Counter(name for name in names if name is not None)
    if not counted:
        return None
    (name, times), total = counted.most_common(1)[0], counted.total()
    return f"{name} ({times} of {total} defences)"


@reads_traces(halves=True)
def bounds(
    reading: ReadingOptions,
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Where the table goes (CSV), one line a defence.")],
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
            help="A trace inference to compare; samples, strongest or all for several. [default: strongest]",
        ),
    ] = None,
    seed: SeedOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say between which values the privacy of whereabouts (s_T) of every defence must lie on this data.

    Above: what habits alone leave (Habits-T, which does not read the release), so no defence is worth
    more. Below: an estimate of what an attacker leaves who is told the defence and who is who. Attacks
    outside of the two are named, with 95 % intervals over the users.
    """
    from tracearena.cli._output import report_sensitive_places
    from tracearena.jobs.pairs import read_halves

    check_outputs(out, inputs=(reference, original, *reading.files))
    halves = read_halves(reading, reference, original)
    used = choose_seed(seed)
    with show_progress("defences", cluster=join_cluster(context, cluster)):
        found = arena.bounds(
            *halves, defences=defences or arena.SAMPLE_DEFENCES, attacks=attacks or ("strongest",), seed=used
        )
    arena.write_bounds(found, out)
    for row in found.defences:
        if row.is_artefact:
            note(
                f"{row.defence}: {row.strongest_T} leaves {row.s_T_min:.4f}, more than habits alone by "
                f"{row.above}: the figure is an artefact of weak attacks"
            )
        for name, less in row.below.items():
            note(f"{row.defence}: {name} is below the estimate of {row.estimate.value:.4f} by {less}")
        for why in row.failed.values():
            note(f"{row.defence}: {why}")
    estimates = [row.estimate.value for row in found.defences]
    result = {
        "file": str(out),
        "defences": len(found.defences),
        "ceiling": found.ceiling.value,
        "ceiling_low": found.ceiling.low,
        "ceiling_high": found.ceiling.high,
        "lowest_estimate": min(estimates),
        "highest_estimate": max(estimates),
        "above_ceiling": len(found.artefacts),
        "below_estimate": sum(bool(row.below) for row in found.defences),
    }
    result |= report_sensitive_places(halves[1].places, 10.0)
    print_result(result, as_json)


@reads_traces()
def tune(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(help="Traces of everybody, in any format that is read.")],
    synthesizers: Annotated[
        list[str], typer.Argument(help="Synthesizers to try, such as 'PPMTF(16,20)' 'PPMTF(16,200)' SGD.")
    ],
    by: Annotated[
        str, typer.Option("--by", help="What to choose by: tp_tv, tp_tv_top50, tm_emd_x, tm_emd_y, vf_tv, …")
    ] = "tp_tv",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of the people, each tested once.")] = 5,
    traces_per_user: Annotated[
        int, typer.Option("--traces-per-user", min=1, help="Synthetic traces of each user.")
    ] = 1,
    most_reidentified: Annotated[
        float | None,
        typer.Option("--most-reidentified", help="Do not choose what betrays a larger share of traces."),
    ] = None,
    largest_advantage: Annotated[
        float | None,
        typer.Option("--largest-advantage", help="Do not choose what has a larger membership advantage."),
    ] = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose a synthesizer and its parameters: train on most of the people, compare with the others.

    Every part of the people is held out once, and all metrics are averaged (0 is best).
    """
    from tracearena.arena.evaluation import choose_synthesizer

    traces, _ = reading.read_events(file)
    traces = traces if slots is None else traces.with_slots(slots)
    used = choose_seed(seed)
    with show_progress("folds"):
        found = choose_synthesizer(
            synthesizers,
            traces,
            by=by,
            folds=folds,
            traces_per_user=traces_per_user,
            most_reidentified=most_reidentified,
            largest_advantage=largest_advantage,
            seed=used,
        )
    result = found.to_dict()
    if as_json:
        print_result(result | {"seed": used}, True)
        return
    columns = [by, *(name for name in ("reidentification_rate", "membership_advantage") if name != by)]
    width = max(len(one["name"]) for one in result["tried"])
    typer.echo(" " * width + "".join(f"  {name.replace('_', ' '):>22}" for name in columns))
    for one in result["tried"]:
        cells = [
            f"{one['mean'][name]:.4f} ± {one['spread'][name]:.4f}" if name in one["mean"] else "-"
            for name in columns
        ]
        mark = "" if one["allowed"] else "  betrays too much"
        typer.echo(f"{one['name']:<{width}}" + "".join(f"  {cell:>22}" for cell in cells) + mark)
    typer.echo(f"\nbest by {by.replace('_', ' ')}: {result['best'] or 'none keeps the bounds of privacy'}")
