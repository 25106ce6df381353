"""The page as a whole."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version

from tracearena import __version__
from tracearena.contest.board import Role
from tracearena.contest.report_data import Account, Sight
from tracearena.pages import Page
from tracearena.pages.contest.afterwards import show_afterwards
from tracearena.pages.contest.days import show_days
from tracearena.pages.contest.matrix import show_matrices
from tracearena.pages.contest.population import show_population
from tracearena.pages.contest.results import show_awards, show_board, show_refused
from tracearena.pages.contest.team_styles import team_styles
from tracearena.pages.contest.tradeoffs import show_cheating, show_privacy, show_usefulness

_VERSIONS = ("numpy", "scipy", "numba", "plotly")


def contest_report(held: Account) -> Page:
    """Assemble the page of a contest: whatever the account has to tell.

    Parameters
    ----------
    held
        The contest, as it was held by files, by tables of scores or as a rehearsal.
    """
    page, styles = Page(held.title, lead=held.lead), team_styles(held.board.roster)
    show_awards(page, held, styles)
    show_board(page, held, styles)
    show_refused(page, held)
    show_matrices(page, held)
    show_privacy(page, held, styles)
    show_usefulness(page, held, styles)
    show_cheating(page, held)
    show_afterwards(page, held)
    sights = _shown(held)
    if sights:
        show_days(page, held, sights, styles)
        show_population(page, held, sights[0])
    _show_rules(page, held)
    _show_origin(page, held)
    return page


def _shown(held: Account) -> list[Sight]:
    """Choose whose data is shown: the best team, and the best that uses sets or hides events."""
    if held.look is None:
        return []
    last = held.rules.data_sets
    ranked = [row for row in held.board.rows if row.valid and row.role is Role.TEAM and row.data_set == last]
    best: Sight | None = None
    hiding: Sight | None = None
    for row in ranked:
        sight = held.look(row)
        if sight is None:
            continue
        best = best or sight
        if sight.obfuscated.is_set.any():
            return [best] if sight is best else [best, sight]
        hiding = hiding or (sight if sight.obfuscated.is_deleted.any() else None)
    return [one for one in dict.fromkeys((best, hiding)) if one is not None]


def _show_rules(page: Page, held: Account) -> None:
    page.heading("The rules in plain words")
    page.html_part("<ul>" + "".join(f"<li>{escape(rule)}</li>" for rule in held.rules.explain()) + "</ul>")


def _show_origin(page: Page, held: Account) -> None:
    page.heading("Where this comes from")
    page.html_part(
        "<p>This command makes the same page again, with any number of processor cores:</p>"
        f"<p><code>{escape(held.command)}</code></p>"
    )
    versions = {"tracearena": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in _VERSIONS}
    page.cards(({} if held.seed is None else {"seed": str(held.seed)}) | versions)
    if not held.commitments:
        return
    page.text(
        "Before the attacks the judge publishes a salted hash of who is who in each data set, and opens it "
        "afterwards, so that nobody can change the answer in between."
        + (
            ""
            if held.seed is None
            else " In a real contest shuffle and salt come from the operating system; here they come from "
            "the seed."
        )
    )
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{one.digest}</td><td>{one.salt}</td></tr>"
        for name, one in held.commitments.items()
    )
    page.html_part(
        "<details><summary>Hashes and salts</summary><div class='scroll'><table class='commits'><thead><tr>"
        f"<th>team</th><th>SHA-256</th><th>salt</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
