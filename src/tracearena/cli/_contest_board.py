"""A contest's board on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracearena.contest import Award, Board


def print_board(made: Board, awards: Sequence[Award], defences: Mapping[str, str] | None = None) -> None:
    """Print who won, and the board; with the defences where they are known."""
    from tracearena.contest import compared
    from tracearena.contest.board import Role

    width = max(len(award.title) for award in awards)
    for award in awards:
        winners = " and ".join(award.winners) or "nobody"
        value = f"{award.places[0].value:.3f}" if award.places else "–"
        typer.echo(f"{award.title:<{width}}  {winners} ({value})")
    points = compared(made)
    valid = [row for row in points if row.role is Role.TEAM]
    typer.echo(
        f"\n{made.rules.challenge}: {len(valid)} of {len(made.roster.teams)} teams valid{_together(made)}"
    )
    named = max([4, *(len(row.team) for row in made.rows)])
    used = {} if defences is None else {"defence": 20}
    sets = {"set": 3} if made.rules.data_sets > 1 else {}
    head = [f"{'team':<{named}}", *(f"{name:<{size}}" for name, size in (used | sets).items())]
    typer.echo("  ".join([*head, "utility", "s_R,min", "s_T,min"]))
    for row in made.rows:
        cells = [f"{row.team:<{named}}"]
        cells += [f"{(defences or {}).get(row.team, ''):<20}"] if used else []
        cells += [f"{row.data_set:<3}"] if sets else []
        cells.append("      –" if row.utility is None else f"{row.utility:7.3f}")
        cells += [f"{row.s_R_min:7.3f}", f"{row.s_T_min:7.3f}"] if row.valid else ["invalid"]
        typer.echo("  ".join(cells))


def _together(made: Board) -> str:
    from tracearena.arena.claims import correlation
    from tracearena.contest import compared

    points = compared(made)
    found = correlation((row.s_R_min, row.s_T_min) for row in points)
    return "" if found is None else f"; R = {found:.4f} over {len(points)} data sets"
