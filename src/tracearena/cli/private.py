"""``tracearena budget`` and ``audit-privacy``, and private synthesis, which spends the budget."""

from __future__ import annotations

import math
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
    unit: Annotated[
        str | None, typer.Option("--unit", help="Unit of --total: person or trip. [default: person]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what private releases of a file have spent, and how much is left.

    What a person and what a trip loses are added up separately: a release with ε for one trip costs a person
    with n trips n times ε. With a total, releases that protect the other unit are refused.

    The ledger DATA.budget.json, in the same folder, belongs to the content of the file. A copy in another
    folder has its own ledger.

    Example:
      tracearena budget trips.csv --total 4
    """
    from tracearena.synthesis.private.ledger import Ledger

    if total is None:
        refuse_options("a ledger without a new --total", unit=unit)
        ledger = Ledger.open(data)
    else:
        ledger = Ledger.update(data, lambda known: known.with_total(total, unit or "person"))
    for one in () if as_json else ledger.spendings:
        note(f"{one.at}: {one.method} spent ε = {one.epsilon:g}, δ = {one.delta:g} for one {one.unit}")
    result: dict[str, Any] = {
        "releases": len(ledger.spendings),
        "epsilon": ledger.spent("person"),
        "delta": math.fsum(one.delta for one in ledger.spendings),
        "epsilon_per_trip": ledger.spent("trip"),
    }
    if ledger.total is not None:
        left = max(ledger.total - ledger.spent(ledger.unit), 0.0)
        result |= {"total": ledger.total, "unit": ledger.unit, "left": left}
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
        refuse_options(f"{name}: up to which day it fills depends on everybody", resample=reading.resample)
        on_grid = reading.grid is not None and reading.bounds is not None
        if not on_grid and (reading.places is None or source.format == "foursquare"):
            public = "--grid with --bounds, a public box"
            if source.format != "foursquare":
                public = f"--places FILE, a public list, or {public}"
            raise ParameterError(f"{name} needs {public}: the places that the data visits are not public")
        if reading.interval is None and not source.has_instants:
            raise ParameterError(
                f"{name} needs --interval, such as 1h: the instants that the data has are not public"
            )
    has_zone = reading.timezone is not None or reading.utc_hours
    needs_zone = reading.cuts_rows if name == "PrivateTrips" else not source.has_instants
    if needs_zone and not has_zone:
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
    from tracearena.synthesis import PrivateRoles, PrivateTrips
    from tracearena.synthesis.private.ledger import Ledger
    from tracearena.synthesis.private.roles import PublicFrame
    from tracearena.synthesis.private.tables import OpenDPNoise

    if path is not None and path.exists():
        saved = type(model).load(path)
        if saved != model:
            raise ParameterError(f"{path}: is a model of {saved!r}, not of {model!r}")
        if isinstance(saved, PrivateRoles) and saved.frame_ != PublicFrame.of(traces):
            raise ParameterError(f"{path}: is a model of other places or instants than those of {data}")
        note(f"{path}: drawn from the saved model; this spends nothing")
        return saved
    if is_secret(seed):
        OpenDPNoise.require()
        cost = model.plan() if isinstance(model, PrivateTrips) else model.plan(PublicFrame.of(traces))
        unit = cost.costs[0].table.unit
        # What is not written down must not be released: the ledger comes first.
        ledger = Ledger.update(data, lambda known: known.spend(str(model), cost.spent, cost.delta, unit))
        for line in cost.lines():
            note(line)
        note(f"{ledger.path}: releases of {data} have spent ε = {ledger.spent(unit):g} for one {unit}")
    else:
        note("warning: drawn with --seed: this release has no guarantee, and is not entered in the ledger")
    with show_progress("counting"):
        model.fit(traces, seed=seed)
    if path is not None:
        model.save(path)
    return model
