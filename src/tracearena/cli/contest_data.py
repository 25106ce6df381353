"""What `contest data` learns from, and who makes its virtual users."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import note, show_progress
from tracearena.cli._reading import ReadingOptions
from tracearena.cli.synthesize import train_ppmtf

if TYPE_CHECKING:
    from tracearena.contest import ContestFile, ContestPlan
    from tracearena.contest.data import VirtualUserModel
    from tracearena.traces import Places, Traces


_NOTABLE = 0.02

WalkOption = Annotated[
    str,
    typer.Option(
        "--walk",
        help="Steps in which people walk: 5min, as in 2019. The interval of the traces, such as 30min, names "
        "the walk of earlier versions, a step an instant.",
    ),
]
ZerosOption = Annotated[
    str, typer.Option("--zeros", help="Zero cells that training takes: all, or sampled as in 2019.")
]
MinEventsOption = Annotated[
    int,
    typer.Option("--min-events", help="Learn from users with at least so many events; 10 in 2019."),
]
SensitiveOption = Annotated[
    str | None,
    typer.Option(
        "--sensitive",
        help="Regions with such a place in them are sensitive: category=hospital, of the places of IN or of "
        "--pois.",
    ),
]
PoisOption = Annotated[
    Path | None, typer.Option("--pois", help="File of places with categories, for --sensitive.")
]


def build_plan(charter: ContestFile, *, homes: bool = True, only_seen: bool = True) -> ContestPlan:
    """Return how many of what a contest's file asks for, if such data can be made."""
    from tracearena.contest import ContestPlan

    plan = ContestPlan.of(charter, homes=homes, only_seen=only_seen)
    plan.require_agreement(charter)
    return plan


def read_training_traces(reading: ReadingOptions, file: Path, reference: Path | None) -> Traces:
    """Read the traces to learn from, and more of the same users where there are any."""
    from tracearena.cli._compare import align_files
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.traces import Traces

    learned = reading.read_events(file)
    if reference is None:
        return learned.traces
    more = reading.read_alike(reference, learned).traces
    training, more = align_files((file, learned.traces), (reference, more))
    check_same_numbers(reference, file, users=(more.user_ids.tolist(), training.user_ids.tolist()))
    return Traces.concat([more, training])


def drop_small_users(training: Traces, least: int) -> Traces:
    """Leave out the users with fewer events, and say how many they are."""
    import numpy as np

    from tracearena.errors import DataError

    enough = np.flatnonzero(np.diff(training.offsets) >= least)
    left_out = training.n_users - len(enough)
    if not left_out:
        return training
    if not len(enough):
        most = int(np.diff(training.offsets).max(initial=0))
        raise DataError(f"--min-events {least}: no user has so many; the most is {most}")
    note(
        f"{left_out:,} of {training.n_users:,} users have fewer than {least} events and are not learned from"
    )
    return training.take_users(enough)


def mark_sensitive_regions(
    training: Traces, reading: ReadingOptions, file: Path, sensitive: str | None, pois: Path | None
) -> Traces:
    """Mark the regions with sensitive places in them, and say so if no region is sensitive."""
    from tracearena.contest import data as regions
    from tracearena.errors import DataError, ParameterError

    if sensitive is not None or pois is not None:
        if sensitive is None:
            raise ParameterError(
                "--pois: which of its places are sensitive? Say --sensitive category=hospital"
            )
        categories = regions.parse_categories(sensitive)
        where = pois or reading.places or file
        try:
            training = regions.mark_sensitive(
                training, regions.select_categories(_read_pois(reading, file, pois), categories)
            )
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
    if not training.places.sensitive.any():
        note(
            "no region is sensitive, and the larger weight of sensitive places does nothing: "
            "--sensitive and --pois name some"
        )
    return training


def _read_pois(reading: ReadingOptions, file: Path, pois: Path | None) -> Places:
    if pois is not None:
        from tracearena.io import read_places

        return read_places(pois)
    if reading.is_gps(file):
        from tracearena.errors import DataError

        raise DataError("GPS points have no categories; --pois names a file of places that have")
    own = replace(reading, grid=None, bounds=None, top=None)
    return own.read_events(file, quietly=True).traces.places


def write_people(
    folder: Path,
    training: Traces,
    charter: ContestFile,
    plan: ContestPlan,
    parameters: dict[str, Any],
    *,
    walk: str,
    model: Path | None,
    seed: int | None,
) -> dict[str, Any]:
    """Learn from traces, and write the folders of a contest; return the judge's manifest."""
    from tracearena import contest
    from tracearena.engine import child_seed, seed_sequence

    root = seed_sequence(seed)
    people, about = train_team_maker(
        training, plan, parameters, walk=walk, model=model, seed=child_seed(root, 0)
    )
    with show_progress("teams"):
        return contest.write_contest_data(
            folder,
            people,
            plan,
            charter=charter,
            seed=child_seed(root, 1),
            shuffle_seed=None if seed is None else child_seed(root, 2),
            about=about | {"seed": seed},
        )


def train_team_maker(
    training: Traces,
    plan: ContestPlan,
    parameters: dict[str, Any],
    *,
    walk: str,
    model: Path | None,
    seed: Any,
) -> tuple[VirtualUserModel, dict[str, Any]]:
    """Train on the traces; return what makes virtual users, and what the manifest says of it."""
    from tracearena.contest import contest_training
    from tracearena.contest.virtual_days import STEP_S, ShortWalk
    from tracearena.io.options import parse_duration_s

    step_s = parse_duration_s(walk, "walk")
    if step_s == contest_training(training).clock.interval_s and step_s > STEP_S:
        trained = train_ppmtf(contest_training(training), parameters, model, seed)
        return trained, {"method": str(trained), "parameters": trained.parameters()}
    course = ShortWalk.of(training, step_s)
    if course.extra_hours is not None:
        note(
            f"the traces begin at {course.learned.clock.label(0)}: {course.extra_hours} is invented from their "
            "first hour, everybody at home, and is not handed out"
        )
    with show_progress("short steps"):
        filled = course.training()
    trained = train_ppmtf(filled, parameters, model, seed)
    people = course.build_model(trained, homes=plan.homes, only_seen=plan.only_seen)
    stays = {"training": course.stays(), "virtual": people.stays}
    if abs(stays["virtual"] - stays["training"]) > _NOTABLE:
        note(
            f"from one instant to the next {stays['virtual']:.0%} of the virtual users stay in place, but "
            f"{stays['training']:.0%} of the people of the traces: no pace of the walk makes it the same"
        )
    about = {
        "step_s": course.step_s,
        "pace": people.walk.pace,
        "stays": stays,
        "invented": course.extra_hours,
    }
    return people, {"method": str(trained), "parameters": trained.parameters(), "walk": about}
