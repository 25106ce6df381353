"""``tracearena contest``: what an organiser does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli import _contest_desk, _contest_verify, contest_server
from tracearena.cli._console import (
    JsonOption,
    ReleaseSeedOption,
    print_result,
    release_seed,
)
from tracearena.cli._contest_charter import chartered
from tracearena.cli._contest_people import (
    MinEventsOption,
    PoisOption,
    SensitiveOption,
    WalkOption,
    ZerosOption,
    planned,
    training_traces,
    with_enough_events,
    with_sensitive_regions,
    write_people,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.traces import Traces


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        help="Hold a contest: data, releases, board and awards.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(data)
    _contest_desk.register(group)
    _contest_verify.register(group)
    contest_server.register(group)
    app.add_typer(group, name="contest")


@reads_traces()
def data(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces to learn from, of any format.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest's files.")],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="More traces of the same users (their reference traces)."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", help="The contest's file (contest.toml): name, teams, rules, schedule."),
    ] = None,
    teams: Annotated[int | None, typer.Option("--teams", help="Teams that take part; 21.")] = None,
    users: Annotated[int | None, typer.Option("--users", help="Virtual users of a team; 2,000.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="Days of a user, half reference, half original; 40.")
    ] = None,
    data_sets: Annotated[
        int | None, typer.Option("--data-sets", help="1 (as usual): data01_IDP. 2: data02_TRP as well.")
    ] = None,
    homes: Annotated[
        bool, typer.Option("--homes/--no-homes", help="Everybody has a home, morning and evening.")
    ] = True,
    only_seen: Annotated[
        bool,
        typer.Option("--only-seen/--any-move", help="No transition or visit that nobody made in training."),
    ] = True,
    factors: Annotated[int, typer.Option("--factors", help="Factors of the model.")] = 32,
    alpha: Annotated[float, typer.Option("--alpha", help="Precision of the counts.")] = 200.0,
    iterations: Annotated[int, typer.Option("--iterations", help="Gibbs iterations.")] = 100,
    zeros: ZerosOption = "all",
    walk: WalkOption = "5min",
    min_events: MinEventsOption = 0,
    sensitive: SensitiveOption = None,
    pois: PoisOption = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Model file: written during training, used if it is there."),
    ] = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the data of a contest: virtual users of every team's own, as the official files.

    DIR/judge is for nobody else, DIR/teams/team001 for team 001, DIR/everybody for everybody. Teams are
    numbered from 001; 000 is the pseudonymised team, the numbers after the last are sample teams whose
    data everybody may have. What --rules says of teams, users, days and data sets holds; options must
    agree with it. Without --seed nothing can be made again: all people, and the shuffle of the
    pseudonymised team, come from the system's cryptographic source.
    """
    from tracearena.contest.data import check_regions
    from tracearena.files import require_new

    charter = chartered(rules, teams=teams, users=users, days=days, data_sets=data_sets)
    plan = planned(charter, homes=homes, only_seen=only_seen)
    require_new(folder)
    training = training_traces(reading, file, reference)
    check_regions(training)
    training = with_sensitive_regions(training, reading, file, sensitive, pois)
    training = with_enough_events(training, min_events)
    parameters = {"factors": factors, "alpha": alpha, "iterations": iterations, "zeros": zeros}
    manifest = write_people(
        folder, training, charter, plan, parameters, walk=walk, model=model, seed=release_seed(seed)
    )
    print_result(_summary(folder, manifest, training), as_json)


def _summary(folder: Path, manifest: dict[str, Any], training: Traces) -> dict[str, Any]:
    plan, seed = manifest["plan"], manifest["model"]["seed"]
    summary = {
        "folder": str(folder),
        "for_nobody_else": str(folder / "judge"),
        "teams": plan["teams"],
        "users": plan["users"],
        "days": plan["days"],
        "data_sets": plan["data_sets"],
        "files": len(manifest["sha256"]) + 1,
        "training_users": training.n_users,
        "sensitive_regions": int(training.places.sensitive.sum()),
    }
    return summary if seed is None else summary | {"seed": seed}
