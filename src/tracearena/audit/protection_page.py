"""The section of a page that shows which defences were tried, and which holds."""

from __future__ import annotations

import shlex
from dataclasses import replace
from html import escape
from typing import Any

from tracearena.algorithms import catalogue
from tracearena.audit import labels, words
from tracearena.audit.phrases import length, risk_words, synthetic_sentences
from tracearena.audit.protection import MOST_PROOFS, Protection
from tracearena.audit.shares import Share
from tracearena.audit.trials import Trial
from tracearena.audit.virtual_people import VirtualPeople
from tracearena.pages.html import BLUE, GREEN, GREY, VERMILION, Page, Table

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
    for sentence in changes(found):
        page.text(sentence)
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
    """Say in one line which defence keeps the limits, or the least risk that was reached and by what."""
    if found.proof is not None:
        share = _proved(found)
        assert share is not None
        risk = risk_words(share, False)
        return words.MET.format(defence=found.chosen, risk=risk, people=share.people, target=found.target)
    least, said = found.least, []
    if least is not None and least.risk is not None:
        # Where the release was put to the proof, that says more than the people it was chosen on.
        proof = found.proofs.get(least.defence)
        lights = least.lights if proof is None else proof.lights
        linked = (one.share for one in lights if one.question == "linkability" and one.share is not None)
        bad = [one for one in lights if one.question != "linkability" and one.colour in ("red", "amber")]
        also = words.ALSO.format(what=words.LIMITED[bad[0].question]) if bad else ""
        reached = risk_words(next(linked, least.risk), least.at_least)
        said.append(words.LEAST.format(risk=reached, defence=least.defence, also=also))
    if found.least_provable > found.target:
        said.append(words.TOO_FEW.format(people=min(found.people), least=found.least_provable))
    return words.NOT_MET.format(tried=len(found.trials), least=" ".join(said)).strip()


def changes(found: Protection) -> list[str]:
    """Say whether the chosen defence moves events to cells, or changes times."""
    trial = next((one for one in found.trials if one.defence == found.chosen), None)
    if trial is None or found.proof is None:
        return []
    said, side = words.PROTECTED, length(found.proof.settings.cell_m)
    defence = catalogue.create(trial.defence, ("obfuscator", "gps-obfuscator", "synthesizer"))
    changes_times = not getattr(defence, "keeps_times", True)
    return [
        *([said["cells"].format(defence=trial.defence, side=side)] if trial.on_cells else []),
        *([said["times"].format(defence=trial.defence)] if changes_times else []),
    ]


def picture(found: Protection) -> tuple[dict[str, Any], Table]:
    """Draw risk against usefulness, a point for each defence that was attacked."""
    known = [one for one in found.trials if one.risk is not None]
    whole = [one for one in known if not one.at_least]
    proved = [replace(one, risk=_proved(found)) for one in whole if one.defence == found.chosen]
    groups = (
        (labels.LINES["at_least"], [one for one in known if one.at_least], GREY, "triangle-up-open"),
        (labels.LINES["fails"], [one for one in whole if not one.holds], GREY, "circle"),
        (
            labels.LINES["holds"],
            [one for one in whole if one.holds and one.defence != found.chosen],
            BLUE,
            "square",
        ),
        (labels.LINES["proved"], proved, GREEN, "star"),
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
        "legend": {"orientation": "h", "y": -0.25, "yanchor": "top"},
        "shapes": [
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": found.target, "y1": found.target,
                "line": {"color": VERMILION, "dash": "dot", "width": 1},
            }
        ],
    }  # fmt: skip
    names = ("defence", "kept", "whole", "found", "low", "high", "strongest", "limits", "error")
    return {"data": data, "layout": layout}, ([_T[one] for one in names], [_row(one) for one in found.trials])


def _proved(found: Protection) -> Share | None:
    """Return whom the strongest attack finds in the release that was proved."""
    linked = None if found.proof is None else found.proof.risks.linkability
    return None if linked is None else linked.headline


def _is_beaten(one: Trial, others: list[Trial]) -> bool:
    """Whether another keeps at least as much and lets fewer people be found, or as few and keeps more."""

    def merits(trial: Trial) -> tuple[float, float]:
        return trial.kept or 0.0, 1.0 if trial.risk is None else -trial.risk.value

    mine = merits(one)
    theirs = [merits(other) for other in others]
    return any(kept >= mine[0] and safe >= mine[1] and (kept, safe) != mine for kept, safe in theirs)


def _points(name: str, trials: list[Trial], colour: str, symbol: str, front: set[str]) -> dict[str, Any]:
    shares = [one.risk for one in trials if one.risk is not None]
    # What is at least so much has no interval.
    ends = [
        (0.0, 0.0) if one.at_least else (share.high - share.value, share.value - share.low)
        for one, share in zip(trials, shares, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": [one.kept for one in trials],
        "y": [share.value for share in shares],
        "text": [_short(one.defence) if one.defence in front else "" for one in trials],
        "customdata": [one.defence for one in trials],
        "textposition": ["top left" if (one.kept or 0.0) > 0.5 else "top right" for one in trials],
        "textfont": {"size": 10},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [above for above, _ in ends],
            "arrayminus": [below for _, below in ends],
            "thickness": 1,
        },
        "marker": {"color": colour, "symbol": symbol, "size": 10},
        "hovertemplate": "%{customdata}: %{y:.1%} found, %{x:.2f} kept<extra></extra>",
    }


def _short(defence: str) -> str:
    """Break a name into its stages, and leave out what only says how long a model is trained."""
    name, cut, _ = defence.partition(",zeros")
    return f"{name})" if cut else name.replace("+", "<br>+")


def _row(one: Trial) -> list[Any]:
    if one.risk is None:
        return [one.defence, one.kept, one.kept_of_file, *[None] * 5, one.error or labels.NOT_ATTACKED]
    found = f"{_T['at_least']} {one.risk.value:.4f}" if one.at_least else one.risk.value
    ends = (None, None) if one.at_least else (one.risk.low, one.risk.high)
    limits = "; ".join(f"{words.QUESTIONS[two.question]} {words.COLOURS[two.colour]}" for two in one.lights)
    return [one.defence, one.kept, one.kept_of_file, found, *ends, one.attack, limits, one.error]
