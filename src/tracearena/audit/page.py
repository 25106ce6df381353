"""The page of an audit, and its files.

`audit_page` shows verdict and lights first, then a section for each question; `write_audit` writes the page
with every number as JSON and, if asked for, tables.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.algorithms import catalogue
from tracearena.audit import charts, texts
from tracearena.audit.inference import Inference
from tracearena.audit.linkability import BY_DAYS, Linkability, describe_channels
from tracearena.audit.protection import MOST_PROOFS, DefenceTrial, Protection
from tracearena.audit.results import Audit, Risks, describe_measure, explain_light
from tracearena.audit.settings import Proportion
from tracearena.audit.singling_out import HEADLINE, SinglingOut
from tracearena.audit.texts import (
    describe_synthetic,
    fill_sentence,
    format_length,
    format_percent,
    format_risk,
    format_seconds,
)
from tracearena.dataframes import flatten
from tracearena.files import replacing, replacing_folder, write_csv
from tracearena.pages.contest_days import place_map
from tracearena.pages.html import BLUE, GREEN, GREY, VERMILION, Page, Table
from tracearena.traces import Places

_T = texts.TABLE
_WIDE_PX = 320


def audit_page(
    audit: Audit,
    protection: Protection | None = None,
    command: str | None = None,
    reading: Sequence[str] = (),
) -> Page:
    """Assemble the page; nobody is named on it, and no place of a single person is shown.

    Parameters
    ----------
    protection
        Which defences were tried.
    command
        What makes the release of the one that was chosen.
    reading
        Options by which the file was read, for the command that the page proposes.
    """
    facts = audit.file.to_dict() | {"version": audit.version}
    title = texts.TITLE.format(**facts)
    if audit.release is not None:
        title = texts.TITLE_RELEASED.format(**facts, release=audit.release.name)
    page = Page(title, lead=texts.LEAD.format(**facts))
    if not audit.complete:
        page.html_part(f'<p class="warning" role="alert">{escape(texts.INCOMPLETE)}</p>')
    if audit.settings.quick:
        page.html_part(f'<p class="warning">{escape(texts.QUICK.format(people=audit.settings.people))}</p>')
    _add_verdict(page, audit, protection, reading)
    _add_lights(page, audit)
    risks = audit.risks
    if protection is not None:
        add_protection_section(page, protection, command, audit.file.name)
    if audit.synthetic is not None:
        page.heading(texts.SYNTHETIC["heading"])
        for sentence in describe_synthetic(audit.synthetic):
            page.text(sentence)
    if audit.after is not None:
        measures = compare_risks(audit.before, audit.after)
        if any(share is not None for _, _, share in measures):
            page.heading(texts.CHANGED["heading"])
            figure, table = charts.draw_changes(measures)
            page.figure(
                figure, texts.CHANGED["caption"], table=table, name="changes", least_width_px=_WIDE_PX
            )
    if audit.judges_risks:
        if risks.singling_out is not None:
            _add_singling_out(page, risks.singling_out, audit)
        if risks.linkability is not None:
            _add_linkability(page, risks.linkability, audit)
        if risks.inference is not None:
            _add_inference(page, risks.inference)
    if (useful := audit.usefulness) is not None:
        said, whole = texts.USEFUL, useful.kept_of_file or 0.0
        page.heading(said["heading"])
        page.text(said["lead"] if useful.kept is not None else said["alone"])
        figure, table = charts.draw_tasks(useful)
        caption = said["chance"]
        if useful.kept is not None:
            caption = said["kept"].format(kept=useful.kept, whole=whole)
        page.figure(figure, caption, table=table, name="usefulness", least_width_px=_WIDE_PX)
        _add_explanation(page, said["how"])
    said, crowd = texts.CROWD, audit.crowd
    page.heading(said["heading"])
    if crowd.people:
        caption = said["caption"].format(
            places=len(crowd.people), smallest=crowd.smallest_group, hidden=crowd.hidden
        )
        page.figure(place_map(crowd.places(), crowd.people, what="people"), caption)
    else:
        page.text(said["none"].format(smallest=crowd.smallest_group))
    if audit.weeks:
        said = texts.WEEKS
        page.heading(said["heading"])
        page.text(said["lead"])
        for week in audit.weeks:
            places = Places(list(week.latitude), list(week.longitude))
            caption = said["caption"].format(who=week.who, exposure=week.exposure, places=len(week.events))
            if week.events:
                page.figure(place_map(places, week.events, what="events", height=420), caption)
            else:
                page.text(caption)
    said = texts.CHOSEN
    page.heading(said["heading"])
    page.text(said["lead"])
    rows = [[one.name, one.value, one.reason] for one in audit.choices]
    page.table([_T["what"], _T["value"], _T["reason"]], rows)
    digests = {texts.SEED: str(audit.seed), texts.DIGEST: audit.file.sha256}
    if audit.release is not None:
        digests[texts.RELEASE_DIGEST] = audit.release.sha256
    page.html_part(_format_definitions(digests, code=True))
    page.heading(texts.LIMITS_HEADING)
    page.html_part("<ul>" + "".join(f"<li>{escape(item)}</li>" for item in texts.LIMITS) + "</ul>")
    page.heading(texts.GLOSSARY_HEADING)
    page.html_part(_format_definitions(texts.GLOSSARY))
    return page


def _add_verdict(page: Page, audit: Audit, protection: Protection | None, reading: Sequence[str]) -> None:
    options = "".join(f" {shlex.quote(word)}" for word in reading)
    protect = texts.PROTECT.format(
        name=shlex.quote(audit.file.name), reading=options, target=audit.settings.found_again
    )
    headline, todo = audit.headline, texts.WHAT_TO_DO[audit.verdict].format(protect="\0")
    if protection is not None:
        headline = describe_outcome(protection)
        todo = texts.NOT_MET_TODO if protection.chosen is None else texts.MET_TODO
    marked = escape(todo).replace("\0", f"<code>{escape(protect)}</code>")
    colour = audit.verdict if protection is None or protection.chosen is not None else "red"
    page.html_part(
        f'<div class="verdict {colour}"><p><strong>{escape(headline)}</strong></p><p>{marked}</p></div>'
    )


def _add_lights(page: Page, audit: Audit) -> None:
    items = ""
    for light in audit.lights:
        number, what, interval = "–", "", ""
        if (share := light.share) is not None:
            number = format_risk(share, True) if light.at_least else format_percent(share.value)
            what = describe_measure(light, audit.settings.within_m)
            interval = fill_sentence(texts.INTERVAL, share)
        items += (
            f'<li class="{light.colour}"><h2>{escape(texts.QUESTIONS[light.question])}</h2>'
            f'<p class="lamp"><i aria-hidden="true"></i> {escape(texts.COLOURS[light.colour])}</p>'
            f'<p class="big">{escape(number)}</p><p>{escape(what)}</p>'
            f"<p><small>{escape(interval)} {escape(explain_light(light))}</small></p></li>"
        )
    page.html_part(f'<ul class="lights">{items}</ul>')


def _add_explanation(page: Page, text: str) -> None:
    page.html_part(
        f'<details class="how"><summary>{escape(texts.HOW)}</summary><p>{escape(text)}</p></details>'
    )


def _add_singling_out(page: Page, found: SinglingOut, audit: Audit) -> None:
    said = texts.SINGLED
    page.heading(said["heading"])
    page.text(said["lead"])
    if found.headline is not None:
        page.text(fill_sentence(said["found"], found.headline, k=HEADLINE))
    figure, table = charts.draw_finding_curves(found)
    page.figure(
        figure, said["curves"].format(message=_describe_coarseness(found)), table=table, name="points"
    )
    figure, table = charts.draw_uniqueness_heat_map(found)
    page.figure(figure, said["heat"], table=table, name="coarseness")
    night = found.night[0] if found.night else None
    if night is not None and night.alone is not None:
        figure, table = charts.draw_night_groups(found)
        few = sum(people for first, people in night.sizes.items() if 1 < first < 10)
        where = "" if night.side_m == 0 else texts.IN_CELLS.format(side=format_length(night.side_m))
        caption = said["night"].format(value=night.alone.value, few=few, smallest=9, where=where)
        page.figure(figure, caption, table=table, name="night-time-groups")
    settings = audit.settings
    _add_explanation(page, said["how"].format(people=settings.people, draws=settings.draws))


def _describe_coarseness(found: SinglingOut) -> str:
    """Say at which coarseness four points stop singling out half of the people."""
    said = texts.SINGLED
    finest, coarsest = found.coarseness[0], found.coarseness[-1]
    if finest.unique[HEADLINE].value < 0.5:
        return said["never"].format(side=format_length(finest.side_m), window=format_seconds(finest.window_s))
    for one in found.coarseness:
        if one.unique[HEADLINE].value < 0.5:
            return said["falls"].format(side=format_length(one.side_m), window=format_seconds(one.window_s))
    return said["stays"].format(side=format_length(coarsest.side_m), window=format_seconds(coarsest.window_s))


def _add_linkability(page: Page, found: Linkability, audit: Audit) -> None:
    said = texts.LINKED
    page.heading(said["heading"])
    page.text(said["lead"])
    first = found.headline
    if first is None:
        page.text(texts.SENTENCES["grey"].format(why=texts.WHY_GREY["linkability"]))
        return
    figure, table = charts.draw_attacks(found)
    caption = fill_sentence(
        said["attacks"], first, strongest=found.strongest, at_least=said["at_least"] if found.at_least else ""
    )
    page.figure(figure, caption, table=table, name="attacks", least_width_px=_WIDE_PX)
    if found.home_and_work is not None and found.home_and_work.first is not None:
        page.text(fill_sentence(said["home_and_work"], found.home_and_work.first))
    if len(found.days) > 1:
        figure, table = charts.draw_reference_days(found)
        known = list(found.days.items())
        caption = said["days"].format(
            least=known[0][1].value,
            first=known[0][0],
            most=known[-1][1].value,
            last=known[-1][0],
            attack=BY_DAYS,
        )
        page.figure(figure, caption, table=table, name="days-of-reference")
    if found.evidence:
        figure, table = charts.draw_evidence(found)
        page.figure(figure, said["evidence"], table=table, name="evidence", least_width_px=_WIDE_PX)
    for least, share in found.sure.items():
        if share.people >= 10:
            page.text(fill_sentence(said["sure"], share, least=least))
    failed = [[one.attack, one.error] for one in found.attacks if one.error is not None]
    if failed:
        page.table([_T["attack"], _T["reason"]], failed)
    cut = next((one.value for one in audit.choices if one.name == "cut in two"), "")
    _add_explanation(page, said["how"].format(cut=cut, people=found.people, left_out=found.left_out))
    page.heading(texts.CHANNELS["heading"])
    channels = describe_channels(found, audit.file.kind == texts.KINDS["gps"])
    for sentence in channels or [texts.CHANNELS["none"]]:
        page.text(sentence)


def _add_inference(page: Page, found: Inference) -> None:
    said = texts.INFERRED
    page.heading(said["heading"])
    page.text(said["lead"])
    places = (("home", found.home), ("work", found.work), ("zones", found.behind_zones))
    known = [(name, one, one.found) for name, one in places if one is not None and one.found is not None]
    rows: list[list[Any]] = []
    for name, one, share in known:
        page.text(fill_sentence(said[name], share, within=one.within_m))
        error_m = None if one.error_m is None else round(one.error_m)
        rows.append([texts.KEY_PLACES[name], *_build_share_row(share), error_m])
    if rows:
        columns = [_T["what"], _T["found"], _T["interval"], _T["guessing"], _T["people"], texts.MEDIAN_ERROR]
        page.table(columns, rows)
    if found.whereabouts is not None:
        there = found.whereabouts
        page.text(
            said["whereabouts"].format(
                release=there.by_release.value, habits=there.by_habits.value, gain=there.gain.value,
                low=there.gain.low, high=there.gain.high,
            )
        )  # fmt: skip
    learned = [one for one in found.sensitive if one.learned is not None]
    if learned:
        page.text(said["sensitive"])
        names = ("category", "places", "learned", "interval", "guessing", "visitors")
        page.table(
            [_T[name] for name in names],
            [[texts.CATEGORIES[one.category], one.places, *_build_share_row(one.learned)] for one in learned],
        )
    else:
        page.text(said["none"])
    _add_explanation(page, said["how"])


def _build_share_row(share: Proportion | None) -> list[Any]:
    if share is None:
        return [None] * 4
    return [f"{share.value:.1%}", f"{share.low:.1%} – {share.high:.1%}", f"{share.chance:.2%}", share.people]


def compare_risks(before: Risks, after: Risks) -> list[tuple[str, Proportion | None, Proportion | None]]:
    """Return the measures of both, next to each other."""
    said, both = texts.CHANGES, []
    for risks in (before, after):
        found: dict[str, Proportion | None] = {}
        if risks.singling_out is not None:
            found |= {said["one"]: risks.singling_out.found.get(1)}
            found |= {said["several"].format(k=HEADLINE): risks.singling_out.headline}
        if risks.linkability is not None:
            two = risks.linkability.home_and_work
            found |= {said["again"]: risks.linkability.headline}
            found |= {said["two_places"]: None if two is None else two.first}
        if risks.inference is not None:
            found |= {said["home"]: risks.inference.home.found, said["work"]: risks.inference.work.found}
            behind = risks.inference.behind_zones
            found |= {} if behind is None else {said["zones"]: behind.found}
        both.append(found)
    return [(name, both[0].get(name), both[1].get(name)) for name in both[0] | both[1]]


def _format_definitions(terms: Mapping[str, str], *, code: bool = False) -> str:
    mark = "code" if code else "span"
    items = (
        f"<dt>{escape(term)}</dt><dd><{mark}>{escape(text)}</{mark}></dd>" for term, text in terms.items()
    )
    return f'<dl class="terms">{"".join(items)}</dl>'


# The section about defences: which were tried, and which holds.


def add_protection_section(page: Page, found: Protection, command: str | None, name: str) -> None:
    """Add the picture, the table, and what was chosen.

    Parameters
    ----------
    command
        What makes the release of the chosen defence.
    name
        The file that is to be protected.
    """
    said = texts.PROTECTED
    page.heading(said["heading"])
    page.text(said["lead"].format(target=found.target))
    for sentence in describe_changes(found):
        page.text(sentence)
    if command is not None:
        page.html_part(f"<p>{escape(said['command'])} <code>{escape(command)}</code></p>")
    figure, table = draw_protection(found)
    page.figure(figure, said["picture"], table=table, name="defences")
    if (virtual := found.virtual) is not None:
        model, people = virtual.synthesizer, virtual.people
        page.text(said["virtual"].format(people=people, synthesizer=model, kept=virtual.kept))
        for sentence in describe_synthetic(virtual.betrayed):
            page.text(sentence)
        words = ("tracearena", "synthesize", model, name, "virtual.csv", "--virtual-users", str(people))
        code = escape(shlex.join(words))
        page.html_part(f"<p>{escape(said['virtual_command'])} <code>{code}</code></p>")
    choosing, proving = found.people
    how = said["how"].format(choosing=choosing, proving=proving, proofs=MOST_PROOFS)
    _add_explanation(page, how)


def describe_outcome(found: Protection) -> str:
    """Say in one line which defence keeps the limits, or the least risk that was reached and by what."""
    if found.proof is not None:
        share = _get_proof_share(found)
        assert share is not None
        risk = format_risk(share, False)
        return texts.MET.format(defence=found.chosen, risk=risk, people=share.people, target=found.target)
    least, said = found.least, []
    if least is not None and least.risk is not None:
        # Where the release was put to the proof, that says more than the people it was chosen on.
        proof = found.proofs.get(least.defence)
        lights = least.lights if proof is None else proof.lights
        linked = (one.share for one in lights if one.question == "linkability" and one.share is not None)
        bad = [one for one in lights if one.question != "linkability" and one.colour in ("red", "amber")]
        also = texts.ALSO.format(what=texts.LIMITED[bad[0].question]) if bad else ""
        reached = format_risk(next(linked, least.risk), least.at_least)
        said.append(texts.LEAST.format(risk=reached, defence=least.defence, also=also))
    if found.least_provable > found.target:
        said.append(texts.TOO_FEW.format(people=min(found.people), least=found.least_provable))
    return texts.NOT_MET.format(tried=len(found.trials), least=" ".join(said)).strip()


def describe_changes(found: Protection) -> list[str]:
    """Say whether the chosen defence moves events to cells, or changes times."""
    trial = next((one for one in found.trials if one.defence == found.chosen), None)
    if trial is None or found.proof is None:
        return []
    said, side = texts.PROTECTED, format_length(found.proof.settings.cell_m)
    defence = catalogue.create(trial.defence, ("obfuscator", "gps-obfuscator", "synthesizer"))
    changes_times = not getattr(defence, "keeps_times", True)
    return [
        *([said["cells"].format(defence=trial.defence, side=side)] if trial.on_cells else []),
        *([said["times"].format(defence=trial.defence)] if changes_times else []),
    ]


def draw_protection(found: Protection) -> tuple[dict[str, Any], Table]:
    """Draw risk against usefulness, a point for each defence that was attacked."""
    known = [one for one in found.trials if one.risk is not None]
    whole = [one for one in known if not one.at_least]
    proved = [replace(one, risk=_get_proof_share(found)) for one in whole if one.defence == found.chosen]
    groups = (
        (texts.LINES["at_least"], [one for one in known if one.at_least], GREY, "triangle-up-open"),
        (texts.LINES["fails"], [one for one in whole if not one.holds], GREY, "circle"),
        (
            texts.LINES["holds"],
            [one for one in whole if one.holds and one.defence != found.chosen],
            BLUE,
            "square",
        ),
        (texts.LINES["proved"], proved, GREEN, "star"),
    )
    merits = {one.defence: (one.kept or 0.0, 1.0 if one.risk is None else -one.risk.value) for one in known}
    # The front: no other keeps at least as much and is at least as safe, but for equals.
    front = {
        defence
        for defence, mine in merits.items()
        if not any(
            kept >= mine[0] and safe >= mine[1] and (kept, safe) != mine for kept, safe in merits.values()
        )
    }
    data = [
        _draw_points(name, trials, colour, symbol, front) for name, trials, colour, symbol in groups if trials
    ]
    highest = max([2 * found.target, *(one.risk.high for one in known if one.risk is not None)])
    layout = {
        "height": 460,
        "xaxis": {"title": {"text": texts.AXES["kept_all"]}, "range": [0, 1.02]},
        "yaxis": {
            "title": {"text": texts.AXES["again"]},
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
    rows: list[list[Any]] = []
    for one in found.trials:
        kept = [one.defence, one.kept, one.kept_of_file]
        if one.risk is None:
            rows.append([*kept, *[None] * 5, one.error or texts.NOT_ATTACKED])
            continue
        risk = f"{_T['at_least']} {one.risk.value:.4f}" if one.at_least else one.risk.value
        ends = (None, None) if one.at_least else (one.risk.low, one.risk.high)
        limits = [f"{texts.QUESTIONS[two.question]} {texts.COLOURS[two.colour]}" for two in one.lights]
        rows.append([*kept, risk, *ends, one.attack, "; ".join(limits), one.error])
    return {"data": data, "layout": layout}, ([_T[one] for one in names], rows)


def _get_proof_share(found: Protection) -> Proportion | None:
    """Return whom the strongest attack finds in the release that was proved."""
    linked = None if found.proof is None else found.proof.risks.linkability
    return None if linked is None else linked.headline


def _draw_points(
    name: str, trials: list[DefenceTrial], colour: str, symbol: str, front: set[str]
) -> dict[str, Any]:
    shares = [one.risk for one in trials if one.risk is not None]
    # Names are broken into their stages, without what only says how long a model is trained.
    labels = []
    for one in trials:
        short, cut, _ = one.defence.partition(",zeros")
        label = f"{short})" if cut else short.replace("+", "<br>+")
        labels.append(label if one.defence in front else "")
    # A risk that is "at least" some value has no interval.
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
        "text": labels,
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


# An audit as files: a page, every number as JSON, and tables.

PAGE, NUMBERS, SHARES, USEFULNESS = "audit.html", "audit.json", "shares.csv", "usefulness.csv"
_COLUMNS = ("of", "question", "measure", "value", "low", "high", "chance", "people")


def write_audit(
    audit: Audit,
    folder: str | PathLike[str],
    *,
    tables: bool = False,
    protection: Protection | None = None,
    command: str | None = None,
    reading: Sequence[str] = (),
) -> list[Path]:
    """Write a new folder with the page and the numbers, and tables if asked for; return its files.

    Parameters
    ----------
    protection, command
        Which defences were tried, and what makes the release of the chosen one.
    reading
        Options by which the file was read, for the command that the page proposes.
    """
    said = audit.to_dict()
    if protection is not None:
        said |= {"headline": describe_outcome(protection)}
        said |= {"protection": protection.to_dict() | {"command": command}}
    names = [PAGE, NUMBERS, *([SHARES, USEFULNESS] if tables else [])]
    with replacing_folder(folder) as made:
        audit_page(audit, protection, command, reading).write(made / PAGE)
        with replacing(made / NUMBERS) as out:
            text = json.dumps(_replace_nan(said), allow_nan=False, indent=1, ensure_ascii=False)
            out.write(text.encode())
        if tables:
            write_csv(made / SHARES, _COLUMNS, iterate_share_rows(audit))
            tasks = () if audit.usefulness is None else audit.usefulness.tasks
            rows = [flatten(task.to_dict()) for task in tasks]
            columns = list(rows[0]) if rows else ["name"]
            write_csv(made / USEFULNESS, columns, ([row[column] for column in columns] for row in rows))
    return [Path(folder) / name for name in names]


def iterate_share_rows(audit: Audit) -> Iterator[list[Any]]:
    """Give every share of people of an audit as a row."""
    records: list[tuple[str, str, Any]] = []
    for of, risks in (("file", audit.before), ("release", audit.after)):
        if risks is not None:
            records += [(of, question, record) for question, record in vars(risks).items()]
    records.append(("release", "synthetic", audit.synthetic))
    for of, question, record in records:
        for path, share in _walk_shares(record, ""):
            yield [of, question, path, share.value, share.low, share.high, share.chance, share.people]


def _walk_shares(value: Any, path: str) -> Iterator[tuple[str, Proportion]]:
    """Walk through records; a part of a list is named by what it holds, or else by its number."""
    if isinstance(value, Proportion):
        yield path, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _walk_shares(one, f"{path} {key}".strip())
    elif isinstance(value, tuple):
        for at, one in enumerate(value):
            sides = [f"{getattr(one, name):g}" for name in ("side_m", "window_s") if hasattr(one, name)]
            named = (getattr(one, name, None) for name in ("attack", "category"))
            part = next((name for name in named if name is not None), " ".join(sides) or str(at))
            yield from _walk_shares(one, f"{path} {part}".strip())
    elif hasattr(value, "__dataclass_fields__"):
        for key, one in vars(value).items():
            yield from _walk_shares(one, f"{path} {key}".strip())


def _replace_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replace_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_replace_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
