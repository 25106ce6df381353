"""``tracearena budget`` and ``audit-privacy``, and private synthesis, which spends the budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, print_result
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.engine import SeedLike
    from tracearena.io import Input
    from tracearena.synthesis import PrivateRoles, PrivateTrips


def budget(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Traces that releases are made from.")],
    total: Annotated[
        float | None,
        typer.Option("--total", help="Set the largest ε that all releases of this file may spend together."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what private releases of a file have spent, and how much is left.

    The ledger DATA.budget.json, in the same folder, belongs to the content of the file. A copy in another
    folder has its own ledger.

    Example:
      tracearena budget trips.csv --total 4
    """
    from tracearena.synthesis.private.ledger import Ledger

    ledger = Ledger.open(data)
    if total is not None:
        ledger = ledger.with_total(total)
        ledger.write()
    for one in () if as_json else ledger.spendings:
        note(f"{one.at}: {one.method} spent ε = {one.epsilon:g}, δ = {one.delta:g} for one {one.unit}")
    left = None if ledger.total is None else max(ledger.total - ledger.epsilon, 0.0)
    result: dict[str, Any] = {
        "releases": len(ledger.spendings),
        "epsilon": ledger.epsilon,
        "delta": ledger.delta,
        "total": ledger.total,
        "left": left,
    }
    print_result(result, as_json)


def audit_privacy(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A private synthesizer, such as 'PrivateRoles(1)' or 'PrivateTrips(1,trip)'."
        ),
    ],
    shares: Annotated[
        str | None, typer.Option("--shares", help="Share of ε for each table, as for `synthesize`.")
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", min=100, help="Largest number of releases from each of the two data sets, per table."
        ),
    ] = 20_000,
    as_json: JsonOption = False,
) -> None:
    """Plant people or trips, release many times, and print a lower bound on ε for each table.

    The data comes from the embedded city. A bound above the claim proves that the guarantee does not hold. A
    bound below the claim does not prove that it holds.

    Example:
      tracearena audit-privacy "PrivateRoles(1)"
    """
    from tracearena.audit.canaries import CONFIDENCE, audit_canaries
    from tracearena.errors import AlgorithmError

    algorithm = create_private(name, shares)
    with show_progress("tables"):
        found = audit_canaries(algorithm, runs=runs)
    broken = [one.table for one in found if not one.holds]
    if as_json:
        bounds = {one.table: one.to_dict() | {"holds": one.holds} for one in found}
        print_result({"method": str(algorithm), "confidence": CONFIDENCE, "bounds": bounds}, as_json)
    else:
        for one in found:
            power = (
                "" if one.runs >= one.needed else f"; {one.needed:,} runs would detect noise of half the size"
            )
            typer.echo(
                f"{one.table}: ε is at least {one.lower:.3f} and claimed to be {one.claim:.3f} "
                f"({one.runs:,} runs, canary: {one.canary}{power})"
            )
    if broken:
        raise AlgorithmError(f"{algorithm}: ε is larger than claimed: {', '.join(broken)}")


def create_private(
    name: str, shares: str | None = None, bounds: str | None = None
) -> PrivateRoles | PrivateTrips:
    """Make the algorithm of a name, and refuse one without a guarantee."""
    from tracearena.algorithms import catalogue
    from tracearena.synthesis import PrivateRoles, PrivateTrips

    made = catalogue.create(name, ("synthesizer", "gps-synthesizer"))
    if not isinstance(made, PrivateRoles | PrivateTrips):
        raise ParameterError(f"{name} has no guarantee to audit; PrivateRoles and PrivateTrips have one")
    given = {"shares": shares, "bounds": bounds}
    return type(made)(
        **made.get_params(deep=False) | {key: one for key, one in given.items() if one is not None}
    )


def check_private_inputs(
    name: str,
    reading: ReadingOptions,
    source: Input,
    virtual_users: int | None,
    seed: int | None,
    *,
    not_private: bool,
) -> None:
    """Refuse whatever would be taken from the data, and a seed unless its cost is accepted."""
    if virtual_users is None:
        raise ParameterError(f"{name} needs --virtual-users N: how many people the data has is not public")
    if name == "PrivateTrips":
        refuse_options(f"{name}, which makes GPS trips", grid=reading.grid)
        if reading.bounds is None:
            raise ParameterError(f"{name} needs --bounds, a public box: where the data lies is not public")
    else:
        refuse_options(f"{name}: most visited places are taken from the data", top=reading.top)
        if reading.places is None:
            raise ParameterError(
                f"{name} needs --places FILE, a public list: the places that the data visits are not public"
            )
        if reading.interval is None and not source.has_instants:
            raise ParameterError(
                f"{name} needs --interval, such as 1h: the instants that the data has are not public"
            )
    has_zone = reading.timezone is not None or reading.utc_hours
    if not has_zone and (reading.cuts_rows or (name == "PrivateRoles" and not source.has_instants)):
        raise ParameterError(
            f"{name} needs --timezone, such as Asia/Tokyo: the zone where most of the data lies is not public"
        )
    if seed is not None and not not_private:
        raise ParameterError(
            f"{name}: noise with --seed can be repeated, and anyone who guesses the seed can remove it "
            "and see the exact tables; leave it out, or add --not-private-seed for an experiment"
        )
    if seed is None and not_private:
        raise ParameterError("--not-private-seed does not apply without --seed")


def fit_privately(
    model: PrivateRoles | PrivateTrips, traces: Any, data: Path, seed: SeedLike, path: Path | None
) -> Any:
    """Fit a model, after its cost is in the ledger of the data; a model file that exists costs nothing."""
    from tracearena.engine import is_secret
    from tracearena.synthesis import PrivateTrips
    from tracearena.synthesis.private.ledger import Ledger
    from tracearena.synthesis.private.roles import PublicFrame
    from tracearena.synthesis.private.tables import OpenDPNoise

    if path is not None and path.exists():
        saved = type(model).load(path)
        if saved != model:
            raise ParameterError(f"{path}: is a model of {saved!r}, not of {model!r}")
        note(f"{path}: drawn from the saved model; this spends nothing")
        return saved
    if is_secret(seed):
        OpenDPNoise.require()
        if isinstance(model, PrivateTrips):
            cost = model.plan()
        else:
            cost = model.plan(PublicFrame(traces.places, traces.clock))
        ledger = Ledger.open(data).spend(str(model), cost.spent, cost.delta, cost.costs[0].table.unit)
        # What is not written down must not be released: the ledger comes first.
        ledger.write()
        for line in cost.lines():
            note(line)
        note(f"{ledger.path}: {data} has now spent ε = {ledger.epsilon:g}, δ = {ledger.delta:g}")
    else:
        note("warning: drawn with --seed: this release has no guarantee, and is not entered in the ledger")
    with show_progress("counting"):
        model.fit(traces, seed=seed)
    if path is not None:
        model.save(path)
    return model
