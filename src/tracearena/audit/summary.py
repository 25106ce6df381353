"""An audit in a few lines: for a terminal, and for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from tracearena.audit import words
from tracearena.audit.phrases import share_words
from tracearena.audit.verdict import OVER_GUESSING

if TYPE_CHECKING:
    from tracearena.audit.records import Audit
    from tracearena.audit.verdict import Light

DOTS = {"green": "#009E73", "amber": "#E69F00", "red": "#D55E00", "grey": "#8C8C8C"}


def measure(light: Light, within_m: float) -> str:
    """Say what a light's number is a share of."""
    return words.MEASURES[light.what].format(within=within_m)


def number_words(light: Light) -> str:
    """Write a light's number with its interval, or that it is at least so much."""
    assert light.share is not None
    return f"at least {share_words(light.share)}" if light.at_least else share_words(light.share)


def told(light: Light) -> str:
    """Say what a light's colour means."""
    said = words.SENTENCES[light.colour].format(limit=light.limit, why=words.WHY_GREY[light.question])
    if light.at_least and light.judged is not None:
        is_within = light.judged.colour(light.limit) == "green"
        return words.AT_LEAST if is_within else f"{words.AT_LEAST} {said}"
    if light.question not in OVER_GUESSING or light.judged is None:
        return said
    return f"{words.OVER_GUESSING.format(**light.judged.to_dict())} {said}"


def lines(audit: Audit) -> dict[str, Any]:
    """Return the verdict and the three answers, by name, for people on a terminal."""
    found: dict[str, Any] = {"verdict": f"{audit.verdict}: {audit.headline}"}
    for light in audit.lights:
        number = "" if light.share is None else f": {number_words(light)} "
        what = measure(light, audit.settings.within_m) if light.share is not None else ""
        found[light.question] = f"{light.colour}{number}{what}".strip()
    if any(light.at_least for light in audit.lights):
        found["not_tried"] = words.AT_LEAST
    if audit.usefulness is not None and audit.usefulness.kept is not None:
        whole = audit.usefulness.kept_of_file or 0.0
        found["usefulness"] = (
            f"{audit.usefulness.kept:.0%} of six tasks is kept, {whole:.0%} against the original file"
        )
    return found


def summary_html(audit: Audit) -> str:
    """Show an audit in a notebook: verdict, lights, numbers; no style of its own but the dots."""
    rows = "".join(_row(light, audit) for light in audit.lights)
    kept = audit.usefulness.kept if audit.usefulness is not None else None
    whole = 0.0 if audit.usefulness is None else audit.usefulness.kept_of_file or 0.0
    useful = "" if kept is None else f"<p>{escape(words.USEFUL['kept'].format(kept=kept, whole=whole))}</p>"
    return (
        f"<div><b>{escape(words.TITLE.format(name=audit.file.name))}</b>"
        f"<p>{escape(audit.headline)}</p><table>{rows}</table>{useful}</div>"
    )


def _row(light: Light, audit: Audit) -> str:
    number = "–" if light.share is None else number_words(light)
    dot = f'<span style="color:{DOTS[light.colour]}">●</span>'
    what = measure(light, audit.settings.within_m) if light.share is not None else ""
    return (
        f'<tr><td style="text-align:left">{dot} {escape(words.QUESTIONS[light.question])}</td>'
        f'<td style="text-align:left">{escape(number)} {escape(what)}</td></tr>'
    )
