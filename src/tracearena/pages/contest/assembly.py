"""The page as a whole."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version

from tracearena import __version__
from tracearena.contest.rehearsal import Entrant, Rehearsal
from tracearena.pages import Page
from tracearena.pages.contest.afterwards import show_afterwards
from tracearena.pages.contest.days import show_days
from tracearena.pages.contest.matrix import show_matrices
from tracearena.pages.contest.population import show_population
from tracearena.pages.contest.results import show_awards, show_board
from tracearena.pages.contest.team_styles import joined, team_styles
from tracearena.pages.contest.tradeoffs import show_cheating, show_privacy, show_usefulness

_NUMBERS = (
    *("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven"),
    *("Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen"),
    *("Twenty", "Twenty-one"),
)
_VERSIONS = ("numpy", "scipy", "numba", "plotly")


def contest_report(held: Rehearsal, *, command: str) -> Page:
    """Assemble the page of a contest.

    Parameters
    ----------
    held
        The contest.
    command
        What makes the same page again.
    """
    page, styles = Page("A contest of hide and seek", lead=_lead(held)), team_styles(held)
    show_awards(page, held, styles)
    show_board(page, held, styles)
    show_matrices(page, held)
    show_privacy(page, held, styles)
    show_usefulness(page, held, styles)
    show_cheating(page, held)
    show_afterwards(page, held)
    entrants = _shown(held)
    show_days(page, held, entrants, styles)
    show_population(page, held, entrants[0])
    _show_rules(page, held)
    _show_origin(page, held, command)
    return page


def _lead(held: Rehearsal) -> str:
    winners = held.awards[0].winners
    rules = held.rules
    return (
        f"{_NUMBERS[len(held.teams)]} teams each had to publish {rules.original_days} days in the lives of "
        f"{rules.users:,} people, useful to a planner and useless to a spy; then they attacked each other's "
        f"data. {joined(winners) or 'Nobody'} defended best. The people, the city and the teams are "
        "invented; the methods and the rules are real."
    )


def _shown(held: Rehearsal) -> list[Entrant]:
    """Choose whose data is shown: the best team, and the best that uses sets or hides events."""
    ranked = [held.entrant(row.team) for row in held.board.rows if row.valid]
    ranked = [one for one in ranked if one.player is not None] or list(held.entrants[-1:])
    vague = [one for one in ranked if one.obfuscated.is_set.any()]
    vague += [one for one in ranked if one.obfuscated.is_deleted.any()]
    return list(dict.fromkeys([*ranked[:1], *vague[:1]]))


def _show_rules(page: Page, held: Rehearsal) -> None:
    page.heading("The rules in plain words")
    page.html_part("<ul>" + "".join(f"<li>{escape(rule)}</li>" for rule in held.rules.explain()) + "</ul>")


def _show_origin(page: Page, held: Rehearsal, command: str) -> None:
    page.heading("Where this comes from")
    page.html_part(
        f"<p>This command makes the same page again, with any number of processor cores:</p>"
        f"<p><code>{escape(command)}</code></p>"
    )
    versions = {"tracearena": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in _VERSIONS}
    page.cards({"seed": str(held.seed), **versions})
    page.text(
        "Before the attacks the judge publishes a salted hash of who is who in each data set, and opens it "
        "afterwards, so that nobody can change the answer in between. In a real contest shuffle and salt "
        "come from the operating system; here they come from the seed."
    )
    rows = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{one.commitment.digest}</td><td>{one.commitment.salt}</td></tr>"
        for one in held.entrants
        if one.commitment is not None
    )
    page.html_part(
        "<details><summary>Hashes and salts</summary><div class='scroll'><table class='commits'><thead><tr>"
        f"<th>team</th><th>SHA-256</th><th>salt</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
