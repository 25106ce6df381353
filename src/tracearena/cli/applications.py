"""``tracearena applications``: what released GPS traces are still useful for, and what they reveal."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena import arena, jobs
from tracearena.cli._output import ClusterOption, JsonOption, SeedOption, add_group, print_result
from tracearena.cli._reading import reads_traces
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note, show_unsaved_progress
from tracearena.jobs.outputs import choose_seed
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions

OriginalOption = Annotated[
    Path,
    typer.Option("--original", help="Original GPS traces: GeoLife folder or archive, GPX, CSV or Parquet."),
]
ReleasedOption = Annotated[Path, typer.Option("--released", help="Released GPS traces of the same users.")]
WithinOption = Annotated[
    float, typer.Option("--within", help="A place this close counts as found, in metres.")
]
LocalTimeOption = Annotated[
    str | None,
    typer.Option("--local-time", help="Time zone of days and nights. By default local solar time."),
]


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """An original and a release of it."""

    original: OriginalOption
    released: ReleasedOption
    id_table: Annotated[
        Path | None,
        typer.Option(
            "--id-table",
            help="Secret table of true identities (CSV pse_id,user_id), if the release has pseudonyms.",
        ),
    ] = None

    @property
    def files(self) -> jobs.ReleasePair:
        """The same for a job."""
        return jobs.ReleasePair(self.original, self.released, self.id_table)


def register_applications(app: typer.Typer) -> None:
    """Add the commands."""
    commands = (hotspots, gossip, uniqueness, homes, zones, deanonymise, error)
    add_group(
        app,
        "applications",
        "Measure what released GPS traces are still useful for, and what they reveal.",
        "tracearena applications homes --original org.zip --released released.csv",
        {one.__name__: one for one in commands},
        panels={
            "Usefulness": ("hotspots", "gossip", "error"),
            "What the release reveals": ("uniqueness", "homes", "zones", "deanonymise"),
        },
    )


@reads_traces(without=EVENTS_ONLY, others={"pair": PairOptions})
def hotspots(
    reading: ReadingOptions,
    pair: PairOptions,
    box: Annotated[
        str | None,
        typer.Option(
            "--box",
            metavar="S,W,N,E",
            help="Area in degrees. By default all points with a margin of 2 km, or the densest 22 km if that "
            "is too large.",
        ),
    ] = None,
    expected_noise: Annotated[
        str | None,
        typer.Option(
            "--expected-noise",
            help="Mean distance between released and original points, such as 100m. By default it is "
            "measured between the two files.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=0, help="Largest number of Bayesian updates.")] = 50,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Stop when an update changes less than this (L1 distance).")
    ] = 1e-8,
    margin: Annotated[
        float,
        typer.Option(
            "--margin-km",
            help="Count released points up to this many km outside the area where they lie, instead of "
            "moving them to its border.",
        ),
    ] = 5.0,
    parts: Annotated[
        int,
        typer.Option(
            "--parts",
            help="Parts along the side of a cell that are updated separately: with many, coordinates are "
            "updated, as in the paper.",
        ),
    ] = 1,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Place hotspots where released points are dense, and count the original points near them.

    Example:
      tracearena applications hotspots --original org.zip --released released.csv
    """
    from tracearena.metrics.applications.networks import measure_hotspots_in_chunks
    from tracearena.traces import Box

    area = None if box is None else Box.parse(box, "--box")
    noise = _parse_metres(expected_noise)
    by_id = pair.id_table is not None or noise is None
    with jobs.open_release_pair(reading, pair.files, "hotspots", cluster=cluster, by_id=by_id) as walk:
        result = measure_hotspots_in_chunks(
            walk,
            area=area,
            expected_noise_m=noise,
            rounds=rounds,
            threshold=threshold,
            margin_km=margin,
            parts=parts,
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY)
def gossip(
    reading: ReadingOptions,
    original: OriginalOption,
    released: ReleasedOption,
    slot: Annotated[float, typer.Option("--slot", help="Length of a time slot in seconds.")] = 5.0,
    radius: Annotated[float, typer.Option("--range", help="Users closer than this meet, in metres.")] = 50.0,
    as_json: JsonOption = False,
) -> None:
    """Spread a message from every user by meetings, in the released and in the original traces.

    Example:
      tracearena applications gossip --original org.zip --released released.csv
    """
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


@reads_traces(without=EVENTS_ONLY, others={"pair": PairOptions})
def uniqueness(
    reading: ReadingOptions,
    pair: PairOptions,
    side: Annotated[float, typer.Option("--side", help="Precision of a known place in metres.")] = 250.0,
    window: Annotated[float, typer.Option("--window", help="Precision of a known time in seconds.")] = 3600.0,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Draws per user.")] = 100,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Defence that the attacker knows: 'GeoInd(500m, 5min)', 'Thin(60s)' or 'Snap(500m)'. By "
            "default the size of the noise is measured between the two files.",
        ),
    ] = None,
    expected_noise: Annotated[
        str | None,
        typer.Option(
            "--expected-noise", help="Mean noise, such as 500m: short for --mechanism 'GeoInd(500m)'."
        ),
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how often 1 to 5 known points single a user out, and find that user in the release.

    Example:
      tracearena applications uniqueness --original org.zip --released released.csv
    """
    from tracearena.algorithms import catalogue

    files = pair.files
    who = files.read_user_mapping()
    known = None if mechanism is None else catalogue.create(mechanism, "gps-obfuscator")
    noise = _parse_metres(expected_noise)
    if noise is not None:
        if known is not None:
            raise ParameterError("give either --mechanism or --expected-noise")
        known = catalogue.create(f"GeoInd({noise!r}m)", "gps-obfuscator")
    used = choose_seed(seed)
    both = files.read(reading)
    with show_unsaved_progress("users"):
        result = arena.uniqueness(
            *both,
            precision=arena.Precision(side, window),
            draws=draws,
            mechanism=known,
            id_table=who,
            seed=used,
        )
    if result.strangers:
        note(
            f"{result.strangers:,} of {result.candidates:,} released users are not in the original: they are "
            "only candidates for the points of others"
        )
    if result.not_released:
        note(
            f"{result.not_released:,} of {result.users:,} users have no points in the release: they count as "
            "not linked"
        )
    most = max(result.linked)
    note(
        f"linked: {most} points find {result.linked[most]:.1%} of {result.users:,} users among "
        f"{result.candidates:,} candidates (chance alone {result.chance:.2%}); stronger attacks may find more"
    )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY, others={"pair": PairOptions})
def homes(
    reading: ReadingOptions,
    pair: PairOptions,
    within: WithinOption = 200.0,
    local: LocalTimeOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find homes and workplaces in the original and in the released traces, and compare them.

    Example:
      tracearena applications homes --original org.zip --released released.csv
    """
    from tracearena.metrics.applications.homes import compare_homes_in_chunks

    with jobs.open_release_pair(reading, pair.files, "homes", cluster=cluster) as walk:
        result = compare_homes_in_chunks(walk, timezone=local, within_m=within)
    for what, users, found, chance, error in (
        ("home", result.users_with_home, result.home_found, result.home_chance, result.home_error_m),
        ("work", result.users_with_work, result.work_found, result.work_chance, result.work_error_m),
    ):
        if found is None:
            note(f"{what}: none was found in the original traces, so there was nothing to look for")
            continue
        guess = "" if chance is None else f" (that of another user for {chance:.1%})"
        off = "none was found in the release"
        if error is not None:
            off = f"the median error is {error:,.0f} m"
        note(
            f"{what}: the densest spot in the release is within {within:g} m for {found:.1%} of {users:,} "
            f"users{guess}; {off}"
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY, others={"pair": PairOptions})
def zones(
    reading: ReadingOptions,
    pair: PairOptions,
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism", help="Defence that the attacker knows: 'Zones(500m)' or 'TrimEnds(300m)'."
        ),
    ],
    within: WithinOption = 100.0,
    local: LocalTimeOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find homes behind privacy zones and trimmed ends, from the points where trips are cut.

    Example:
      tracearena applications zones --original org.zip --released released.csv \\
          --mechanism "Zones(500m)"
    """
    from tracearena.algorithms import catalogue
    from tracearena.arena.experiments import find_homes_in_walk, zone_circle

    known = catalogue.create(mechanism, "gps-obfuscator")
    zone_circle(known)
    with jobs.open_release_pair(reading, pair.files, "users", cluster=cluster) as walk:
        result = find_homes_in_walk(walk, mechanism=known, within_m=within, timezone=local)
    if result.home_found is None:
        note("home: none was found in the original traces, so there was nothing to look for")
    else:
        note(
            f"home: circles fitted to the ends of trips find it within {result.within_m:g} m for "
            f"{result.home_found:.1%} of {result.users_with_home:,} users; an attacker with a street map may "
            "find more"
        )
    print_result(result.to_dict(), as_json)


@reads_traces(without=EVENTS_ONLY, others={"pair": PairOptions})
def error(
    reading: ReadingOptions,
    pair: PairOptions,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the distance between released points and the original ones.

    Example:
      tracearena applications error --original org.zip --released released.csv
    """
    from tracearena.metrics.applications.error import measure_error_in_chunks

    with jobs.open_release_pair(reading, pair.files, "points", cluster=cluster) as walk:
        result = measure_error_in_chunks(walk)
    print_result(result.to_dict(), as_json)


def _parse_metres(text: str | None) -> float | None:
    from tracearena.algorithms import spec

    if text is None:
        return None
    value: object = None
    if text.strip() and not set(",=") & set(text):
        _, (value,), _ = spec.parse(f"noise({text})")
    in_metres = not isinstance(value, spec.Quantity) or value.base == "m"
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not (in_metres and 0 < value <= 1e6):
        raise ParameterError.of(
            "--expected-noise", text, "a distance such as 100m or 0.5km, at most 1,000 km"
        )
    if not isinstance(value, spec.Quantity) and value < spec.SMALLEST_BARE:
        raise ParameterError(f"--expected-noise {text} has no unit: write {text}m or {text}km")
    return float(value)


class DeanonymisationMethod(StrEnum):
    """Classifiers for deanonymisation."""

    forest = "forest"
    lstm = "lstm"


@reads_traces(without=EVENTS_ONLY)
def deanonymise(
    reading: ReadingOptions,
    released: Annotated[Path, typer.Option("--released", help="Released GPS traces with true user ids.")],
    method: Annotated[
        DeanonymisationMethod,
        typer.Option(
            "--method", help="forest, or lstm, the network of the paper (needs tracearena[neural])."
        ),
    ] = DeanonymisationMethod.forest,
    targets: Annotated[
        int,
        typer.Option("--targets", min=1, help="Number of users to distinguish; all others form one class."),
    ] = 10,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a classifier on some trajectories of every user, and identify the users of the others.

    The result compares its accuracy with that of always answering the largest class. In the balanced accuracy
    every class has the same weight: one answer for all gets 1 / classes.

    Example:
      tracearena applications deanonymise --released released.csv --targets 20
    """
    from tracearena.attacks import deanonymisation

    if method is DeanonymisationMethod.lstm and importlib.util.find_spec("torch") is None:
        raise ParameterError(
            "--method lstm needs PyTorch: install tracearena[neural], or use --method forest"
        )
    is_lstm = method is DeanonymisationMethod.lstm
    classifier: arena.Classifier = (
        deanonymisation.LstmClassifier() if is_lstm else deanonymisation.WindowForest()
    )
    used = choose_seed(seed)
    traces = jobs.read_gps_traces(reading, released)
    with show_unsaved_progress("windows"):
        result = arena.deanonymise(traces, classifier, targets=targets, seed=used)
    note(
        f"{method.value}: accuracy {result.accuracy:.1%} on {result.test_windows:,} windows (always the "
        f"largest class: {result.most_frequent:.1%}); balanced accuracy {result.balanced_accuracy:.1%} (one "
        f"answer for all: {result.balanced_guess:.1%})"
    )
    print_result({"method": method.value} | result.to_dict(), as_json)
