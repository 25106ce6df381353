"""``tracearena contest new``: makes the people, keys, database and links of a contest.

The settings come from the contest's file, from the options and, in a terminal, from answers to questions. The
people are learned from the embedded city or from traces, or come from ready-made files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, ReleaseSeedOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.cli.contest_server import (
    DatabaseOption,
    PassphraseFdOption,
    check_base_url,
    find_key_file,
    note_local_links,
    read_passphrase,
    require_extra,
)
from tracearena.cli.synthesize import train_ppmtf
from tracearena.errors import DataError, ParameterError
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import choose_release_seed, refuse_options
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.contest import ContestFile, ContestPlan, Schedule
    from tracearena.contest.contest_file import DataSource
    from tracearena.contest.data import VirtualUserModel
    from tracearena.server.operations.create import ContestLinks
    from tracearena.traces import Traces

TeamsOption = Annotated[int | None, typer.Option("--teams", help="Number of teams. [default: 21]")]
UsersOption = Annotated[int | None, typer.Option("--users", help="Virtual users per team. [default: 2000]")]
DaysOption = Annotated[
    int | None,
    typer.Option("--days", help="Days per user, half of them reference, half original. [default: 40]"),
]
DataSetsOption = Annotated[
    int | None,
    typer.Option("--data-sets", help="Data sets per team. 1: data01_IDP; 2: also data02_TRP. [default: 1]"),
]
FactorsOption = Annotated[int, typer.Option("--factors", help="Number of factors of the model.")]
IterationsOption = Annotated[int, typer.Option("--iterations", help="Number of Gibbs iterations.")]
WalkOption = Annotated[
    str,
    typer.Option(
        "--walk",
        help="Time step in which virtual users move: 5min, as in 2019, or the interval of the traces, "
        "such as 30min, for one step per instant.",
    ),
]
ZerosOption = Annotated[
    str, typer.Option("--zeros", help="Zero cells used in training: all, or sampled as in 2019.")
]
MinEventsOption = Annotated[
    int,
    typer.Option("--min-events", help="Learn only from users with at least this many events (10 in 2019)."),
]
SensitiveOption = Annotated[
    str | None,
    typer.Option(
        "--sensitive",
        help="Mark regions that contain such a place as sensitive: category=hospital, from the places of "
        "the traces or of --pois.",
    ),
]
PoisOption = Annotated[
    Path | None, typer.Option("--pois", help="File of places with categories, for --sensitive.")
]


@reads_traces(without=("format",))
def new(
    reading: ReadingOptions,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest.")],
    file: Annotated[
        Path | None,
        typer.Option("--rules", help="File of the contest (contest.toml): name, teams, rules, schedule."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the contest.")] = None,
    teams: TeamsOption = None,
    names: Annotated[
        Path | None,
        typer.Option(
            "--names",
            help="CSV file of team names: columns team and name, or only name. It also sets the number of "
            "teams, unless --teams does.",
        ),
    ] = None,
    own_names: Annotated[
        bool,
        typer.Option("--own-names/--no-own-names", help="Let a team without a name choose one."),
    ] = True,
    users: UsersOption = None,
    days: DaysOption = None,
    data_sets: DataSetsOption = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--begin", help="Start of the anonymization phase, such as 2030-05-01T09:00+09:00. [default: now]"
        ),
    ] = None,
    anonymization_days: Annotated[
        float | None,
        typer.Option("--anonymization-days", help="Length of the anonymization phase in days. [default: 7]"),
    ] = None,
    attack_days: Annotated[
        float | None, typer.Option("--attack-days", help="Length of the attack phase in days. [default: 7]")
    ] = None,
    pause_hours: Annotated[
        float | None,
        typer.Option(
            "--pause-hours",
            help="Length of the pauses before the attacks and before the results, in hours. [default: 1]",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Learn from these traces, in any format, instead of the embedded city."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option("--files", help="Use these official files, made by `contest data`."),
    ] = None,
    walk: WalkOption = "5min",
    min_events: MinEventsOption = 0,
    sensitive: SensitiveOption = None,
    pois: PoisOption = None,
    factors: FactorsOption = 32,
    iterations: IterationsOption = 100,
    zeros: ZerosOption = "all",
    database: DatabaseOption = None,
    judge_key: Annotated[
        Path | None,
        typer.Option(
            "--judge-key", help="New file for the judge's private key, outside DIR. [default: DIR.judge-key]"
        ),
    ] = None,
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase, and encrypt the judge's key with it.")
    ] = False,
    passphrase_fd: PassphraseFdOption = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            callback=check_base_url,
            help="Address of the contest for browsers, for links; it is stored.",
        ),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            "--links", help="Also write the teams' links to this new CSV file (team,name,link; mode 0600)."
        ),
    ] = None,
    wheel: Annotated[
        Path | None,
        typer.Option("--wheel", help="A wheel of tracearena, which the contest serves for teams to install."),
    ] = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a contest for `contest serve`: the people of every team, keys, database and links.

    The people are virtual users learned from the embedded city, or from your own traces with --data; or they
    come from ready-made files with --files. In a terminal the command asks for missing settings. It prints
    one link for the organiser, for one person, and one link per team, for all its members. They are shown
    once and expire after 72 hours.

    Example:
      tracearena contest new friday --name "Friday contest" --teams 5
    """
    require_extra("server")
    from tracearena.contest.contest_file import NAME, read_team_names
    from tracearena.files import require_new
    from tracearena.server.operations.create import (
        check_wheel,
        open_private_folder,
        write_preliminary_results,
    )
    from tracearena.server.store.database import require_empty_database

    wanted = ContestOptions(
        name=name, teams=teams, users=users, days=days, data_sets=data_sets, begin=begin,
        anonymization_days=anonymization_days, attack_days=attack_days, pause_hours=pause_hours,
        traces=data, files=files, names=None if names is None else read_team_names(names),
    )  # fmt: skip
    charter_file = file
    if file is None and files is not None and (files / NAME).is_file():
        charter_file = files / NAME
    if charter_file is None:
        wanted = wanted.count_names()
    if charter_file is None and sys.stdin.isatty() and not as_json:
        wanted = wanted.ask_missing()
    charter = wanted.charter(charter_file)
    parameters = USUAL | {"factors": factors, "iterations": iterations, "zeros": zeros}
    people = PeopleOptions(reading, parameters, walk, min_events, sensitive, pois, seed)
    people.require_use(charter)
    require_new(folder)
    # The judge's key lies in a new file, and not in the folder that is backed up.
    key = find_key_file(folder, judge_key)
    if os.path.lexists(key):
        raise ParameterError(f"{key}: exists already; a judge's key is never overwritten")
    if folder.resolve() in key.resolve().parents:
        raise ParameterError(
            f"{key}: is inside {folder}; the judge's key must be outside, because the folder is backed up"
        )
    if not key.parent.is_dir():
        raise ParameterError(f"{key}: the folder {key.parent} does not exist")
    if links is not None and os.path.lexists(links):
        raise ParameterError(f"{links}: this file exists already; links are written to a new file")
    if wheel is not None:
        check_wheel(wheel)
    require_empty_database(database)
    has_lock = passphrase or passphrase_fd is not None
    lock = read_passphrase(passphrase_fd, str(key), twice=True) if has_lock else None
    if not sys.stderr.isatty():
        note(f"{folder}: creating the people of {charter.teams} teams")
    base = (base_url or _LOCAL_URL).rstrip("/")
    with open_private_folder() as place:
        people.write(place / "contest", charter)
        with show_progress("sample programs"):
            write_preliminary_results(place / "contest", charter)
        made = create_contest_with_key(
            folder, place / "contest", key, lock, charter, database=database, base_url=base,
            wheel=wheel, teams_may_choose_names=own_names,
        )  # fmt: skip
    result = _build_result(folder, key, charter, made, database, base)
    if links is not None:
        _write_links(links, charter, result["invitations"])
    note_local_links(base)
    if as_json:
        print_result(result, True)
        return
    schedule, invitations = result.pop("schedule"), result.pop("invitations")
    organiser = result.pop("organiser")
    print_result(result, False)
    typer.echo("")
    for point, at in schedule.items():
        typer.echo(f"{point.replace('_', ' '):<20} {at}")
    typer.echo("\nLinks, shown once and valid for 72 hours:")
    typer.echo(f"organiser  {organiser}")
    width = max(len(charter.team_label(team)) for team in invitations)
    for team, link in invitations.items():
        typer.echo(f"team {charter.team_label(team):<{width}}  {link}")
    if links is not None:
        note(f"{links}: the links of the teams; keep the file secret")
    note(f"keep {key} separate from backups of {folder}: it decrypts everything in them")
    typer.echo(f"\nNow: tracearena contest serve {folder}")


def _write_links(path: Path, charter: ContestFile, invitations: Mapping[str, str]) -> None:
    from tracearena.files import csv_text, replacing

    rows = ([team, charter.names.get(team, team), link] for team, link in invitations.items())
    with replacing(path, private=True) as file:
        file.write(csv_text(["team", "name", "link"], rows).encode())


def create_contest_with_key(
    folder: Path, prepared: Path, key: Path, lock: str | None, charter: ContestFile, **server: Any
) -> ContestLinks:
    """Make key, folder and database; the key is removed if the rest fails."""
    from tracearena.server.operations import create as creation
    from tracearena.server.store.crypto import write_judge_key

    assert charter.data is not None
    people, public = charter.data.people, write_judge_key(key, lock)
    try:
        return creation.create_contest(folder, prepared, judge_public_key=public, people=people, **server)
    except BaseException:
        key.unlink()
        raise


def _build_result(
    folder: Path,
    key: Path,
    charter: ContestFile,
    made: ContestLinks,
    database: str | None,
    base_url: str,
) -> dict[str, Any]:
    from tracearena.server.accounts import build_link_path
    from tracearena.server.store.database import format_database_url

    rules, schedule = charter.rules, charter.schedule
    assert schedule is not None
    assert charter.data is not None
    return {
        "contest": charter.name,
        "folder": str(folder),
        "judge_key": str(key),
        "database": format_database_url(database),
        "teams": charter.teams,
        "users": rules.users,
        "days": rules.reference_days + rules.original_days,
        "people": charter.data.source,
        "mode": rules.mode,
        "schedule": schedule.to_dict(),
        "organiser": base_url + build_link_path(made.organiser),
        "invitations": {
            team: base_url + build_link_path(secret) for team, secret in made.invitations.items()
        },
    }


_LOCAL_URL = "http://127.0.0.1:8000"
_QUESTIONS: dict[str, tuple[str, Any]] = {
    "name": ("Name of the contest", "A contest"),
    "teams": ("Teams", 21),
    "users": ("Virtual users per team", 2_000),
    "days": ("Days per user, half of them reference, half original", 40),
    "anonymization_days": ("Days of the anonymization phase", 7.0),
    "attack_days": ("Days of the attack phase", 7.0),
}
_OF_SCHEDULE = ("begin", "anonymization_days", "attack_days", "pause_hours")


@dataclass(frozen=True, kw_only=True)
class ContestOptions:
    """Settings given as options; None for those that were not given."""

    name: str | None = None
    teams: int | None = None
    users: int | None = None
    days: int | None = None
    data_sets: int | None = None
    begin: str | None = None
    anonymization_days: float | None = None
    attack_days: float | None = None
    pause_hours: float | None = None
    traces: Path | None = None
    files: Path | None = None
    names: Mapping[str, str] | None = None

    def count_names(self) -> ContestOptions:
        """Let there be as many teams as have names, where nothing else is said."""
        return replace(self, teams=int(max(self.names))) if self.names and self.teams is None else self

    def ask_missing(self) -> ContestOptions:
        """Ask in the terminal for the missing settings."""
        answers = {
            name: typer.prompt(question, default=usual, err=True)
            for name, (question, usual) in _QUESTIONS.items()
            if getattr(self, name) is None
        }
        return replace(self, **answers)

    def charter(self, file: Path | None) -> ContestFile:
        """Return the contest with its data and schedule; options and file must agree."""
        from tracearena.cli.contest import combine_contest_options
        from tracearena.server import clock

        counts = {"teams": self.teams, "users": self.users, "days": self.days, "data_sets": self.data_sets}
        said = combine_contest_options(file, to_make=True, **counts)
        data, schedule = self._data(said, file), self._schedule(said, file)
        # A phase that has ended cannot be reopened, so nobody could submit anything.
        if schedule.anonymization_end <= clock.read_clock():
            raise ParameterError(
                "the anonymization phase would already be over: it ends at "
                f"{schedule.anonymization_end.isoformat()}; choose a later --begin"
            )
        if self.names is not None and said.names:
            raise ParameterError(f"{file}: already has the names of teams in [names]; leave out --names")
        names = said.names if self.names is None else self.names
        return replace(said, name=self.name or said.name, names=names, data=data, schedule=schedule)

    def _data(self, said: ContestFile, file: Path | None) -> DataSource:
        from tracearena.contest.contest_file import DataSource

        if self.traces is not None and self.files is not None:
            raise ParameterError("use either --data or --files, not both")
        named = self.traces is not None or self.files is not None
        if said.data is not None:
            if named:
                raise ParameterError(
                    f"{file}: [data] already says where the people come from; leave --data and --files out"
                )
            return said.data
        if self.traces is not None:
            return DataSource(source="traces", file=self.traces)
        return DataSource() if self.files is None else DataSource(source="files", folder=self.files)

    def _schedule(self, said: ContestFile, file: Path | None) -> Schedule:
        from tracearena.contest import Schedule
        from tracearena.server import clock

        given = {name: getattr(self, name) for name in _OF_SCHEDULE if getattr(self, name) is not None}
        if said.schedule is not None:
            if given:
                raise ParameterError(
                    f"{file}: has a [schedule]; set the begin and the lengths of "
                    "phases and pauses there, not with options"
                )
            return said.schedule
        begin = given.pop("begin", None)
        now = clock.read_clock().replace(second=0, microsecond=0)
        return Schedule.weeks(now if begin is None else parse_moment(begin, "--begin"), **given)


def parse_moment(text: str, option: str) -> datetime:
    """Return the time that a user typed; it must have an offset from UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ParameterError(
            f"{option}: got {text!r}; it must be a time with its zone, such as 2026-05-15T09:00+09:00"
        )
    return at


USUAL: dict[str, Any] = {"factors": 32, "alpha": 200.0, "iterations": 100, "zeros": "all"}
"""Parameters of the contest's model."""
_SOURCE_TEXTS = {"city": "people of the embedded city", "files": "ready-made files"}


@dataclass(frozen=True)
class PeopleOptions:
    """Settings for making people."""

    reading: ReadingOptions
    parameters: Mapping[str, Any] = field(default_factory=lambda: USUAL)
    walk: str = "5min"
    min_events: int = 0
    sensitive: str | None = None
    pois: Path | None = None
    seed: int | None = None

    def require_use(self, charter: ContestFile) -> None:
        """Refuse options that do not apply to the source of the people."""
        assert charter.data is not None
        source = charter.data.source
        if source in _SOURCE_TEXTS:
            given = {"sensitive": self.sensitive, "pois": self.pois, "min_events": self.min_events or None}
            given |= {one.name: getattr(self.reading, one.name) for one in fields(self.reading)}
            refuse_options(_SOURCE_TEXTS[source], **given)

    def write(self, place: Path, charter: ContestFile) -> None:
        """Write the folders of the contest."""
        from tracearena.contest.contest_file import simulate_residents
        from tracearena.contest.data import check_regions
        from tracearena.engine import child_seed, seed_sequence

        source = charter.data
        assert source is not None
        if source.folder is not None:
            from tracearena.server.operations.create import copy_official_files

            with show_progress("files"):
                copy_official_files(source.folder, charter, place)
            return
        seed = choose_release_seed(source.seed if self.seed is None else self.seed)
        if source.file is None:
            with show_progress("people of the city"):
                days, city_seed = charter.rules.reference_days, child_seed(seed_sequence(seed), 3)
                training = simulate_residents(days, seed=city_seed)
        else:
            said = {name: getattr(source, name) for name in ("format", "grid", "bounds", "timezone")}
            given = {name: value for name, value in said.items() if value is not None}
            reading = replace(self.reading, **given)
            training = read_training_traces(reading, source.file, source.reference)
            check_regions(training)
            training = mark_sensitive_regions(training, reading, source.file, self.sensitive, self.pois)
            training = drop_small_users(training, self.min_events)
        plan, parameters = build_plan(charter), dict(self.parameters)
        write_people(place, training, charter, plan, parameters, walk=self.walk, model=None, seed=seed)


def build_plan(charter: ContestFile, *, homes: bool = True, only_seen: bool = True) -> ContestPlan:
    """Return the sizes of a contest's data; raises an error if such data cannot be made."""
    from tracearena.contest import ContestPlan

    plan = ContestPlan.of(charter, homes=homes, only_seen=only_seen)
    plan.require_agreement(charter)
    return plan


def read_training_traces(reading: ReadingOptions, file: Path, reference: Path | None) -> Traces:
    """Read the traces to learn from, with the reference traces of the same users if there are any."""
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.jobs.pairs import align_files
    from tracearena.traces import Traces

    learned = reading.read_events(file)
    if reference is None:
        return learned.traces
    more = reading.read_alike(reference, learned).traces
    training, more = align_files((file, learned.traces), (reference, more))
    check_same_numbers(reference, file, users=(more.user_ids.tolist(), training.user_ids.tolist()))
    return Traces.concat([more, training])


def drop_small_users(training: Traces, least: int) -> Traces:
    """Leave out the users with fewer events, and print how many there are."""
    import numpy as np

    enough = np.flatnonzero(np.diff(training.offsets) >= least)
    left_out = training.n_users - len(enough)
    if not left_out:
        return training
    if not len(enough):
        most = int(np.diff(training.offsets).max(initial=0))
        raise DataError(f"--min-events {least}: no user has this many events; the most is {most}")
    note(f"{left_out:,} of {training.n_users:,} users have fewer than {least} events and are left out")
    return training.take_users(enough)


def mark_sensitive_regions(
    training: Traces, reading: ReadingOptions, file: Path, sensitive: str | None, pois: Path | None
) -> Traces:
    """Mark the regions that contain sensitive places; print a note if no region is sensitive."""
    from tracearena.contest import data as regions
    from tracearena.io import read_places

    if sensitive is not None or pois is not None:
        if sensitive is None:
            raise ParameterError(
                "--pois needs --sensitive, which names the sensitive places, such "
                "as --sensitive category=hospital"
            )
        categories = regions.parse_categories(sensitive)
        try:
            if pois is not None:
                places = read_places(pois)
            elif reading.open(file).holds_points:
                raise DataError(
                    "GPS points have no categories; use --pois with a file of places that have them"
                )
            else:
                own = replace(reading, grid=None, bounds=None, top=None)
                places = own.read_events(file, quietly=True).traces.places
            training = regions.mark_sensitive(training, regions.select_categories(places, categories))
        except DataError as error:
            raise DataError(f"{pois or reading.places or file}: {error}") from None
    if not training.places.sensitive.any():
        note(
            "no region is sensitive, so the larger weight of sensitive places has no effect; mark some "
            "with --sensitive and --pois"
        )
    return training


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
    """Learn from traces and write the folders of a contest; return the judge's manifest."""
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
    """Train on the traces; return the model of virtual users, and its entry in the manifest."""
    from tracearena.contest import contest_training
    from tracearena.contest.virtual_days import STEP_S, ShortWalk
    from tracearena.io.options import parse_duration_s

    step_s = parse_duration_s(walk, "walk")
    if step_s == contest_training(training).clock.interval_s and step_s > STEP_S:
        trained = train_ppmtf(contest_training(training), parameters, model, seed)
        return trained, {"method": str(trained), "parameters": trained.get_params(deep=False)}
    course = ShortWalk.of(training, step_s)
    if course.extra_hours is not None:
        note(
            f"the traces begin at {course.learned.clock.label(0)}: {course.extra_hours} is made up from "
            "their first hour, with everybody at home, and is not published"
        )
    with show_progress("short steps"):
        filled = course.training()
    trained = train_ppmtf(filled, parameters, model, seed)
    people = course.build_model(trained, homes=plan.homes, only_seen=plan.only_seen)
    stays = {"training": course.compute_stay_share(), "virtual": people.stays}
    if abs(stays["virtual"] - stays["training"]) > 0.02:
        note(
            f"{stays['virtual']:.0%} of the virtual users stay in place from one instant to the next, "
            f"against {stays['training']:.0%} of the people of the traces; no pace of the walk is closer"
        )
    about = {
        "step_s": course.step_s,
        "pace": people.walk.pace,
        "stays": stays,
        "invented": course.extra_hours,
    }
    return people, {"method": str(trained), "parameters": trained.get_params(deep=False), "walk": about}
