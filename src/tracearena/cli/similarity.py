"""``tracearena similarity`` and ``tracearena lbs``.

``similarity`` compares the users of two files, by their places and by the semantics of their visits; ``lbs``
measures how well people hide among fakes from a location-based service.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena import mobility
from tracearena.cli._output import ClusterOption, JsonOption, SeedOption, join_cluster, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.feedback import show_progress
from tracearena.jobs.outputs import choose_seed
from tracearena.jobs.reading import ReadingOptions


class Distance(StrEnum):
    """Costs of being at another place."""

    hamming = "hamming"
    ground = "ground"
    category = "category"


@reads_traces()
def similarity(
    reading: ReadingOptions,
    context: typer.Context,
    first: Annotated[Path, typer.Argument(metavar="A", help="Traces, real or synthetic.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Traces of users with the same ids.")],
    order: Annotated[
        int, typer.Option("--order", min=0, max=1, help="0 compares visits, 1 compares transitions.")
    ] = 0,
    periods: Annotated[
        str,
        typer.Option(
            "--periods",
            help="Time periods of a day: how many, or the hours at which they begin, such as 6-12-18-22.",
        ),
    ] = "1",
    distance: Annotated[
        Distance,
        typer.Option(
            "--distance",
            help="Distance of places: hamming (0 or 1), ground (km), or category (0 within a category, else "
            "1); the last two need tracearena[emd].",
        ),
    ] = Distance.hamming,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV file for the similarities of each pair of users.")
    ] = None,
    cluster: ClusterOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare each user of A with the user of B who has the same id; 1 means equal, 0 different.

    Example:
      tracearena similarity real.csv synthetic.csv --order 1
    """
    import numpy as np

    from tracearena.errors import DataError
    from tracearena.files import write_csv
    from tracearena.io import Reading, Report, ppmtf
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.jobs.pairs import use_common_places
    from tracearena.metrics import similarity as metrics

    check_same_numbers(first, second)
    one = reading.read_events(first)
    source = reading.open(second)
    if source.is_synthetic:
        # Synthetic traces of the PPMTF tools go by the clock of the first file.
        made = ppmtf.read_synthetic(second, one.traces.places, one.traces.clock).traces
        other = Reading(made, Report(str(second), "ppmtf", made.n_events))
    else:
        other = reading.read_alike(source, one)
    a, b = use_common_places([(first, one), (second, other)])
    ids, in_a, in_b = np.intersect1d(a.user_ids, b.user_ids, return_indices=True)
    if not len(ids):
        raise DataError("A and B have no user id in common")
    a, b = a.take_users(in_a), b.take_users(in_b)
    chosen = int(periods) if periods.isdecimal() else periods
    profiles = [mobility.MobilityProfiles.of(traces, chosen) for traces in (a, b)]
    table = None
    if distance is Distance.ground:
        largest = float(a.places.distance_table_km.max())
        table = a.places.distance_table_km / (largest or 1.0)
    elif distance is Distance.category:
        if a.places.categories is None:
            raise DataError(f"{first}: its places have no categories, which --distance category compares")
        table = (a.places.categories[:, None] != a.places.categories[None, :]).astype(np.float64)
    used = choose_seed(seed) if order == 1 else None
    with show_progress("pairs of users", cluster=join_cluster(context, cluster)):
        near = metrics.geographic_similarity(*profiles, order=order, distance=table)  # type: ignore[arg-type]
        alike = metrics.semantic_similarity(*profiles, order=order, seed=used)  # type: ignore[arg-type]
    if out is not None:
        rows = zip(a.user_ids.tolist(), near.tolist(), alike.tolist(), strict=True)
        write_csv(out, ["user", "geographic", "semantic"], rows)
    result: dict[str, Any] = {"users": a.n_users, "order": order, "periods": chosen}
    result |= {"distance": distance.value, "geographic": float(near.mean()), "semantic": float(alike.mean())}
    print_result(result | ({} if out is None else {"file": str(out)}), as_json)


class FakeMethod(StrEnum):
    """Generators of fakes."""

    sglt = "sglt"
    uniform = "uniform"
    aggregate = "aggregate"
    walk = "walk"
    own_walk = "own-walk"


class Attacker(StrEnum):
    """Knowledge of the attacker."""

    population = "population"
    generator = "generator"


@reads_traces()
def lbs(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces in any format.")],
    fakes: Annotated[
        int, typer.Option("--fakes", min=1, help="Number of fakes sent with each real place.")
    ] = 10,
    exposure: Annotated[
        float, typer.Option("--exposure", help="Probability that a place is sent, above 0 and at most 1.")
    ] = 0.3,
    method: Annotated[
        FakeMethod,
        typer.Option(
            "--method",
            help="Generator of fakes: sglt; independent places (uniform, aggregate); or a random walk with "
            "the transitions of everybody (walk) or of the user (own-walk).",
        ),
    ] = FakeMethod.sglt,
    classes: Annotated[
        int | None, typer.Option("--classes", help="Number of semantic classes. By default the best number.")
    ] = None,
    attacker: Annotated[
        Attacker,
        typer.Option(
            "--attacker",
            help="Knowledge of the attacker: how the population moves, or also how the generator makes "
            "fakes.",
        ),
    ] = Attacker.population,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hide the requests of people among fakes, and measure how often an attacker finds them.

    The first half of the days is public (all of them if there is only one day); on the rest people send fakes
    and the attacker tracks them. Privacy is the share of sent places that the attacker misses (1 is best).
    Its cost is the number of different places and classes sent at once.

    Example:
      tracearena lbs trips.csv --grid 32x32 --fakes 10
    """
    from tracearena.arena import hide_from_service, location_classes
    from tracearena.engine import child_seed, seed_sequence
    from tracearena.obfuscation.fakes import FakeTraces

    defence = FakeTraces(method=method.value, fakes=fakes, exposure=exposure, classes=classes)
    traces, _ = reading.read_events(file)
    root = seed_sequence(choose_seed(seed))
    length = traces.clock.instants_per_day
    days = -(-traces.span[1] // length) - traces.span[0] // length
    training, original = (traces, traces) if days < 2 else traces.split_days(days // 2)
    kinds = location_classes(training, classes, seed=child_seed(root, 0))
    result = hide_from_service(
        training, original, defence, kinds, knows=attacker.value, seed=child_seed(root, 1)
    )
    print_result({"users": original.n_users, "classes": len(kinds)} | result.to_dict(), as_json)
