"""``tracearena evaluate``: the utility and privacy of synthetic traces."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from tracearena.cli._output import ClusterOption, JsonOption, join_cluster, replace_undefined
from tracearena.cli._reading import SlotsOption, reads_traces
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.io import Input
    from tracearena.metrics.counts import Countable, TraceCounts
    from tracearena.traces import Box, Traces


_READ_WHOLE = (
    "all events are read at once, because the attacks compare every user with every synthetic trace; with "
    "--utility-only, which leaves out the attacks, only a few users are in memory at a time"
)


class UtilityReference(StrEnum):
    """Traces that utility is measured against."""

    testing = "testing"
    training = "training"


@reads_traces(without=("bounds",))
def evaluate(
    reading: ReadingOptions,
    context: typer.Context,
    train: Annotated[Path, typer.Option("--train", help="Training traces of the synthesizer.")],
    test: Annotated[Path, typer.Option("--test", help="Traces of other people, for comparison.")],
    synthetic: Annotated[
        list[Path], typer.Option("--synthetic", help="Synthetic traces; repeat for more files.")
    ],
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds",
            help="Area of the city: south,west,north,east in degrees. By default the box of the places. For "
            "GPS trips, the box in which they are compared.",
        ),
    ] = None,
    legacy_ppmtf: Annotated[
        bool,
        typer.Option(
            "--legacy-ppmtf",
            help="Infer membership as the authors' program does: chained traces, strict >, 1,000 thresholds.",
        ),
    ] = False,
    against: Annotated[
        UtilityReference,
        typer.Option(
            "--against",
            help="Traces that utility is measured against: testing, as for "
            "PPMTF, or training, as for PPMTF+.",
        ),
    ] = UtilityReference.testing,
    slots: SlotsOption = None,
    exact_emd: Annotated[
        bool,
        typer.Option(
            "--exact-emd",
            help="Also compute the exact two-dimensional earth mover's distance of moves (needs "
            "tracearena[emd]).",
        ),
    ] = False,
    utility_only: Annotated[
        bool,
        typer.Option(
            "--utility-only",
            help="Leave out the attacks, which need all users in memory, to evaluate tables of any size.",
        ),
    ] = False,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the utility and privacy of synthetic traces; for every measure 0 is best.

    The accuracy of membership inference is the exception: compare it with that of guessing. GPS points
    without --grid are compared as trips: of their measures, Kendall's τ and pattern F1 are best at 1.

    Example:
      tracearena evaluate --train train.csv --test test.csv \\
          --synthetic synthetic.csv
    """
    import json

    from tracearena.arena.evaluation import measure_leakage
    from tracearena.engine import use
    from tracearena.jobs import pairs
    from tracearena.metrics.counts import WholeTraces
    from tracearena.traces import Box

    if utility_only:
        refuse_options("utility alone", legacy_ppmtf=legacy_ppmtf)
    measure = _Measure(None if bounds is None else Box.parse(bounds), against.value, exact_emd)
    sources = [reading.open(train), *(reading.open_second(path) for path in (test, *synthetic))]
    if reading.grid is None and sources[0].holds_points:
        refuse_options("GPS trips", legacy_ppmtf=legacy_ppmtf, slots=slots, exact_emd=exact_emd)
        _evaluate_trips(reading, sources, bounds, against, as_json)
        return
    are_many = pairs.are_tables_counted_in_chunks(reading, sources, cluster=cluster if utility_only else None)
    workers = join_cluster(context, cluster)
    if are_many and utility_only:
        with pairs.open_table_counters(reading, sources, slots, workers) as people:
            with show_progress("counting", workers):
                found, base = measure.utility(*people)
            sizes = people[0].n_users, people[1].n_users
    else:
        if are_many:
            note(_READ_WHOLE)
        training, testing, made = _read_inputs(reading, sources, slots)
        found, base = measure.utility(
            WholeTraces(training), WholeTraces(testing), [WholeTraces(one) for one in made]
        )
        sizes = training.n_users, testing.n_users
        if not utility_only:
            with use(cluster=workers):
                privacy = [measure_leakage(one, training, testing, legacy_ppmtf=legacy_ppmtf) for one in made]
            found = [one | other for one, other in zip(found, privacy, strict=True)]
    found = [{"file": str(path)} | one for path, one in zip(synthetic, found, strict=True)]
    found, base = replace_undefined(found), replace_undefined(base)
    if as_json:
        result = found[0] | base if len(found) == 1 else {"synthetic": found} | base
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        _print_table(found, base)
        _print_notes(found, base, *sizes)


def _read_inputs(
    reading: ReadingOptions, sources: Sequence[Input], slots: str | None
) -> tuple[Traces, Traces, list[Traces]]:
    from tracearena.io import ppmtf
    from tracearena.jobs import pairs

    train, test, *synthetic = sources
    if train.format == "ppmtf":
        # Synthetic traces of the PPMTF tools go by the clock of the training traces.
        training, testing = (reading.read_events(one, quietly=True).traces for one in (train, test))
        if slots is not None:
            training, testing = (traces.with_slots(slots) for traces in (training, testing))
        made = [ppmtf.read_synthetic(path, training.places, training.clock).traces for path in synthetic]
        return training, testing, made
    first = reading.read_events(train)
    others = [(one.path, reading.read_alike(one, first)) for one in (test, *synthetic)]
    training, testing, *made = pairs.use_common_places([(train.path, first), *others])
    if slots is not None:
        training, testing = (traces.with_slots(slots) for traces in (training, testing))
        # Days of synthetic traces are numbers: the first is of the kind of the first day of training.
        made = [traces.with_slots(training.clock) for traces in made]
    return training, testing, made


def _evaluate_trips(
    reading: ReadingOptions,
    sources: Sequence[Input],
    bounds: str | None,
    against: UtilityReference,
    as_json: bool,
) -> None:
    """Compare synthetic GPS trips with those of other people, and the real ones with each other."""
    import json

    from tracearena.errors import FileError, ParameterError
    from tracearena.metrics.trips import compare_trips, summarise_trips
    from tracearena.mobility.trips import cut_trips
    from tracearena.traces import Box

    if bounds is None:
        raise ParameterError("GPS trips need --bounds, the box in which they are compared, or --grid")
    box, summaries = Box.parse(bounds), []
    for source in sources:
        trips = cut_trips(reading.read_points(source).traces, box)
        if not len(trips):
            raise FileError.whole(source.path, f"has no trip of ten minutes in the box {box}", "no-trips")
        summaries.append(summarise_trips(trips, box))
    training, testing, *made = summaries
    is_testing = against is UtilityReference.testing
    reference, other = (testing, training) if is_testing else (training, testing)
    found: list[dict[str, Any]] = [
        {"file": str(source.path), "trips": len(one.lengths)} | compare_trips(reference, one).to_dict()
        for source, one in zip(sources[2:], made, strict=True)
    ]
    real: dict[str, Any] = {"trips": len(other.lengths)} | compare_trips(reference, other).to_dict()
    name = "training" if is_testing else "testing"
    if as_json:
        shown = found[0] if len(found) == 1 else {"synthetic": found}
        typer.echo(json.dumps(shown | {name: real}, allow_nan=False))
        return
    columns = [*((Path(str(one["file"])).name, one) for one in found), (name, real)]
    typer.echo(" " * 14 + "".join(f"  {title:>12}" for title, _ in columns))
    for key in real:
        cells = (f"{one[key]:,}" if key == "trips" else f"{one[key]:.6f}" for _, one in columns)
        wide = (max(12, len(title)) for title, _ in columns)
        row = "".join(f"  {cell:>{size}}" for cell, size in zip(cells, wide, strict=True))
        typer.echo(f"{key.replace('_', ' '):<14}{row}")
    typer.echo(f"\n{name}: the real trips of other people; a synthesizer can hardly be nearer")


class _Measure(NamedTuple):
    """How utility is measured: in which area, against which traces, and whether also exactly."""

    city: Box | None
    against: Literal["testing", "training"]
    exactly: bool

    def utility(
        self, training: Countable, testing: Countable, made: Sequence[Countable]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the utility of each file of synthetic traces, and the baselines."""
        from tracearena.arena.evaluation import (
            compare_user_halves,
            measure_baselines,
            measure_utility,
            select_comparison,
            worse_than_uniform,
        )

        counts = training.count_events(), testing.count_events()
        other, reference = select_comparison(*counts, self.against)
        found = []
        for one in made:
            days = one.count_events(by_day=True)
            utility = measure_utility(days, other, reference, self.city)
            found.append(utility.to_dict() | self._exact(reference, days))
        limits = measure_baselines(*counts, bounds=self.city, against=self.against)
        base: dict[str, Any] = {
            name: utility.to_dict() | self._exact(reference, real)
            for (name, utility), real in zip(limits.items(), (other, None), strict=True)
        }
        halves = compare_user_halves(training, *counts, bounds=self.city)
        base["halves"] = None if halves is None else halves.to_dict()
        base["worse_than_uniform"] = worse_than_uniform(limits)
        return found, base

    def _exact(self, reference: TraceCounts, traces: TraceCounts | None) -> dict[str, float]:
        """Return the exact distance of moves, if it is wanted."""
        from tracearena.metrics.transport import matrix_emd

        if not self.exactly:
            return {}
        truth = reference.on_day(0).moves
        days = [reference.uniform()] if traces is None else traces.days()
        apart = matrix_emd(reference.places, truth, (day.moves for day in days), bounds=self.city)
        return {"tm_emd_exact": apart}


def _print_table(found: list[dict[str, Any]], base: dict[str, Any]) -> None:
    """Print one column per file, and the baselines next to them."""
    columns = [(Path(one["file"]).name, one) for one in found]
    columns += [(name, base[name]) for name in list(base)[:2]]
    texts = []
    for name, one in columns:
        values = ((key, one.get(key)) for key in found[0])
        texts.append(
            (name, {key: f"{value:.6f}" if isinstance(value, float) else "-" for key, value in values})
        )
    halves = base["halves"]
    if halves is not None:
        cells = {
            key: "-" if value is None else f"{value:.6f} ± {halves['spread'][key]:.6f}"
            for key, value in halves["mean"].items()
        }
        texts.append(("halves", cells))
    labels = {key: key.replace("_", " ") for key in list(found[0])[1:]}
    if "membership_accuracy_guess" in labels:
        labels["membership_accuracy_guess"] = "  that of guessing"
    width = max(map(len, labels.values()))
    wide = [max(12, len(name), *map(len, cells.values())) for name, cells in texts]
    typer.echo(
        " " * width + "".join(f"  {name:>{size}}" for (name, _), size in zip(texts, wide, strict=True))
    )
    for key, label in labels.items():
        row = [(one.get(key, "-"), size) for (_, one), size in zip(texts, wide, strict=True)]
        typer.echo(f"{label:<{width}}" + "".join(f"  {cell:>{size}}" for cell, size in row))


def _print_notes(found: list[dict[str, Any]], base: dict[str, Any], trained: int, tested: int) -> None:
    """Print what the baselines mean, and warn of numbers above that do not mean much."""
    halves = base["halves"]
    real = next(iter(base))
    sizes = {"training": trained, "testing": tested}
    other = "testing" if real == "training" else "training"
    typer.echo(
        f"\n{real}, uniform: against the {sizes[other]:,} {other} users; {real} has {sizes[real]:,} users"
    )
    if halves is not None:
        one, other = halves["users"]
        typer.echo(
            f"halves: {one:,} random training users against the other {other:,}, mean ± standard deviation "
            f"of {halves['halvings']} splits: the difference that chance alone makes between samples of this "
            f"size. Between {trained:,} training and {tested:,} testing users it is "
            f"{'smaller' if 1 / trained + 1 / tested < 1 / one + 1 / other else 'larger'}"
        )
    for name in base["worse_than_uniform"]:
        typer.echo(
            f"{name.replace('_', ' ')}: the {real} data itself ({base[real][name]:.6f}) is no better "
            f"than uniform places ({base['uniform'][name]:.6f}), because there are few events per place: "
            "compare with halves, not with uniform"
        )
    for one in found:
        accuracy = one.get("membership_accuracy")
        if accuracy is not None and accuracy <= one["membership_accuracy_guess"] + 1e-9:
            typer.echo(
                f"{Path(one['file']).name}: membership accuracy {accuracy:.6f} is no better than always "
                "answering the larger group; use the membership advantage instead"
            )
