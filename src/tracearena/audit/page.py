"""The page of an audit, and its files.

`audit_page` computes what ``templates/audit.html`` shows; `write_audit` writes the page with every number as
JSON and, if asked for, tables.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.algorithms import catalogue
from tracearena.audit import charts, texts
from tracearena.audit.inference import Inference, KeyPlace
from tracearena.audit.linkability import BY_DAYS, describe_channels
from tracearena.audit.protection import MOST_PROOFS, DefenceTrial, Protection
from tracearena.audit.results import Audit, Risks, describe_measure, explain_light
from tracearena.audit.settings import Proportion
from tracearena.audit.singling_out import HEADLINE, SinglingOut
from tracearena.audit.texts import format_risk, format_seconds, format_side
from tracearena.dataframes import flatten
from tracearena.files import replacing, replacing_folder, write_csv
from tracearena.pages.html import BLUE, GREEN, GREY, VERMILION, Page, Table
from tracearena.pages.place_maps import place_map
from tracearena.traces import Places

_T = texts.TABLE


def audit_page(
    audit: Audit,
    protection: Protection | None = None,
    command: str | None = None,
    reading: Sequence[str] = (),
) -> Page:
    """Build the page of an audit. It names nobody and shows no place of a single person.

    Parameters
    ----------
    protection
        Which defences were tried.
    command
        The command that makes the release of the chosen defence.
    reading
        Options by which the file was read, for the command that the page proposes.
    """
    linked = audit.risks.linkability
    title = texts.TITLE.format(name=audit.file.name)
    if audit.release is not None:
        title = texts.TITLE_RELEASED.format(name=audit.file.name, release=audit.release.name)
    return Page(
        "audit/templates/audit.html",
        title=title,
        audit=audit,
        protection=protection,
        command=command,
        colour=audit.verdict if protection is None or protection.chosen is not None else "red",
        headline=audit.headline if protection is None else describe_outcome(protection),
        protect=_propose_command(audit, reading),
        changes=[] if protection is None else describe_changes(protection),
        most_proofs=MOST_PROOFS,
        virtual_command=_propose_virtual(audit, protection),
        drawn=_draw_figures(audit, protection),
        known_points=HEADLINE,
        by_days=BY_DAYS,
        coarse=_find_coarseness(audit.risks.singling_out),
        choices=[[one.name, one.value, one.reason] for one in audit.choices],
        cut=next((one.value for one in audit.choices if one.name == "cut in two"), ""),
        failed=[] if linked is None else [[one.attack, one.error] for one in linked.attacks if one.error],
        channels=[] if linked is None else describe_channels(linked, audit.file.kind == texts.KINDS["gps"]),
        key_places=_list_key_places(audit.risks.inference),
        texts=texts,
        describe_measure=lambda light: describe_measure(light, audit.settings.within_m),
        explain_light=explain_light,
    )


def _propose_command(audit: Audit, reading: Sequence[str]) -> str:
    """Return the command that looks for a defence of the audited file."""
    target = f"{audit.settings.found_again:.0%}"
    words = ("tracearena", "protect", audit.file.name, "safer.csv", *reading, "--target-risk", target)
    return shlex.join((*words, "--out", "protected"))


def _propose_virtual(audit: Audit, protection: Protection | None) -> str:
    """Return the command that makes people who never lived, where they were tried."""
    if protection is None or protection.virtual is None:
        return ""
    model, people = protection.virtual.synthesizer, str(protection.virtual.people)
    words = ("tracearena", "synthesize", model, audit.file.name, "virtual.csv", "--virtual-users", people)
    return shlex.join(words)


def _draw_figures(
    audit: Audit, protection: Protection | None
) -> dict[str, tuple[charts.Figure, Table | None]]:
    """Draw what was measured, each figure by its name with the numbers behind it."""
    risks, crowd = audit.risks if audit.judges_risks else Risks(), audit.crowd
    drawn: dict[str, tuple[charts.Figure, Table | None]] = {}
    if protection is not None:
        drawn["defences"] = draw_protection(protection)
    if audit.after is not None:
        measures = compare_risks(audit.before, audit.after)
        if any(share is not None for _, _, share in measures):
            drawn["changes"] = charts.draw_changes(measures)
    if (singled := risks.singling_out) is not None:
        drawn["points"] = charts.draw_finding_curves(singled)
        drawn["coarseness"] = charts.draw_uniqueness_heat_map(singled)
        if singled.night and singled.night[0].alone is not None:
            drawn["night-time-groups"] = charts.draw_night_groups(singled)
    if (linked := risks.linkability) is not None and linked.headline is not None:
        drawn["attacks"] = charts.draw_attacks(linked)
        if len(linked.days) > 1:
            drawn["days-of-reference"] = charts.draw_reference_days(linked)
        if linked.evidence:
            drawn["evidence"] = charts.draw_evidence(linked)
    if audit.usefulness is not None:
        drawn["usefulness"] = charts.draw_tasks(audit.usefulness)
    if crowd.people:
        drawn["crowd"] = place_map(crowd.places(), crowd.people, what="people"), None
    for number, week in enumerate(audit.weeks, 1):
        if week.events:
            places = Places(list(week.latitude), list(week.longitude))
            drawn[f"week-{number}"] = place_map(places, week.events, what="events", height=420), None
    return drawn


def _find_coarseness(found: SinglingOut | None) -> dict[str, Any]:
    """Find the coarseness at which four points stop singling out half of the people, or the last one."""
    if found is None:
        return {}
    few = [one.unique[HEADLINE].value < 0.5 for one in found.coarseness]
    one = found.coarseness[few.index(True) if any(few) else -1]
    fate = "never" if few[0] else "falls" if any(few) else "stays"
    return {"fate": fate, "side": format_side(one.side_m), "window": format_seconds(one.window_s)}


def _list_key_places(found: Inference | None) -> list[tuple[str, KeyPlace, Proportion]]:
    """Return the places that were looked for and could be judged, by their keys of `texts.KEY_PLACES`."""
    if found is None:
        return []
    places = (("home", found.home), ("work", found.work), ("zones", found.behind_zones))
    return [(name, one, one.found) for name, one in places if one is not None and one.found is not None]


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


# The defences that were tried, and which holds.


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
    """Return whether the chosen defence moves events to cells, or changes times."""
    trial = next((one for one in found.trials if one.defence == found.chosen), None)
    if trial is None or found.proof is None:
        return []
    side = format_side(found.proof.settings.cell_m)
    defence = catalogue.create(trial.defence, ("obfuscator", "gps-obfuscator", "synthesizer"))
    changes_times = not getattr(defence, "keeps_times", True)
    return [
        *([texts.ON_CELLS.format(defence=trial.defence, side=side)] if trial.on_cells else []),
        *([texts.OTHER_TIMES.format(defence=trial.defence)] if changes_times else []),
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
        The defences that were tried, and the command that makes the release of the chosen one.
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
