"""The page of an audit: lights and verdict first, then a section for each question."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tracearena.audit import labels, pictures, words
from tracearena.audit.inference import Inference
from tracearena.audit.linkability import BY_DAYS, Linkability
from tracearena.audit.phrases import duration, filled, length, percent, risk_words, synthetic_sentences
from tracearena.audit.protection import Protection
from tracearena.audit.protection_page import outcome, protection_section
from tracearena.audit.records import Audit, Risks
from tracearena.audit.shares import Share
from tracearena.audit.side_channels import channel_sentences
from tracearena.audit.singling_out import HEADLINE, SinglingOut
from tracearena.audit.summary import measure, told
from tracearena.audit.synthetic import Synthetic
from tracearena.audit.usefulness import Usefulness
from tracearena.audit.verdict import Light
from tracearena.pages.html import Page
from tracearena.pages.maps import place_map
from tracearena.traces import Places

_T = words.TABLE
_FEWEST_MATCHES = 10
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
    page = Page(_title(audit), lead=_lead(audit))
    if not audit.complete:
        page.html_part(f'<p class="warning" role="alert">{escape(words.INCOMPLETE)}</p>')
    if audit.settings.quick:
        page.html_part(f'<p class="warning">{escape(words.QUICK.format(people=audit.settings.people))}</p>')
    _verdict(page, audit, protection, reading)
    _lights(page, audit)
    risks = audit.risks
    if protection is not None:
        protection_section(page, protection, command, audit.file.name)
    if audit.synthetic is not None:
        _synthetic(page, audit.synthetic)
    if audit.after is not None:
        _changes(page, audit.before, audit.after)
    if audit.judges_risks:
        if risks.singling_out is not None:
            _singling_out(page, risks.singling_out, audit)
        if risks.linkability is not None:
            _linkability(page, risks.linkability, audit)
            _channels(page, risks.linkability, audit)
        if risks.inference is not None:
            _inference(page, risks.inference)
    if audit.usefulness is not None:
        _usefulness(page, audit.usefulness)
    _crowd(page, audit)
    if audit.weeks:
        _weeks(page, audit)
    _chosen(page, audit)
    _limits(page)
    _glossary(page)
    return page


def _title(audit: Audit) -> str:
    if audit.release is None:
        return words.TITLE.format(name=audit.file.name)
    return words.TITLE_RELEASED.format(name=audit.file.name, release=audit.release.name)


def _lead(audit: Audit) -> str:
    facts = audit.file.to_dict()
    return words.LEAD.format(**facts, version=audit.version)


def _verdict(page: Page, audit: Audit, protection: Protection | None, reading: Sequence[str]) -> None:
    options = "".join(f" {shlex.quote(word)}" for word in reading)
    protect = words.PROTECT.format(
        name=shlex.quote(audit.file.name), reading=options, target=audit.settings.found_again
    )
    headline, todo = audit.headline, words.WHAT_TO_DO[audit.verdict].format(protect="\0")
    if protection is not None:
        headline = outcome(protection)
        todo = words.NOT_MET_TODO if protection.chosen is None else words.MET_TODO
    marked = escape(todo).replace("\0", f"<code>{escape(protect)}</code>")
    colour = audit.verdict if protection is None or protection.chosen is not None else "red"
    page.html_part(
        f'<div class="verdict {colour}"><p><strong>{escape(headline)}</strong></p><p>{marked}</p></div>'
    )


def _lights(page: Page, audit: Audit) -> None:
    items = "".join(_light(light, audit) for light in audit.lights)
    page.html_part(f'<ul class="lights">{items}</ul>')


def _light(light: Light, audit: Audit) -> str:
    number, what, interval = "–", "", ""
    if light.share is not None:
        share = light.share
        number = risk_words(share, True) if light.at_least else percent(share.value)
        what = measure(light, audit.settings.within_m)
        interval = filled(labels.INTERVAL, share)
    colour = words.COLOURS[light.colour]
    return (
        f'<li class="{light.colour}"><h2>{escape(words.QUESTIONS[light.question])}</h2>'
        f'<p class="lamp"><i aria-hidden="true"></i> {escape(colour)}</p>'
        f'<p class="big">{escape(number)}</p><p>{escape(what)}</p>'
        f"<p><small>{escape(interval)} {escape(told(light))}</small></p></li>"
    )


def _how(page: Page, text: str) -> None:
    page.html_part(
        f'<details class="how"><summary>{escape(labels.HOW)}</summary><p>{escape(text)}</p></details>'
    )


def _singling_out(page: Page, found: SinglingOut, audit: Audit) -> None:
    said = words.SINGLED
    page.heading(said["heading"])
    page.text(said["lead"])
    if found.headline is not None:
        page.text(filled(said["found"], found.headline, k=HEADLINE))
    figure, table = pictures.curves(found)
    page.figure(figure, said["curves"].format(message=_stops(found)), table=table, name="points")
    figure, table = pictures.heat(found)
    page.figure(figure, said["heat"], table=table, name="coarseness")
    night = found.night[0] if found.night else None
    if night is not None and night.alone is not None:
        figure, table = pictures.groups(found)
        few = sum(people for first, people in night.sizes.items() if 1 < first < 10)
        where = "" if night.side_m == 0 else labels.IN_CELLS.format(side=length(night.side_m))
        caption = said["night"].format(value=night.alone.value, few=few, smallest=9, where=where)
        page.figure(figure, caption, table=table, name="night-time-groups")
    settings = audit.settings
    _how(page, said["how"].format(people=settings.people, draws=settings.draws))


def _stops(found: SinglingOut) -> str:
    """Say at which coarseness four points stop singling out half of the people."""
    said = words.SINGLED
    finest, coarsest = found.coarseness[0], found.coarseness[-1]
    if finest.unique[HEADLINE].value < 0.5:
        return said["never"].format(side=length(finest.side_m), window=duration(finest.window_s))
    for one in found.coarseness:
        if one.unique[HEADLINE].value < 0.5:
            return said["falls"].format(side=length(one.side_m), window=duration(one.window_s))
    return said["stays"].format(side=length(coarsest.side_m), window=duration(coarsest.window_s))


def _linkability(page: Page, found: Linkability, audit: Audit) -> None:
    said = words.LINKED
    page.heading(said["heading"])
    page.text(said["lead"])
    first = found.headline
    if first is None:
        page.text(words.SENTENCES["grey"].format(why=words.WHY_GREY["linkability"]))
        return
    figure, table = pictures.attacks(found)
    caption = filled(
        said["attacks"], first, strongest=found.strongest, at_least=said["at_least"] if found.at_least else ""
    )
    page.figure(figure, caption, table=table, name="attacks", least_width_px=_WIDE_PX)
    if found.home_and_work is not None and found.home_and_work.first is not None:
        page.text(filled(said["home_and_work"], found.home_and_work.first))
    if len(found.days) > 1:
        figure, table = pictures.days(found)
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
        figure, table = pictures.evidence(found)
        page.figure(figure, said["evidence"], table=table, name="evidence", least_width_px=_WIDE_PX)
    for least, share in found.sure.items():
        if share.people >= _FEWEST_MATCHES:
            page.text(filled(said["sure"], share, least=least))
    failed = [[one.attack, one.error] for one in found.attacks if one.error is not None]
    if failed:
        page.table([_T["attack"], _T["reason"]], failed)
    cut = next((one.value for one in audit.choices if one.name == "cut in two"), "")
    _how(page, said["how"].format(cut=cut, people=found.people, left_out=found.left_out))


def _channels(page: Page, found: Linkability, audit: Audit) -> None:
    if found.headline is None:
        return
    page.heading(words.CHANNELS["heading"])
    said = channel_sentences(found, audit.file.kind == words.KINDS["gps"])
    for sentence in said or [words.CHANNELS["none"]]:
        page.text(sentence)


def _inference(page: Page, found: Inference) -> None:
    said = words.INFERRED
    page.heading(said["heading"])
    page.text(said["lead"])
    told = (("home", found.home), ("work", found.work), ("zones", found.behind_zones))
    known = [(name, one, one.found) for name, one in told if one is not None and one.found is not None]
    for name, one, share in known:
        page.text(filled(said[name], share, within=one.within_m))
    rows = [[words.KEY_PLACES[name], *_row(share), _rounded(one.error_m)] for name, one, share in known]
    if rows:
        columns = [_T["what"], _T["found"], _T["interval"], _T["guessing"], _T["people"], labels.MEDIAN_ERROR]
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
        columns = [
            _T["category"],
            _T["places"],
            _T["learned"],
            _T["interval"],
            _T["guessing"],
            _T["visitors"],
        ]
        page.table(
            columns, [[words.CATEGORIES[one.category], one.places, *_row(one.learned)] for one in learned]
        )
    else:
        page.text(said["none"])
    _how(page, said["how"])


def _row(share: Share | None) -> list[Any]:
    if share is None:
        return [None] * 4
    return [f"{share.value:.1%}", f"{share.low:.1%} – {share.high:.1%}", f"{share.chance:.2%}", share.people]


def _rounded(metres: float | None) -> int | None:
    return None if metres is None else round(metres)


def _synthetic(page: Page, found: Synthetic) -> None:
    page.heading(words.SYNTHETIC["heading"])
    for sentence in synthetic_sentences(found):
        page.text(sentence)


def _changes(page: Page, before: Risks, after: Risks) -> None:
    measures = compared(before, after)
    if any(share is not None for _, _, share in measures):
        page.heading(words.CHANGED["heading"])
        figure, table = pictures.changes(measures)
        page.figure(figure, words.CHANGED["caption"], table=table, name="changes", least_width_px=_WIDE_PX)


def compared(before: Risks, after: Risks) -> list[tuple[str, Share | None, Share | None]]:
    """Return the measures of both, beside each other."""
    both = [_measures(one) for one in (before, after)]
    return [(name, both[0].get(name), both[1].get(name)) for name in both[0] | both[1]]


def _measures(risks: Risks) -> dict[str, Share | None]:
    found: dict[str, Share | None] = {}
    said = labels.CHANGES
    if risks.singling_out is not None:
        singled = risks.singling_out.found
        found |= {said["one"]: singled.get(1), said["several"].format(k=HEADLINE): singled.get(HEADLINE)}
    if risks.linkability is not None:
        found[said["again"]] = risks.linkability.headline
        two = risks.linkability.home_and_work
        found[said["two_places"]] = None if two is None else two.first
    if risks.inference is not None:
        found |= {said["home"]: risks.inference.home.found, said["work"]: risks.inference.work.found}
        behind = risks.inference.behind_zones
        found |= {} if behind is None else {said["zones"]: behind.found}
    return found


def _usefulness(page: Page, found: Usefulness) -> None:
    said = words.USEFUL
    page.heading(said["heading"])
    page.text(said["lead"] if found.kept is not None else said["alone"])
    figure, table = pictures.tasks(found)
    whole = found.kept_of_file or 0.0
    caption = said["chance"] if found.kept is None else said["kept"].format(kept=found.kept, whole=whole)
    page.figure(figure, caption, table=table, name="usefulness", least_width_px=_WIDE_PX)
    _how(page, said["how"])


def _crowd(page: Page, audit: Audit) -> None:
    crowd, said = audit.crowd, words.CROWD
    page.heading(said["heading"])
    if not crowd.people:
        page.text(said["none"].format(smallest=crowd.smallest_group))
        return
    caption = said["caption"].format(
        places=len(crowd.people), smallest=crowd.smallest_group, hidden=crowd.hidden
    )
    page.figure(place_map(crowd.places(), crowd.people, what="people"), caption)


def _weeks(page: Page, audit: Audit) -> None:
    said = words.WEEKS
    page.heading(said["heading"])
    page.text(said["lead"])
    for week in audit.weeks:
        places = Places(list(week.latitude), list(week.longitude))
        caption = said["caption"].format(who=week.who, exposure=week.exposure, places=len(week.events))
        if week.events:
            page.figure(place_map(places, week.events, what="events", height=420), caption)
        else:
            page.text(caption)


def _chosen(page: Page, audit: Audit) -> None:
    said = words.CHOSEN
    page.heading(said["heading"])
    page.text(said["lead"])
    page.table(
        [_T["what"], _T["value"], _T["reason"]], [[one.name, one.value, one.reason] for one in audit.choices]
    )
    facts = {labels.SEED: str(audit.seed), labels.DIGEST: audit.file.sha256}
    if audit.release is not None:
        facts[labels.RELEASE_DIGEST] = audit.release.sha256
    page.html_part(_definitions(facts, code=True))


def _limits(page: Page) -> None:
    page.heading(words.LIMITS_HEADING)
    page.html_part("<ul>" + "".join(f"<li>{escape(item)}</li>" for item in words.LIMITS) + "</ul>")


def _glossary(page: Page) -> None:
    page.heading(words.GLOSSARY_HEADING)
    page.html_part(_definitions(words.GLOSSARY))


def _definitions(terms: Mapping[str, str], *, code: bool = False) -> str:
    mark = "code" if code else "span"
    items = (
        f"<dt>{escape(term)}</dt><dd><{mark}>{escape(text)}</{mark}></dd>" for term, text in terms.items()
    )
    return f'<dl class="terms">{"".join(items)}</dl>'
