"""SVG pictures of defences: what cheating gains, what further attacks leave, how far events were moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracearena.arena.claims import check_shuffling_hides_names
from tracearena.arena.sweep import SweepRow
from tracearena.i18n import translate
from tracearena.pages.contest_data import (
    BIN_KM,
    Displacements,
    TeamStyle,
    format_badge,
    join_names,
)
from tracearena.pages.html import BLUE, GREY, VERMILION
from tracearena.pages.svg.canvas import (
    ROOM_FOR_MARKERS,
    SCORE_TICKS,
    WIDTH,
    Area,
    Canvas,
    Picture,
    Ticks,
    draw_axis_below,
    draw_axis_left,
    draw_marker,
    format_legend,
    isolate_name,
    make_hint,
    shorten_name,
)

_NAMES_HIDDEN = TeamStyle(BLUE, "circle")
_PLACES_HIDDEN = TeamStyle(VERMILION, "square")
_USEFULNESS = TeamStyle(GREY, "triangle-up")


def cheating_picture(
    cheating: Sequence[SweepRow], undefended: Sequence[SweepRow], *, name: str = "cheating"
) -> Picture:
    """Draw both kinds of privacy and the utility, by the share of people who swap their traces.

    Parameters
    ----------
    cheating
        Rows of the cheating anonymization with different shares of people.
    undefended
        The row without any defence under the same attacks, for comparison.
    """
    shares = [float(row.defence.partition("(")[2].rstrip(")")) for row in cheating]
    caption = (
        f"In this contest, this {check_shuffling_hides_names([*undefended, *cheating])}. The contest scores "
        "both, and awards the defence by whereabouts."
    )
    lines = (
        ("people not identified", _NAMES_HIDDEN, [row.scores.s_R_min for row in cheating]),
        ("whereabouts hidden", _PLACES_HIDDEN, [row.scores.s_T_min for row in cheating]),
        ("usefulness", _USEFULNESS, [row.utility for row in cheating]),
    )
    area = Area(66, 12, WIDTH - 84, 320, ROOM_FOR_MARKERS, ROOM_FOR_MARKERS)
    canvas = Canvas(
        WIDTH, area.bottom + 52, name=name, title="Scores of the cheating team", description=caption
    )
    draw_axis_below(canvas, area, _list_percents(1.0), "people whose traces are swapped")
    draw_axis_left(canvas, area, SCORE_TICKS, "score", good="up is better")
    for words, style, values in lines:
        known = [(share, value) for share, value in zip(shares, values, strict=True) if value is not None]
        points = " ".join(f"{area.x(share):.1f},{area.y(value):.1f}" for share, value in known)
        canvas.draw("polyline", points=points, fill="none", stroke=style.colour, stroke_width=3)
        for share, value in known:
            hint = f"{words}, {share:.0%} swapped: {value:.3f}"
            canvas.add(draw_marker(area.x(share), area.y(value), style.marker, style.colour, title=hint))
    rows = tuple(zip(shares, *(values for _, _, values in lines), strict=True))
    header = ("swapped", "s_R_min", "s_T_min", "utility")
    legend = format_legend([format_badge(words, style) for words, style, _ in lines])
    return Picture(canvas.markup(), caption, header, rows, legend)


# What the contest's attacks leave, and what further ones leave.


_LANE = 54.0
_OF_CONTEST, _OF_ALL, _BAND = TeamStyle(BLUE, "diamond"), TeamStyle(VERMILION, "circle"), GREY
_TABLE = (
    "defence", "utility", "s_T_min_contest", "strongest_T_contest", "s_T_min", "strongest_T",
    "s_T_estimate", "s_T_ceiling", "s_R_min_contest", "s_R_min", "strongest_R",
)  # fmt: skip


def afterwards_picture(
    rows: Sequence[SweepRow],
    contest_attacks: Sequence[str],
    teams: Mapping[str, str] | None = None,
    *,
    name: str = "afterwards",
) -> Picture:
    """Draw s_T,min of the defences under the attacks of the contest, and under all attacks.

    A grey band shows the range in which s_T,min must lie.

    Parameters
    ----------
    rows
        The defences, each under all attacks.
    contest_attacks
        The attacks of the contest.
    teams
        Names of the teams, by their defence.
    """
    caption = _describe_afterwards(rows, contest_attacks)
    area = Area(16, 4, WIDTH - 32, _LANE * len(rows), ROOM_FOR_MARKERS)
    canvas = Canvas(WIDTH, area.bottom + 52, name=name, title="After the awards", description=caption)
    words, good = translate("whereabouts hidden"), translate("right is better")
    draw_axis_below(canvas, area, SCORE_TICKS, words, "s_T,min", good)
    for lane, row in enumerate(rows):
        y, defence = area.top + _LANE * lane + 37, isolate_name(row.defence, 40)
        label = f"{teams[row.defence]}: {row.defence}" if teams and row.defence in teams else row.defence
        canvas.name(area.left, y - 17, label, room=52, class_="halo")
        if row.band is not None:
            left, right = area.x(row.band.estimate), area.x(row.band.ceiling)
            ends = f"from {row.band.estimate:.3f} (estimate) to {row.band.ceiling:.3f}"
            hint = make_hint(f"{defence}: {ends}")
            canvas.draw("rect", hint, x=left, y=y - 5, width=max(right - left, 1.0), height=10, fill=_BAND,
                        fill_opacity=0.45, class_="band")  # fmt: skip
        before = _find_least(row.scores.trace_inference, contest_attacks)
        # Where both are equal, the tips of the diamond stand out behind the circle.
        marks = (
            ("attacks of the contest", before, _OF_CONTEST, True),
            ("all attacks", row.scores.s_T_min, _OF_ALL, False),
        )
        for label, value, style, hollow in marks:
            if value is not None:
                hint = f"{defence}, {label}: {value:.3f}"
                canvas.add(
                    draw_marker(area.x(value), y, style.marker, style.colour, hollow=hollow, title=hint)
                )
    legend = format_legend(
        [
            format_badge("attacks of the contest", _OF_CONTEST, hollow=True),
            format_badge("all attacks", _OF_ALL),
            format_badge("possible range", TeamStyle(_BAND, "square")),
        ]
    )
    table = tuple(_build_number_row(row, contest_attacks) for row in rows)
    return Picture(canvas.markup(), caption, _TABLE, table, legend)


def _find_least(scores: Mapping[str, float], names: Iterable[str]) -> float | None:
    return min((scores[name] for name in names if name in scores), default=None)


def _describe_afterwards(rows: Sequence[SweepRow], contest_attacks: Sequence[str]) -> str:
    """Return what the picture shows, in numbers."""
    known = [(row, _find_least(row.scores.trace_inference, contest_attacks)) for row in rows]
    lost = [
        (before - row.scores.s_T_min, row.defence)
        for row, before in known
        if before is not None and row.scores.s_T_min is not None
    ]
    if not lost:
        return "No attack of the contest inferred whereabouts."
    most, defence = max(lost)
    told = f"The additional attacks reduce the score of {defence} most: by {most:.3f}." if most > 0 else ""
    over = [row.defence for row, before in known if row.band and before and before > row.band.ceiling]
    if over:
        told += (
            f" Against the attacks of the contest, the score of {join_names(over)} is higher than that "
            "of habits alone. No release can hide more than that, so the attacks were weak."
        )
    return told.strip() or "The additional attacks find out no more than those of the contest."


def _build_number_row(row: SweepRow, contest_attacks: Sequence[str]) -> tuple[Any, ...]:
    scores, band = row.scores, row.band or (None, None)
    before = {name: score for name, score in scores.trace_inference.items() if name in contest_attacks}
    strongest = min(before, key=before.__getitem__, default=None)
    return (
        *(row.defence, row.utility, _find_least(before, before), strongest),
        *(scores.s_T_min, scores.strongest[1], *band),
        *(_find_least(scores.reidentification, contest_attacks), scores.s_R_min, scores.strongest[0]),
    )


# How far events were moved.


_BAR, _BETWEEN, _LABELS = 13.0, 9.0, 112.0


def displacement_picture(
    moved: Mapping[str, Displacements],
    limit_km: float,
    styles: Mapping[str, TeamStyle],
    *,
    name: str = "displacement",
) -> Picture:
    """Draw the shares of all events by how far they were moved, a bar for each team.

    Parameters
    ----------
    moved
        What teams did to their events, by team.
    limit_km
        Distance in km from which a place is useless.
    """
    labels = next(iter(moved.values())).labels
    shares = {team: one.shares.tolist() for team, one in moved.items()}
    left_there = "; ".join(
        f"{isolate_name(team)} released {share[0]:.0%} of all events at their original place"
        for team, share in shares.items()
    )
    caption = (
        f"Distances between original and released events: {left_there}. A set of "
        "places counts with its mean distance."
    )
    most = max(max(share) for share in shares.values())
    lane = _BAR * len(shares) + _BETWEEN
    area = Area(_LABELS, 8, WIDTH - _LABELS - 18, lane * len(labels), (0.0, max(most, 0.01)))
    canvas = Canvas(
        WIDTH, area.bottom + 52, name=name, title="How far events were moved", description=caption
    )
    draw_axis_below(canvas, area, _list_percents(area.across[1]), "share of all events")
    for row, label in enumerate(labels):
        top = area.top + lane * row
        canvas.words(_LABELS - 8, top + lane / 2 + 5, label, text_anchor="end", class_="soft")
        for bar, (team, share) in enumerate(shares.items()):
            hint = make_hint(f"{isolate_name(team)}, {label}: {share[row]:.1%}")
            canvas.draw("rect", hint, x=area.left, y=top + _BETWEEN / 2 + _BAR * bar,
                        width=area.x(share[row]) - area.left, height=_BAR, fill=styles[team].colour,
                        class_="mark")  # fmt: skip
    y = area.top + lane * (1 + limit_km / BIN_KM)
    canvas.draw("line", x1=_LABELS, y1=y, x2=area.right, y2=y, stroke=VERMILION, stroke_width=2,
                stroke_dasharray="4 4", class_="limit")  # fmt: skip
    canvas.words(area.right, y - 6, f"utility 0 from {limit_km:g} km", text_anchor="end",
                 class_="strong halo")  # fmt: skip
    header = ("distance", *(shorten_name(team, 40) for team in shares))
    rows = tuple((label, *(share[row] for share in shares.values())) for row, label in enumerate(labels))
    legend = format_legend([format_badge(team, TeamStyle(styles[team].colour, "square")) for team in shares])
    return Picture(canvas.markup(), caption, header, rows, legend)


def _list_percents(top: float) -> Ticks:
    """Return at most six ticks from 0 to a share."""
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if top / step <= 5 or step == 0.2)
    return [(step * i, f"{step * i:.0%}") for i in range(int(top / step + 1e-9) + 1)]
