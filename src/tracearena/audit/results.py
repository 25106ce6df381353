"""The result of an audit: the file, the answers to three questions, usefulness, and a verdict."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tracearena.audit import texts
from tracearena.audit.inference import Inference
from tracearena.audit.linkability import Linkability
from tracearena.audit.observations import Crowd, Week
from tracearena.audit.settings import AuditChoice, Proportion, Record, Settings, clopper_pearson
from tracearena.audit.singling_out import HEADLINE, SinglingOut
from tracearena.audit.synthetic import Synthetic
from tracearena.audit.texts import format_share
from tracearena.audit.usefulness import Usefulness
from tracearena.dataframes import export_frame
from tracearena.errors import DataError, TracearenaWarning
from tracearena.files import digest_file, digest_values
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import unique_values
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import local_seconds


@dataclass(frozen=True)
class FileFacts(Record):
    """Facts about the audited file, with its digest."""

    name: str
    sha256: str
    kind: str
    people: int
    events: int
    places: int
    days: int


@dataclass(frozen=True)
class Risks(Record):
    """The results for the three questions; None if not measured yet."""

    singling_out: SinglingOut | None = None
    linkability: Linkability | None = None
    inference: Inference | None = None

    @property
    def shares_by_question(self) -> dict[str, list[tuple[str, Proportion | None]]]:
        """The shares by which each question is judged."""
        singled, linked, inferred = self.singling_out, self.linkability, self.inference
        return {
            "singling_out": [("found", None if singled is None else singled.headline)],
            "linkability": [("linked", None if linked is None else linked.headline)],
            "inference": [("home", None)] if inferred is None else inferred.share_items,
        }


@dataclass(frozen=True)
class Audit(Record):
    """The result of an audit of a file, or of a release of it.

    Attributes
    ----------
    file, release
        The audited file, and the release.
    before, after
        The risks of the file with pseudonyms only, and of the release.
    synthetic
        The risks of a synthetic release.
    usefulness
        Usefulness of the data.
    crowd
        Number of people by place, without groups smaller than the owner allows.
    weeks
        The weeks of three people, if the owner asked for them.
    choices
        The settings that were chosen for this file, with reasons.
    settings, seed, version
        Conditions of the measurement; the same conditions give the same numbers.
    complete
        False if the audit was interrupted.
    """

    file: FileFacts
    release: FileFacts | None
    before: Risks
    after: Risks | None
    synthetic: Synthetic | None
    usefulness: Usefulness | None
    crowd: Crowd
    weeks: tuple[Week, ...]
    choices: tuple[AuditChoice, ...]
    settings: Settings
    seed: int
    version: str
    complete: bool = False

    @property
    def risks(self) -> Risks:
        """The risks that the verdict is about: those of the release, if there is one."""
        return self.before if self.after is None else self.after

    @property
    def lights(self) -> tuple[Light, ...]:
        """The coloured answers to the three questions."""
        measured = self.risks.shares_by_question if self.judges_risks else {}
        if self.synthetic is not None:
            measured = {
                question: [*measured.get(question, ()), *found]
                for question, found in self.synthetic.shares_by_question.items()
            }
        linked = self.risks.linkability
        at_least = {"linkability"} if linked is not None and linked.at_least else set()
        return tuple(
            rate_question(question, found, self.settings.limit(question), at_least=question in at_least)
            for question, found in measured.items()
        )

    @property
    def judges_risks(self) -> bool:
        """Whether the verdict depends on the risks; not if the release is synthetic."""
        return self.synthetic is None or self.after is not None

    @property
    def verdict(self) -> LightColour:
        """The worst of the colours; grey if nobody was attacked."""
        return find_worst_colour(self.lights)

    @property
    def headline(self) -> str:
        """The verdict in one line, the same on the terminal, on the page and in JSON."""
        return texts.VERDICTS[self.verdict]

    def risk_by_person(self, library: str = "polars") -> Any:
        """Return a data frame of how easily each person is named, those who are named most often first.

        Columns ``user_id`` (of the original) and ``known_1`` to ``known_6``: how often an attacker who knows
        this many true sightings names the person, in what is judged (`risks`). Of many people it has a random
        sample (`Settings.people`). `library` is ``polars``, ``pandas`` or ``arrow``.

        Warns
        -----
        TracearenaWarning
            Always: the table is about real people. The page and its JSON do not include it.
        """
        import polars as pl

        measured = self.risks.singling_out
        if measured is None:
            raise DataError("the audit has not measured singling out: there is no risk by person")
        warnings.warn(texts.RISK_BY_PERSON, TracearenaWarning, stacklevel=2)
        people = measured.people_found
        columns = {f"known_{k}": share for k, share in enumerate(people.shares.T, start=1)}
        frame = pl.DataFrame({"user_id": people.user_ids, **columns})
        return export_frame(frame.sort(f"known_{HEADLINE}", descending=True, maintain_order=True), library)

    def to_dict(self) -> dict[str, Any]:
        """Return every number as plain values for JSON."""
        said = {
            "verdict": self.verdict,
            "headline": self.headline,
            "lights": [one.to_dict() for one in self.lights],
        }
        return said | super().to_dict()

    def __repr__(self) -> str:
        told = ", ".join(f"{one.question} {one.colour}" for one in self.lights)
        return f"<Audit of {self.file.name}: {self.verdict} ({told})>"

    def _repr_html_(self) -> str:
        return summary_html(self)


def collect_facts(traces: Any, kind: str, given: Any, zone: str | None = None) -> FileFacts:
    """Return what a file is; days are those of the zone."""
    is_gps = isinstance(traces, GpsTraces)
    if is_gps:
        days = len(unique_values(local_seconds(traces.time_ms, zone or "UTC") // DAY_S))
    else:
        days = len(unique_values(traces.clock.day_of(traces.instants)))
    # The digest of a file's bytes, or of the columns of traces.
    path = Path(given) if isinstance(given, (str, PathLike)) else None
    if path is not None and path.is_file():
        digest = digest_file(path)
    else:
        columns = ("offsets", "time_ms", "latitude", "longitude", "instants", "place_index", "codes")
        digest = digest_values(*(getattr(traces, name) for name in columns if hasattr(traces, name)))
    return FileFacts(
        name="traces" if path is None else path.name,
        sha256=digest,
        kind=texts.KINDS[kind],
        people=int((np.diff(traces.offsets) > 0).sum()),
        events=len(traces),
        places=0 if is_gps else len(traces.places),
        days=days,
    )


# Lights: a colour for each of three questions, and a verdict from all of them.

QUESTIONS = ("singling_out", "linkability", "inference")
OVER_GUESSING = ("singling_out", "inference")
"""Questions that are judged by how much more than guessing is found."""
LightColour = Literal["green", "amber", "red", "grey"]
_ORDER: tuple[LightColour, ...] = ("red", "amber", "grey", "green")


@dataclass(frozen=True)
class Light(Record):
    """The answer to one question.

    Attributes
    ----------
    question
        One of `QUESTIONS`.
    colour
        Green if the upper end of the interval is at most the limit, red if the lower end is above it, amber
        otherwise; grey if nothing was measured.
    share
        The measured share.
    what
        The kind of share, a key of `texts.MEASURES`.
    limit
        Limit of the owner, for the share or for its advantage over guessing (`OVER_GUESSING`).
    at_least
        Whether stronger attacks were not run. The colour is then never green.
    """

    question: str
    colour: LightColour
    share: Proportion | None
    what: str
    limit: float
    at_least: bool = False

    @property
    def decisive_share(self) -> Proportion | None:
        """The share that is compared with the limit."""
        return _adjust_for_guessing(self.question, self.share) if self.share is not None else None


def rate_question(
    question: str, measured: Sequence[tuple[str, Proportion | None]], limit: float, *, at_least: bool = False
) -> Light:
    """Judge a question by its worst measure: the worst colour, and of these the highest upper end.

    Of several measures those are left out for which people are so few that they could prove nothing, even if
    none of them were found, such as the visitors of a rare kind of place; unless too many were.
    """
    known = [
        (what, share, _adjust_for_guessing(question, share)) for what, share in measured if share is not None
    ]
    if len(known) > 1:
        # A measure proves something if the limit would be kept if nobody were found.
        known = [
            (what, share, judged)
            for what, share, judged in known
            if judged.colour(limit) != "amber" or clopper_pearson(0, share.people)[1] - share.chance <= limit
        ] or known
    if not known:
        return Light(question, "grey", None, measured[0][0], limit)
    what, share, judged = min(known, key=lambda one: (_ORDER.index(one[2].colour(limit)), -one[2].high))
    colour = judged.colour(limit)
    return Light(
        question, "amber" if at_least and colour == "green" else colour, share, what, limit, at_least
    )


def _adjust_for_guessing(question: str, share: Proportion) -> Proportion:
    return share.advantage if question in OVER_GUESSING else share


def find_worst_colour(lights: Sequence[Light]) -> LightColour:
    """Return the colour of the verdict: the worst of what was measured; grey unless people were looked for.

    A question without anything to measure, such as the homes of people who are never seen at night, does
    not stand in the way.
    """
    found = [one.colour for one in lights if one.colour != "grey"]
    is_linked = any(one.question == "linkability" and one.colour != "grey" for one in lights)
    return min([*found, *(() if is_linked else ("grey",))], key=_ORDER.index, default="grey")


# Summaries for a terminal and for a notebook.

DOTS = {"green": "#009E73", "amber": "#E69F00", "red": "#D55E00", "grey": "#8C8C8C"}


def describe_measure(light: Light, within_m: float) -> str:
    """Return what a light's number is a share of."""
    return texts.MEASURES[light.what].format(within=within_m)


def format_number(light: Light) -> str:
    """Write a light's number with its interval, or that it is at least this much."""
    assert light.share is not None
    return f"at least {format_share(light.share)}" if light.at_least else format_share(light.share)


def explain_light(light: Light) -> str:
    """Return what a light's colour means."""
    said = texts.SENTENCES[light.colour].format(limit=light.limit, why=texts.WHY_GREY[light.question])
    if light.at_least and light.decisive_share is not None:
        is_within = light.decisive_share.colour(light.limit) == "green"
        return texts.AT_LEAST if is_within else f"{texts.AT_LEAST} {said}"
    if light.question not in OVER_GUESSING or light.decisive_share is None:
        return said
    return f"{texts.OVER_GUESSING.format(**light.decisive_share.to_dict())} {said}"


def summarise_lines(audit: Audit) -> dict[str, Any]:
    """Return the verdict and the three answers, by name, for people on a terminal."""
    found: dict[str, Any] = {"verdict": f"{audit.verdict}: {audit.headline}"}
    for light in audit.lights:
        found[light.question] = str(light.colour)
        if light.share is not None:
            what = describe_measure(light, audit.settings.within_m)
            found[light.question] += f": {format_number(light)} {what}"
    if any(light.at_least for light in audit.lights):
        found["not_tried"] = texts.AT_LEAST
    if audit.usefulness is not None and audit.usefulness.kept is not None:
        whole = audit.usefulness.kept_of_file or 0.0
        found["usefulness"] = (
            f"{audit.usefulness.kept:.0%} kept on average over six tasks, {whole:.0%} "
            "compared with the original file"
        )
    return found


def summary_html(audit: Audit) -> str:
    """Show an audit in a notebook: verdict, lights, numbers."""
    from tracearena.pages.html import load_templates

    lights = []
    for light in audit.lights:
        answer = "–"
        if light.share is not None:
            answer = f"{format_number(light)} {describe_measure(light, audit.settings.within_m)}"
        question = texts.QUESTIONS[light.question]
        lights.append({"dot": DOTS[light.colour], "question": question, "answer": answer})
    useful = audit.usefulness
    kept = None
    if useful is not None and useful.kept is not None:
        kept = texts.KEPT.format(kept=useful.kept, whole=useful.kept_of_file or 0.0)
    template = load_templates().get_template("audit/templates/summary.html")
    title = texts.TITLE.format(name=audit.file.name)
    return template.render(title=title, headline=audit.headline, lights=lights, kept=kept)
