"""``tracearena sweep``, ``tracearena bounds`` and ``tracearena tune``.

``sweep`` tries many defences against many attacks, ``bounds`` bounds the privacy that any defence can have,
and ``tune`` selects a synthesizer by cross-validation.
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

ReferenceOption = Annotated[
    Path | None,
    typer.Option("--reference", help="Reference traces. With --split-at they are part of the original file."),
]
DefencesOption = Annotated[
    list[str] | None,
    typer.Option("--defences", help="Defence; repeat for more. [default: the 37 samples]"),
]


class Knowledge(StrEnum):
    """Knowledge of the attackers in addition to the release."""

    partial = "partial"
    maximum = "maximum"


@reads_traces(halves=True)
def sweep(
    reading: ReadingOptions,
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File for the table (CSV).")],
    original: OriginalOption,
    reference: ReferenceOption = None,
    defences: DefencesOption = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="Attack, or a group of them: samples, strongest or all; repeat for more. [default: samples]",
        ),
    ] = None,
    rule: RuleOption = GeneralisationRule.paper,
    seed: SeedOption = None,
    legacy_2019: Annotated[
        bool,
        typer.Option(
            "--legacy-2019", help="Reproduce the organisers' programs of 2019, with seed 1 by default."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Picture of s_R,min against s_T,min (.svg, .png, .pdf or .html)."),
    ] = None,
    band: Annotated[
        bool,
        typer.Option("--band", help="Also compute and draw bounds of s_T for each defence."),
    ] = False,
    knowledge: Annotated[
        Knowledge,
        typer.Option(
            "--knowledge",
            help="Knowledge of the attackers: the reference traces (partial), or "
            "the original ones (maximum).",
        ),
    ] = Knowledge.partial,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Also tune fuzzy counting for each defence, on the two halves of the reference traces or on "
            "--samples.",
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
    """Run many attacks on many defences, and write a table of utility and privacy scores.

    Finished rows are stored in OUT.unfinished until the table is complete; run the same command again to
    resume an interrupted sweep. The row of a defence that fails has the reason; the exit status is 1 only if
    all defences fail. Tuned attacks count only in s_R_min_tuned and s_T_min_tuned.

    Example:
      tracearena sweep table.csv --original org.csv --reference ref.csv \\
          --plot table.svg
    """
    from tracearena.arena.ensemble import Scoring
    from tracearena.engine import get_checkpoint_path, read_checkpoint_seed
    from tracearena.files.atomic import replacing_all
    from tracearena.jobs.pairs import read_halves
    from tracearena.jobs.scores import report_sensitive_places
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
        note(f"seed {begun}, from {kept}: its rows are reused")
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
            print_outcome(f"{kept}: has the finished rows; run the same command again to continue")
        raise
    with replacing_all():
        arena.write_table(rows, out)
        if plot is not None:
            style.draw_privacy_scatter(rows, plot)
    if plot is not None:
        note(f"picture: {plot}")
    kept.unlink(missing_ok=True)
    failed = [row for row in rows if row.error is not None]
    for row in failed:
        note(f"{row.defence}: {row.error}")
    if failed:
        note(f"{len(failed)} of {len(rows)} rows are incomplete; see the column error of {out}")
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
    """Return the mean reduction of a minimum by tuning, over the defences; None without tuning."""
    known = [plain - tuned for plain, tuned in pairs if plain is not None and tuned is not None]
    return sum(known) / len(known) if known else None


def _find_most_frequent(names: Iterable[str | None]) -> str | None:
    """Return the attack that was the strongest on the most defences."""
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
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="File for the table (CSV), one row per defence.")
    ],
    original: OriginalOption,
    reference: ReferenceOption = None,
    defences: DefencesOption = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="Trace inference to compare, or a group: samples, strongest or all. [default: strongest]",
        ),
    ] = None,
    seed: SeedOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bound the privacy against trace inference (s_T) that each defence can have on this data.

    The upper bound is the score of Habits-T, an attack that uses only people's habits and does not read the
    release: no defence can have more privacy. The lower value estimates the score of an attacker who knows
    the defence and all true identities. Attacks outside of these bounds are named, with 95 % intervals over
    users.

    Example:
      tracearena bounds bounds.csv --original org.csv --reference ref.csv
    """
    from tracearena.jobs.pairs import read_halves
    from tracearena.jobs.scores import report_sensitive_places

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
                f"{row.above}: this score only shows that the attacks are weak"
            )
        for name, less in row.below.items():
            note(f"{row.defence}: {name} is below the lower estimate of {row.estimate.value:.4f} by {less}")
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
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces of all people, in any format.")],
    synthesizers: Annotated[
        list[str],
        typer.Argument(
            metavar="SYNTHESIZER", help="Synthesizers to try, such as 'PPMTF(16,20)' 'PPMTF(16,200)' SGD."
        ),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by", help="Measure to minimise: tp_tv, tp_tv_top50, tm_emd_x, tm_emd_y, vf_tv and others."
        ),
    ] = "tp_tv",
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Number of cross-validation folds of people.")
    ] = 5,
    traces_per_user: Annotated[
        int, typer.Option("--traces-per-user", min=1, help="Synthetic traces per user.")
    ] = 1,
    most_reidentified: Annotated[
        float | None,
        typer.Option("--most-reidentified", help="Largest acceptable share of re-identified traces."),
    ] = None,
    largest_advantage: Annotated[
        float | None,
        typer.Option("--largest-advantage", help="Largest acceptable membership advantage."),
    ] = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Select a synthesizer and its parameters by cross-validation over people.

    Each fold of people is held out once, and all measures are averaged (0 is best).

    Example:
      tracearena tune trips.csv "PPMTF(16,20)" "PPMTF(16,200)" SGD --grid 32x32
    """
    from tracearena.arena.evaluation import choose_synthesizer

    traces, _ = reading.read_events(file)
    traces = traces if slots is None else traces.with_slots(slots)
    used = choose_seed(seed)
    limits = {"reidentification_rate": most_reidentified, "membership_advantage": largest_advantage}
    with show_progress("folds"):
        found = choose_synthesizer(
            synthesizers,
            traces,
            by=by,
            folds=folds,
            traces_per_user=traces_per_user,
            limits={name: limit for name, limit in limits.items() if limit is not None},
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
        mark = "" if one["allowed"] else "  above a privacy limit"
        typer.echo(f"{one['name']:<{width}}" + "".join(f"  {cell:>22}" for cell in cells) + mark)
    typer.echo(f"\nbest by {by.replace('_', ' ')}: {result['best'] or 'none is within the privacy limits'}")
