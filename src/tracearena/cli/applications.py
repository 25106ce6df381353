"""``tracearena applications``: what released GPS data is still good for, and what it gives away."""

from __future__ import annotations

import importlib.util
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena import arena, jobs
from tracearena.cli._output import ClusterOption, JsonOption, SeedOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note, show_unsaved_progress
from tracearena.jobs.outputs import choose_seed
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions

OriginalOption = Annotated[
    Path,
    typer.Option("--original", help="Original GPS traces: GeoLife folder or archive, GPX, CSV, Parquet."),
]

ReleasedOption = Annotated[Path, typer.Option("--released", help="What is released of them.")]

IdTableOption = Annotated[
    Path | None,
    typer.Option(
        "--id-table",
        help="Who is who (CSV pse_id,user_id), where the release has pseudonyms; kept secret by its owner.",
    ),
]


def register_applications(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="What released GPS data is still good for, and what it gives away.", no_args_is_help=True
    )
    for command in (hotspots, gossip, uniqueness, homes, zones, deanonymise, error):
        group.command()(command)
    app.add_typer(group, name="applications")


@reads_traces(without=EVENTS_ONLY)
def hotspots(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    box: Annotated[
        str | None,
        typer.Option(
            "--box",
            metavar="S,W,N,E",
            help="Area in degrees; all points and 2 km around, or the densest 22 km where that is too large.",
        ),
    ] = None,
    expected_noise: Annotated[
        str | None,
        typer.Option("--expected-noise", help="Such as 100m; measured between the two if omitted."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=0, help="Most rounds of the Bayesian update.")] = 50,
    threshold: Annotated[float, typer.Option("--threshold", help="Stop below this L1 change.")] = 1e-8,
    margin: Annotated[
        float,
        typer.Option(
            "--margin-km",
            help="Count released points so far around the area too, instead of heaping them on its border.",
        ),
    ] = 0.0,
    id_table: IdTableOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Place hotspots by the released points and count the original points they serve."""
    from tracearena.metrics.applications.networks import measure_hotspots_in_chunks
    from tracearena.traces import Box

    area = None if box is None else Box.parse(box, "--box")
    noise = None if expected_noise is None else _parse_metres(expected_noise)
    files = jobs.ReleasePair(original, released, id_table)
    by_id = id_table is not None or noise is None
    with jobs.open_release_pair(reading, files, "hotspots", cluster=cluster, by_id=by_id) as walk:
        result = measure_hotspots_in_chunks(
            walk,
            area=area,
            expected_noise_m=noise,
            rounds=rounds,
            threshold=threshold,
            margin_km=margin,
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY)
def gossip(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    slot: Annotated[float, typer.Option("--slot", help="Length of a slot in seconds.")] = 5.0,
    radius: Annotated[float, typer.Option("--range", help="Who is nearer than this meets, metres.")] = 50.0,
    as_json: JsonOption = False,
) -> None:
    """Spread a message from every user, in the released traces and (baseline) in the original."""
    from tracearena.metrics import applications

    both = jobs.ReleasePair(original, released, None).read(reading)
    with show_unsaved_progress("meetings"):
        before, after = (applications.gossip(one, slot_s=slot, range_m=radius) for one in both)
    result = after.to_dict() | {
        "baseline": before.infection_rate,
        "baseline_others_reached": before.others_reached,
        "baseline_latency_s": before.latency_s(),
    }
    print_result(result, as_json)


@reads_traces(without=EVENTS_ONLY)
def uniqueness(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    side: Annotated[float, typer.Option("--side", help="Precision of a known place, metres.")] = 250.0,
    window: Annotated[float, typer.Option("--window", help="Precision of a known time, seconds.")] = 3600.0,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Draws a user.")] = 100,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="The defence, if the attacker knows it: 'GeoInd(500m, 5min)', 'Thin(60s)', 'Snap(500m)'; "
            "the size of its noise is measured between the two files if omitted.",
        ),
    ] = None,
    expected_noise: Annotated[
        str | None,
        typer.Option("--expected-noise", help="Such as 500m: short for --mechanism 'GeoInd(500m)'."),
    ] = None,
    id_table: IdTableOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how often 1 to 5 points single a user out, and how often they find the user in the release."""
    from tracearena.algorithms import catalogue

    files = jobs.ReleasePair(original, released, id_table)
    who = files.read_user_mapping()
    known = None if mechanism is None else catalogue.create(mechanism, "gps-obfuscator")
    noise = None if expected_noise is None else _parse_metres(expected_noise)
    used = choose_seed(seed)
    both = files.read(reading)
    with show_unsaved_progress("users"):
        result = arena.uniqueness(
            *both,
            side_m=side,
            window_s=window,
            draws=draws,
            mechanism=known,
            expected_noise_m=noise,
            id_table=who,
            seed=used,
        )
    if result.strangers:
        note(
            f"{result.strangers:,} of {result.candidates:,} released users have ids that the original lacks: "
            "they are candidates, and nobody's points were looked for in them"
        )
    if result.not_released:
        note(
            f"{result.not_released:,} of {result.users:,} users have nothing under their ids in the release: "
            "they count as not linked"
        )
    most = max(result.linked)
    note(
        f"linked: {most} points find {result.linked[most]:.1%} of {result.users:,} users among "
        f"{result.candidates:,} candidates (chance alone {result.chance:.2%}); stronger attacks may find more"
    )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY)
def homes(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    within: Annotated[float, typer.Option("--within", help="A place this near is found, metres.")] = 200.0,
    local: Annotated[
        str | None,
        typer.Option("--local-time", help="Zone of people's days and nights; by the sun if omitted."),
    ] = None,
    id_table: IdTableOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find homes and workplaces before and after, and compare them."""
    from tracearena.metrics.applications.homes import compare_homes_in_chunks

    files = jobs.ReleasePair(original, released, id_table)
    with jobs.open_release_pair(reading, files, "homes", cluster=cluster) as walk:
        result = compare_homes_in_chunks(walk, timezone=local, within_m=within)
    for what, users, found, chance, error in (
        ("home", result.users_with_home, result.home_found, result.home_chance, result.home_error_m),
        ("work", result.users_with_work, result.work_found, result.work_chance, result.work_error_m),
    ):
        if found is None:
            note(f"{what}: the original tells nobody's, so nothing was tried")
            continue
        guess = "" if chance is None else f"; another user's would be as near for {chance:.1%}"
        off = "the release tells nobody's"
        if error is not None:
            off = f"half of them are off by less than {error:,.0f} m"
        note(
            f"{what}: the densest spot in the release is within {within:g} m for {found:.1%} of {users:,} "
            f"users{guess}; {off}"
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY)
def zones(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism", help="The defence, which the attacker knows: 'Zones(500m)', 'TrimEnds(300m)'."
        ),
    ],
    within: Annotated[float, typer.Option("--within", help="A guess this near is right, metres.")] = 100.0,
    local: Annotated[
        str | None,
        typer.Option("--local-time", help="Zone of people's nights; by the sun if omitted."),
    ] = None,
    id_table: IdTableOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find homes behind privacy zones and trimmed ends, from where trips stop."""
    from tracearena.algorithms import catalogue
    from tracearena.arena.experiments import find_homes_in_walk, zone_circle

    known = catalogue.create(mechanism, "gps-obfuscator")
    zone_circle(known)
    files = jobs.ReleasePair(original, released, id_table)
    with jobs.open_release_pair(reading, files, "users", cluster=cluster) as walk:
        result = find_homes_in_walk(walk, mechanism=known, within_m=within, timezone=local)
    if result.home_found is None:
        note("home: the original tells nobody's, so nothing was tried")
    else:
        note(
            f"home: circles fitted to the ends of trips find it within {result.within_m:g} m for "
            f"{result.home_found:.1%} of {result.users_with_home:,} users; who knows the map may find more"
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY)
def error(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    id_table: IdTableOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how far released points are from the original ones."""
    from tracearena.metrics.applications.error import measure_error_in_chunks

    files = jobs.ReleasePair(original, released, id_table)
    with jobs.open_release_pair(reading, files, "points", cluster=cluster) as walk:
        result = measure_error_in_chunks(walk)
    print_result(result.to_dict(), as_json)


def _parse_metres(text: str) -> float:
    from tracearena.algorithms import spec

    value: object = None
    if text.strip() and not set(",=") & set(text):
        _, (value,), _ = spec.parse(f"noise({text})")
    in_metres = not isinstance(value, spec.Quantity) or value.base == "m"
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (in_metres and 0 < value <= 1e6):
        raise ParameterError.of(
            "--expected-noise", text, "a distance such as 100m or 0.5km, at most 1,000 km"
        )
    if not isinstance(value, spec.Quantity) and value < spec.SMALLEST_BARE:
        raise ParameterError(f"--expected-noise {text} would mean {text} m: write {text}m, or {text}km")
    return float(value)


class DeanonymisationMethod(StrEnum):
    """Who answers."""

    forest = "forest"
    lstm = "lstm"


@reads_traces(without=EVENTS_ONLY)
def deanonymise(
    reading: ReadingOptions,
    released: Annotated[Path, typer.Option("--released", help="Released GPS traces under their true ids.")],
    method: Annotated[
        DeanonymisationMethod,
        typer.Option("--method", help="forest, or the paper's network lstm (needs tracearena[neural])."),
    ] = DeanonymisationMethod.forest,
    targets: Annotated[
        int, typer.Option("--targets", min=1, help="Users to tell apart; all others are one class.")
    ] = 10,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn some trajectories of everybody, and ask who moved on the others.

    Beside the share of right answers stand that of always answering the largest class, and the balanced
    accuracy, in which every class counts alike: 1 / classes is what one answer for all gets.
    """
    from tracearena.attacks import deanonymisation

    if method is DeanonymisationMethod.lstm and importlib.util.find_spec("torch") is None:
        raise ParameterError("--method lstm needs PyTorch: install tracearena[neural], or take the forest")
    is_lstm = method is DeanonymisationMethod.lstm
    classifier: arena.Classifier = (
        deanonymisation.LstmClassifier() if is_lstm else deanonymisation.WindowForest()
    )
    used = choose_seed(seed)
    traces = jobs.read_gps_traces(reading, released)
    with show_unsaved_progress("windows"):
        result = arena.deanonymise(traces, classifier, targets=targets, seed=used)
    note(
        f"{method.value}: {result.accuracy:.1%} of {result.test_windows:,} windows right, always the largest "
        f"class {result.most_frequent:.1%}; balanced {result.balanced_accuracy:.1%}, one answer for all "
        f"{result.balanced_guess:.1%}"
    )
    print_result({"method": method.value} | result.to_dict(), as_json)
