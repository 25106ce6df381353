"""``tracearena similarity`` and ``tracearena lbs``.

How alike the users of two files are, in place and in kind; and how well people hide among fakes from a
location-based service.
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
    """What it costs to be at another place."""

    hamming = "hamming"
    ground = "ground"


@reads_traces()
def similarity(
    reading: ReadingOptions,
    context: typer.Context,
    first: Annotated[Path, typer.Argument(metavar="A", help="Traces, real or synthetic.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Traces of users with the same ids.")],
    order: Annotated[
        int, typer.Option("--order", min=0, max=1, help="0 compares visits, 1 where people go next.")
    ] = 0,
    periods: Annotated[int, typer.Option("--periods", min=1, help="Time periods of a day.")] = 1,
    distance: Annotated[
        Distance,
        typer.Option(
            "--distance", help="hamming: the same place or not; ground: km (needs tracearena[emd])."
        ),
    ] = Distance.hamming,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV with the similarities of each pair of users.")
    ] = None,
    cluster: ClusterOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare each user of A with the user of B who has the same id: from 0 to 1, 1 is alike."""
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
        raise DataError("no user of A has the id of a user of B")
    a, b = a.take_users(in_a), b.take_users(in_b)
    profiles = [mobility.MobilityProfiles.of(traces, periods) for traces in (a, b)]
    table = None
    if distance is Distance.ground:
        largest = float(a.places.distance_table_km.max())
        table = a.places.distance_table_km / (largest or 1.0)
    used = choose_seed(seed) if order == 1 else None
    with show_progress("pairs of users", cluster=join_cluster(context, cluster)):
        near = metrics.geographic_similarity(*profiles, order=order, distance=table)  # type: ignore[arg-type]
        alike = metrics.semantic_similarity(*profiles, order=order, seed=used)  # type: ignore[arg-type]
    if out is not None:
        rows = zip(a.user_ids.tolist(), near.tolist(), alike.tolist(), strict=True)
        write_csv(out, ["user", "geographic", "semantic"], rows)
    result: dict[str, Any] = {"users": a.n_users, "order": order, "periods": periods}
    result |= {"distance": distance.value, "geographic": float(near.mean()), "semantic": float(alike.mean())}
    print_result(result | ({} if out is None else {"file": str(out)}), as_json)


class FakeMethod(StrEnum):
    """Where the fakes come from."""

    sglt = "sglt"
    uniform = "uniform"
    aggregate = "aggregate"
    walk = "walk"
    own_walk = "own-walk"


class Attacker(StrEnum):
    """What the attacker knows."""

    population = "population"
    generator = "generator"


@reads_traces()
def lbs(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces, of any format.")],
    fakes: Annotated[int, typer.Option("--fakes", min=1, help="Fakes sent beside the real place.")] = 10,
    exposure: Annotated[
        float, typer.Option("--exposure", help="Chance that a place is sent, above 0 and at most 1.")
    ] = 0.3,
    method: Annotated[
        FakeMethod,
        typer.Option(
            "--method",
            help="sglt; every instant by itself (uniform, aggregate); a random walk as everybody moves "
            "(walk) or as the user herself moves (own-walk).",
        ),
    ] = FakeMethod.sglt,
    classes: Annotated[
        int | None, typer.Option("--classes", help="Semantic classes; the best number if omitted.")
    ] = None,
    attacker: Annotated[
        Attacker,
        typer.Option(
            "--attacker",
            help="What he knows: how the population moves, or how the generator's fakes move as well.",
        ),
    ] = Attacker.population,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hide people among fakes and let an attacker look for them.

    Everybody knows the first half of the days (all of them if there is only one); people hide and
    the attacker tracks them on the rest. Privacy is the share of the places sent that he misses
    (1 is best); different places and classes sent at once are the price.
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
