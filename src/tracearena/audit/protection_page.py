"""The section of a page that shows which defences were tried, and which holds."""

from __future__ import annotations

import shlex
from html import escape
from typing import Any

from tracearena.audit import labels, words
from tracearena.audit.phrases import share_words, synthetic_sentences
from tracearena.audit.protection import MOST_PROOFS, Protection
from tracearena.audit.trials import Trial
from tracearena.audit.virtual_people import VirtualPeople
from tracearena.pages.page import Page, Table
from tracearena.pages.style import BLUE, GREEN, GREY, VERMILION

_T = words.TABLE


def protection_section(page: Page, found: Protection, command: str | None, name: str) -> None:
    """Add the picture, the table, and what was chosen.

    Parameters
    ----------
    command
        What makes the release of the chosen defence.
    name
        The file that is to be protected.
    """
    said = words.PROTECTED
    page.heading(said["heading"])
    page.text(said["lead"].format(target=found.target))
    page.text(outcome(found))
    if command is not None:
        page.html_part(f"<p>{escape(said['command'])} <code>{escape(command)}</code></p>")
    figure, table = picture(found)
    page.figure(figure, said["picture"], table=table, name="defences")
    if found.virtual is not None:
        _virtual(page, found.virtual, name)
    choosing, proving = found.people
    how = said["how"].format(choosing=choosing, proving=proving, proofs=MOST_PROOFS)
    page.html_part(
        f'<details class="how"><summary>{escape(labels.HOW)}</summary><p>{escape(how)}</p></details>'
    )


def _virtual(page: Page, found: VirtualPeople, name: str) -> None:
    said = words.PROTECTED
    page.text(said["virtual"].format(people=found.people, synthesizer=found.synthesizer, kept=found.kept))
    for sentence in synthetic_sentences(found.betrayed):
        page.text(sentence)
    made = ["tracearena", "synthesize", found.synthesizer, name, "virtual.csv"]
    command = shlex.join([*made, "--virtual-users", str(found.people)])
    page.html_part(f"<p>{escape(said['virtual_command'])} <code>{escape(command)}</code></p>")


def outcome(found: Protection) -> str:
    """Say which defence holds, or that none does and what keeps it from being proved."""
    said, proof = words.PROTECTED, found.proof
    if proof is not None and proof.risk is not None:
        return said["chosen"].format(
            defence=proof.defence,
            risk=share_words(proof.risk),
            people=proof.risk.people,
            kept=proof.kept or 0.0,
        )
    told = said["none"].format(tried=len(found.trials))
    few = said["few"].format(least=found.least_provable) if found.least_provable > found.target else ""
    return f"{told} {few}".strip()


def picture(found: Protection) -> tuple[dict[str, Any], Table]:
    """Draw risk against usefulness, a point a defence."""
    known = [one for one in found.trials if one.risk is not None]
    groups = (
        (labels.LINES["fails"], [one for one in known if not one.holds(found.target)], GREY, "circle"),
        (labels.LINES["holds"], [one for one in known if one.holds(found.target)], BLUE, "square"),
        (labels.LINES["proved"], [one for one in found.proofs if one.defence == found.chosen], GREEN, "star"),
    )
    front = {one.defence for one in known if not _is_beaten(one, known)}
    data = [_points(name, trials, colour, symbol, front) for name, trials, colour, symbol in groups if trials]
    highest = max([2 * found.target, *(one.risk.high for one in known if one.risk is not None)])
    layout = {
        "height": 460,
        "xaxis": {"title": {"text": labels.AXES["kept_all"]}, "range": [0, 1.02]},
        "yaxis": {
            "title": {"text": labels.AXES["again"]},
            "range": [-0.02, 1.08 * highest],
            "tickformat": ".0%",
        },
        "shapes": [
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": found.target, "y1": found.target,
                "line": {"color": VERMILION, "dash": "dot", "width": 1},
            }
        ],
    }  # fmt: skip
    rows = [_row(one, "choosing") for one in found.trials] + [_row(one, "proof") for one in found.proofs]
    names = ("defence", "tried_on", "kept", "found", "low", "high", "strongest", "screened", "home", "error")
    columns = [_T[one] for one in names]
    return {"data": data, "layout": layout}, (columns, rows)


def _is_beaten(one: Trial, others: list[Trial]) -> bool:
    """Whether another keeps at least as much and lets fewer people be found, or as few and keeps more."""

    def merits(trial: Trial) -> tuple[float, float]:
        return trial.kept or 0.0, 1.0 if trial.risk is None else -trial.risk.value

    mine = merits(one)
    theirs = [merits(other) for other in others]
    return any(kept >= mine[0] and safe >= mine[1] and (kept, safe) != mine for kept, safe in theirs)


def _points(name: str, trials: list[Trial], colour: str, symbol: str, front: set[str]) -> dict[str, Any]:
    shares = [one.risk for one in trials if one.risk is not None]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": [one.kept for one in trials],
        "y": [share.value for share in shares],
        "text": [_short(one.defence) if one.defence in front else "" for one in trials],
        "customdata": [one.defence for one in trials],
        "textposition": "top center",
        "textfont": {"size": 10},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [share.high - share.value for share in shares],
            "arrayminus": [share.value - share.low for share in shares],
            "thickness": 1,
        },
        "marker": {"color": colour, "symbol": symbol, "size": 10},
        "hovertemplate": "%{customdata}: %{y:.1%} found, %{x:.2f} kept<extra></extra>",
    }


def _short(defence: str) -> str:
    """Leave out of a name what only says how long a model is trained."""
    name, cut, _ = defence.partition(",zeros")
    return f"{name})" if cut else name


def _row(one: Trial, people: str) -> list[Any]:
    numbers = [None] * 3 if one.risk is None else [one.risk.value, one.risk.low, one.risk.high]
    home = None if one.home is None else one.home.value
    screened = "yes" if one.screened else "no"
    return [one.defence, people, one.kept, *numbers, one.attack, screened, home, one.error]
