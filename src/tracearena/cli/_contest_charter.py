"""What a contest is to be, by its file and by options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.contest import Charter


def chartered(
    rules: Path | None,
    *,
    teams: int | None,
    users: int | None,
    days: int | None,
    data_sets: int | None,
    to_make: bool = False,
) -> Charter:
    """Return what a contest is to be: as its file says, or as the options do; both must agree.

    If the contest is to be made from its file alone, that may say where its people come from.
    """
    from tracearena.contest import Charter, ContestPlan, read_charter

    options = {"teams": teams, "users": users, "days": days, "data_sets": data_sets}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if rules is None:
        plan = ContestPlan(**given)
        return Charter(teams=plan.teams, rules=plan.rules())
    charter = read_charter(rules, to_make=to_make)
    if charter.data is not None and not to_make:
        raise ParameterError(f"{rules}: contest data takes its traces from IN; leave [data] out of the file")
    said = {"teams": charter.teams, "users": charter.rules.users, "data_sets": charter.rules.data_sets}
    said["days"] = charter.rules.reference_days + charter.rules.original_days
    for name, value in given.items():
        if said[name] != value:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(f"{option} says {value}, and {rules} {said[name]}: they must agree")
    if charter.rules.reference_days != said["days"] // 2:
        raise ParameterError(
            f"{rules}: reference_days = {charter.rules.reference_days} and original_days = "
            f"{charter.rules.original_days}: data is made in halves"
        )
    return charter
