"""SVG pictures of scores: matrix of attacks, awards with margins, podium, privacy, usefulness, gauge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import Any, NamedTuple

from tracearena.arena.sweep import SweepRow
from tracearena.contest.board import NOT_ATTACKED, AttackKind, Award, Board, BoardRow, Role, Standing
from tracearena.contest.report_data import estimate_margin, select_compared_rows
from tracearena.contest.rules import Rules
from tracearena.i18n import join_sentences, mark_for_translation, translate, translate_count
from tracearena.pages.contest_data import (
    QUESTIONS,
    SAMPLE,
    AttackTable,
    TeamStyle,
    assign_team_styles,
    build_attack_table,
    data_set_label,
    describe_attack_table,
    describe_costs,
    describe_privacies,
    find_tied_teams,
    format_badge,
    join_names,
    list_names,
    select_challenge_rows,
)
from tracearena.pages.html import BLUE, GREEN, GREY, VERMILION, YELLOW
from tracearena.pages.svg.canvas import (
    DECIMALS,
    LARGE_LETTER,
    ROOM_FOR_MARKERS,
    SCORE_TICKS,
    WIDTH,
    Area,
    Canvas,
    Picture,
    choose_ink,
    draw_axis_below,
    draw_axis_left,
    draw_marker,
    element,
    format_legend,
    isolate_name,
    make_hint,
    measure_width,
    replace_invisible,
    shorten_name,
    viridis,
    wrap_name,
)

_ROOM, _NAME_LINES = 22, 3
"""Letters in a line of a name next to a bar, and the most lines."""
_MATRIX_ROOM = 36
"""Letters of a name next to a matrix, and above it; a longer one is shortened."""
_LETTER = 8.7
_MINIMUM = 80.0
_CELL, _ROW = 46.0, 26.0
_FOOT = 62.0
_LEAN = math.radians(50)
"""How far the names of columns lean to the right."""
_BOX = {"width": _CELL - 2, "height": _ROW - 2}
_FRAME = element("rect", fill="none", stroke=VERMILION, stroke_width=3, **_BOX)
_FLAG = element("path", d=f"M{_CELL - 13.5:g} 1.5h10v10z", fill=YELLOW, class_="flag")


def matrix_picture(
    board: Board,
    kind: AttackKind,
    data_set: int | None = None,
    *,
    closed: bool = False,
    decimals: int = DECIMALS,
) -> Picture:
    """Draw the privacy score of every target under every attacker, from 0 (dark) to 1 (bright).

    The strongest attack on each target is framed; an attack that was not made is hatched and counts 1; a flag
    marks a score far below the others on its target. The last row has the sum of each team.

    Every cell is a group of class ``cell`` with ``data-row``, ``data-column``, ``data-score`` and
    ``data-order``. The order is the one in which a ceremony may open cells: from the lowest row of the board
    to the highest, and in each row from the weakest attack to the strongest. The minimum next to the name of
    a target has the class ``least``.

    Parameters
    ----------
    data_set
        Draw only the data sets of this challenge, if teams have two.
    closed
        Cells, minima and sums have the class ``closed``, and are hidden until it is removed.
    decimals
        Number of decimals of a score; cells have room for two.
    """
    table = build_attack_table(board, kind, data_set)
    question, what = QUESTIONS[kind]
    caption = _format_matrix_caption(board, table, translate(what), is_part=data_set is not None)
    # Where the challenge stands above, targets are called by their teams alone.
    rows = [row.team if data_set else data_set_label(board, row, _MATRIX_ROOM - 6) for row in table.rows]
    names, heads = (_measure_room(labels, _MATRIX_ROOM) * _LETTER for labels in (rows, table.attackers))
    marks_x = 26 + names
    left, top = marks_x + _MINIMUM, 38 + heads * math.sin(_LEAN)
    # A head leans over the columns to its right, so that only the last ones need room beyond the cells.
    ends = (
        _CELL * (column + 0.5) + _measure_room([name], _MATRIX_ROOM) * _LETTER * math.cos(_LEAN) + _CELL / 2
        for column, name in enumerate(table.attackers)
    )
    width = left + max([_CELL * len(table.attackers), *ends])
    height = top + _ROW * len(table.targets) + _FOOT
    title = translate("Attacks: {question}", question=translate(question))
    part = "" if data_set is None else f"-{data_set}"
    canvas = Canvas(width, height, name=f"matrix-{kind.value}{part}", title=title, description=caption,
                    own_size=True)  # fmt: skip
    styles = assign_team_styles(board.roster)
    for row, label in enumerate(rows):
        name_y = top + _ROW * (row + 0.5)
        canvas.name(marks_x - 14, name_y + 5, label, room=_MATRIX_ROOM, text_anchor="end")
        canvas.add(_draw_team_marker(marks_x, name_y, styles.get(table.rows[row].team)))
    for column, attacker in enumerate(table.attackers):
        name_x = left + _CELL * (column + 0.5)
        canvas.add(_draw_team_marker(name_x, top - 14, styles.get(attacker)))
        name_y, role = top - 30, "ink" if attacker in styles else "soft"
        canvas.name(
            name_x + 4,
            name_y,
            attacker,
            room=_MATRIX_ROOM,
            transform=f"rotate(-50 {name_x + 4:.0f} {name_y:.0f})",
            class_=role,
        )
    hatched = element("rect", fill=canvas.hatching(), **_BOX)
    attackers = [escape(isolate_name(name)) for name in table.attackers]
    targets = [escape(isolate_name(name)) for name in table.targets]
    # Translated once: a board of fifty teams has thousands of cells.
    pair, missing = (
        translate("{attacker} on {target}", attacker="{attacker}", target="{target}"),
        translate("no attack"),
    )
    for order, (row, column) in enumerate(_order_cells(table), 1):
        words = pair.format(attacker=attackers[column], target=targets[row])
        score, least = table.scores[row][column], table.is_least(row, column)
        far = table.is_far_below(row, column)
        classes = ("cell", "missing" * (score is None), "strongest" * least, "far" * far, "closed" * closed)
        label, value = (
            (missing, "") if score is None else (f"{score:.{decimals}f}", f' data-score="{score:.6g}"')
        )
        # Written out, not by `element`: a board of fifty teams has thousands of cells.
        canvas.add(
            f'<g class="{" ".join(filter(None, classes))}" data-row="{row}" data-column="{column}" '
            f'data-order="{order}"{value} '
            f'transform="translate({left + _CELL * column + 1:g} {top + _ROW * row + 1:g})">'
            f"<title>{words}: {label}</title>{hatched if score is None else _draw_score(round(score, 2))}"
            f"{_FRAME if least else ''}{_FLAG if far else ''}</g>"
        )
    x = left - 12
    canvas.words(x, top - 9, translate("minimum"), text_anchor="end", class_="soft")
    for row in range(len(table.targets)):
        minimum = f"{table.minima[row]:.{decimals}f}"
        canvas.words(
            x, top + _ROW * (row + 0.5) + 5, minimum, data_row=row, text_anchor="end",
            class_=f"least strong number{' closed' if closed else ''}",
        )  # fmt: skip
    y = top + _ROW * len(table.targets) + 22
    canvas.words(left - 12, y, translate("sum, lower is better"), text_anchor="end", class_="soft")
    for column, total in enumerate(table.sums):
        canvas.words(
            left + _CELL * (column + 0.5), y, "–" if total is None else f"{total:.2f}", text_anchor="middle",
            data_column=column, class_=f"sum strong number{' closed' if closed else ''}",
        )  # fmt: skip
    key_y = y + 28
    canvas.words(left - 12, key_y, translate("0 all found"), text_anchor="end", class_="soft")
    for step in range(20):
        canvas.draw("rect", x=left + 4 * step, y=key_y - 11, width=4.4, height=13, fill=viridis(step / 19))
    canvas.words(left + 90, key_y, translate("1 nothing found"), class_="soft")
    header = (translate("target"), *(shorten_name(one, 40) for one in table.attackers), translate("minimum"))
    numbers: tuple[tuple[Any, ...], ...] = tuple(
        (shorten_name(target, 40), *scores, table.minima[row])
        for row, (target, scores) in enumerate(zip(table.targets, table.scores, strict=True))
    )
    numbers += ((translate("sum"), *table.sums, None),)
    return Picture(canvas.markup(), caption, header, numbers, wide=True)


def _measure_room(labels: Iterable[str], most: int) -> int:
    """Return how many letters the longest of some names takes where it is drawn."""
    return min(most, max(map(measure_width, map(replace_invisible, labels)), default=0))


def _format_matrix_caption(board: Board, table: AttackTable, what: str, *, is_part: bool) -> str:
    if not table.targets:
        return translate("There is no valid data set to attack yet.")
    flagged = sum(table.is_far_below(row, column) for row, column in table.cells())
    sentences = [
        translate(
            "Each number is the share of {what}. The strongest attack on a target is framed and is the "
            "one that counts; a hatched cell is an attack that was not made and counts as 1.",
            what=what,
        ),
        describe_attack_table(board, table, isolate_name),
    ]
    if is_part:
        sentences.append(translate("The sums over both data sets decide the awards for attacks."))
    if flagged:
        sentences.append(
            translate_count(
                "{count} attack is flagged: far below all others on the same target.",
                "{count} attacks are flagged: far below all others on the same target.",
                flagged,
            )
        )
    return join_sentences(sentences)


def _order_cells(table: AttackTable) -> list[tuple[int, int]]:
    """Return the cells in the order of a ceremony."""

    def key(cell: tuple[int, int]) -> tuple[int, float, int]:
        row, column = cell
        score = table.scores[row][column]
        return -row, -(NOT_ATTACKED if score is None else score), column

    return sorted(table.cells(), key=key)


def _draw_team_marker(x: float, y: float, style: TeamStyle | None) -> str:
    return "" if style is None else draw_marker(x, y, style.marker, style.colour)


@cache
def _draw_score(score: float) -> str:
    """Return the tile and the number of a score of two decimals; a matrix has many equal ones."""
    number = element("text", f"{score:.2f}", x=_CELL / 2 - 1, y=_ROW / 2 + 4, text_anchor="middle",
                     class_=f"number {choose_ink(score)}")  # fmt: skip
    return element("rect", fill=viridis(score), **_BOX) + number


# Awards with the luck that is in them, so that ties look like ties.


_MARGINS_TOP, _MARGINS_FOOT = 10.0, 56.0
_LANE, _NARROW_LANE, _MANY = 34.0, 26.0, 12
_NAME_LINE = 18.0
_NUMBER = 74.0
_SCORES = {
    "best-anonymization": (mark_for_translation("whereabouts hidden"), "s_T,min"),
    "best-anonymization-reidentification": (mark_for_translation("people not identified"), "s_R,min"),
}
_SUMS = {
    "best-reidentification": mark_for_translation("privacy left to all targets"),
    "best-trace-inference": mark_for_translation("privacy left to all targets"),
    "overall": mark_for_translation("total of both kinds of privacy"),
}


def margins_picture(
    award: Award, margin: float | None, styles: dict[str, TeamStyle], *, name: str = ""
) -> Picture:
    """Draw the teams that compete for an award, best first.

    The score of a defence is a marker on an axis from 0 to 1, and the sum of an attacker is a bar. Both have
    a band of ± `margin`, which shows the effect of chance; grey marks teams that may have lost only by
    chance.
    """
    scored = award.name in _SCORES
    caption = _format_margins_caption(award, margin)
    lane = _NARROW_LANE if len(award.places) > _MANY else _LANE
    called = [wrap_name(place.team, _ROOM, most=_NAME_LINES) for place in award.places]
    lanes = [lane + _NAME_LINE * (len(lines) - 1) for lines in called]
    names = 40 + LARGE_LETTER * _measure_room((line for lines in called for line in lines), _ROOM)
    width, height = WIDTH - names - _NUMBER, math.fsum(lanes) or lane
    largest = max((place.value for place in award.places), default=1.0) + (margin or 0)
    area = Area(names, _MARGINS_TOP, width, height, ROOM_FOR_MARKERS if scored else (0.0, max(largest, 1e-9)))
    canvas = Canvas(WIDTH, area.bottom + _MARGINS_FOOT, name=name or f"award-{award.name}", title=award.title,
                    description=caption)  # fmt: skip
    if margin is not None and award.places:
        # The best of the scores is the highest, the best of the sums the lowest.
        best, low, high = award.places[0].value, area.across[0], area.across[1]
        ends = (best - 2 * margin, best) if scored else (best, best + 2 * margin)
        left, right = (area.x(min(max(end, low), high)) for end in ends)
        canvas.draw("rect", x=left, y=area.top, width=right - left, height=area.height, fill=GREY,
                    fill_opacity=0.25, class_="tie-band")  # fmt: skip
    if scored:
        words, symbol = _SCORES[award.name]
        draw_axis_below(canvas, area, SCORE_TICKS, translate(words), symbol, translate("right is better"))
    else:
        good = translate("right is better") if award.name == "overall" else translate("left is better")
        top = area.across[1]
        step = next(
            step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if top / step <= 5 or step == 100
        )
        draw_axis_below(
            canvas,
            area,
            [(step * i, f"{step * i:g}") for i in range(int(top / step + 1e-9) + 1)],
            translate(_SUMS[award.name]),
            "",
            good,
        )
    bottom = area.top
    for place, lines, lane_height in zip(award.places, called, lanes, strict=True):
        bottom += lane_height
        y = bottom - lane_height / 2
        first = y + 5 - _NAME_LINE / 2 * (len(lines) - 1)
        canvas.words(22, first, f"{place.place}", text_anchor="end", class_="strong number")
        for number, line in enumerate(lines):
            canvas.words(30, first + _NAME_LINE * number, line, whole=replace_invisible(place.team))
        canvas.draw("line", x1=area.left, y1=y, x2=WIDTH - _NUMBER, y2=y, class_="grid")
        style, x = styles[place.team], area.x(place.value)
        if not scored:
            canvas.draw("rect", x=area.left, y=y - 9, width=x - area.left, height=18, fill=style.colour,
                        class_="mark")  # fmt: skip
        if margin is not None:
            left, right = (area.x(place.value + sign * margin) for sign in (-1, 1))
            if scored:
                canvas.draw("rect", x=left, y=y - 12, width=right - left, height=24, fill=style.colour,
                            fill_opacity=0.6, class_="margin")  # fmt: skip
                words = f"{isolate_name(place.team)}: {place.value:.3f} ± {margin:.3f}"
                canvas.add(draw_marker(x, y, style.marker, style.colour, title=words))
            else:
                path = _draw_capped_line(max(left, area.left), y, right, y)
                canvas.draw("path", d=path, class_="line margin")
        canvas.words(WIDTH - 4, y + 5, f"{place.value:.3f}", text_anchor="end", class_="number")
    rows = tuple((place.place, shorten_name(place.team, 40), place.value) for place in award.places)
    header = (translate("place"), translate("team"), translate("score") if scored else translate("sum"))
    return Picture(canvas.markup(), caption, header, rows)


def _format_margins_caption(award: Award, margin: float | None) -> str:
    if not award.places:
        return translate("{award}: no winner.", award=award.title)
    summary = translate(
        "{award}: {teams} with {score}.",
        award=award.title,
        teams=join_names([isolate_name(name) for name in award.winners]),
        score=f"{award.places[0].value:.3f}",
    )
    if margin is None:
        return summary
    close, luck = [isolate_name(name) for name in find_tied_teams(award, margin)], f"{margin:.3f}"
    if not close:
        return translate(
            "{text} Bands: ± {margin}, the variation between groups of people; no "
            "other team is close enough to be tied.",
            text=summary,
            margin=luck,
        )
    return translate(
        "{text} Bands: ± {margin}, the variation between groups of people. Tied within this margin: {teams}.",
        text=summary,
        margin=luck,
        teams=join_names(close),
    )


# The podium of an award.


_STEPS = {2: (0, 100.0), 1: (1, 124.0), 3: (2, 78.0)}
"""Place → where it stands from left to right, and how high; even the lowest has room for its score."""
_GAP, _LINE, _MOST = 6.0, 25.0, 4
_WIDE = (WIDTH - 2 * _GAP - 4) / 3
_PODIUM_ROOM, _MOST_LINES = 13, 4
"""Letters of a line of a name, 12 units each where the words of a narrow page are largest, and its lines."""


def podium_picture(award: Award, styles: dict[str, TeamStyle], *, name: str = "") -> Picture:
    """Draw the first three places of an award; equal teams share a step.

    Each step is a group of class ``step`` with ``data-place``, so that a ceremony can show the third before
    the first.
    """
    steps = {place: [one for one in award.places if one.place == place] for place in _STEPS}
    most = max(map(_count_lines, steps.values()), default=1)
    bottom = 24 + _LINE * max(most, 1) + max(height for _, height in _STEPS.values())
    caption = _format_podium_caption(award, steps)
    title = translate("Podium: {award}", award=award.title)
    canvas = Canvas(WIDTH, bottom + 4, name=name or f"podium-{award.name}", title=title,
                    description=caption)  # fmt: skip
    for place, teams in steps.items():
        if teams:
            with canvas.group(class_="step", data_place=place):
                column, height = _STEPS[place]
                left = (WIDTH - 3 * _WIDE - 2 * _GAP) / 2 + column * (_WIDE + _GAP)
                top, middle = bottom - height, left + _WIDE / 2
                colour = styles[teams[0].team].colour
                canvas.draw("rect", x=left, y=top, width=_WIDE, height=height, class_="panel")
                canvas.draw("rect", x=left, y=top, width=_WIDE, height=8, fill=colour)
                canvas.words(middle, top + 40, str(place), text_anchor="middle", class_="huge strong")
                canvas.words(
                    middle, top + 66, f"{teams[0].value:.3f}", text_anchor="middle", class_="soft number"
                )
                lines = teams if len(teams) <= _MOST else teams[: _MOST - 1]
                level = float(len(teams) > len(lines))
                if len(teams) > len(lines):
                    rest = teams[len(lines) :]
                    more = translate("and {number} more", number=len(rest))
                    whole = translate(", ").join(shorten_name(one.team, 40) for one in rest)
                    canvas.words(middle, top - 12, more, text_anchor="middle", class_="soft", whole=whole)
                for one in reversed(lines):
                    style, words = styles[one.team], wrap_name(one.team, _PODIUM_ROOM, most=_MOST_LINES)
                    level += len(words)
                    y = top - 12 - _LINE * (level - 1)
                    canvas.add(draw_marker(left + 10, y - 5, style.marker, style.colour))
                    for line, part in enumerate(words):
                        whole = replace_invisible(one.team)
                        canvas.words(left + 22, y + _LINE * line, part, whole=whole, class_="strong")
    canvas.draw("line", x1=8, y1=bottom, x2=WIDTH - 8, y2=bottom, class_="line")
    rows = tuple(
        (one.place, replace_invisible(one.team), one.value) for teams in steps.values() for one in teams
    )
    return Picture(
        canvas.markup(),
        caption,
        (translate("place"), translate("team"), translate("score")),
        tuple(sorted(rows)),
    )


def _count_lines(teams: Sequence[Standing]) -> int:
    """Return how many lines the names on a step of the podium take."""
    shown = teams if len(teams) <= _MOST else teams[: _MOST - 1]
    return (len(teams) > len(shown)) + sum(
        len(wrap_name(one.team, _PODIUM_ROOM, most=_MOST_LINES)) for one in shown
    )


def _format_podium_caption(award: Award, steps: dict[int, list[Standing]]) -> str:
    if not award.places:
        return translate("{award}: no winner.", award=award.title)
    places = [
        translate(
            "{place}. {teams} ({score})",
            place=place,
            teams=join_names([isolate_name(one.team) for one in steps[place]]),
            score=f"{steps[place][0].value:.3f}",
        )
        for place in sorted(steps)
        if steps[place]
    ]
    return translate("{award}: {places}.", award=award.title, places=list_names(places))


# Privacy against privacy, and usefulness against privacy: one marker a team.


AREA = Area(66, 12, WIDTH - 84, 400, ROOM_FOR_MARKERS, ROOM_FOR_MARKERS)
_HEIGHT = 464
_CAP = 4.0


class _SamplePoint(NamedTuple):
    """A sample defence."""

    name: str
    utility: float | None
    valid: bool
    s_R_min: float | None
    s_T_min: float | None


def privacy_picture(
    board: Board, samples: Sequence[SweepRow] = (), *, name: str = "privacy", decimals: int = DECIMALS
) -> Picture:
    """Draw s_R,min × s_T,min of the valid data sets ([contest] Figure 9).

    There is one marker per team with bars for the effect of chance, a cross for the pseudonymised team, and
    grey dots for the sample defences of the board and for `samples`.
    """
    rows, greys = select_compared_rows(board), _select_samples(board, samples)
    luck = estimate_margin(board.rules.users)
    caption = _format_privacy_caption(board, samples, len(rows), luck)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=translate("Two kinds of privacy"), description=caption)
    draw_axis_below(
        canvas,
        AREA,
        SCORE_TICKS,
        translate("people not identified"),
        "s_R,min",
        translate("right is better"),
    )
    draw_axis_left(
        canvas, AREA, SCORE_TICKS, translate("whereabouts hidden"), "s_T,min", translate("up is better")
    )
    _draw_samples(canvas, ((one.name, one.s_R_min, one.s_T_min) for one in greys))
    styles = assign_team_styles(board.roster)
    for row in rows:
        style = styles[row.team]
        canvas.add(_draw_error_bars(row.s_R_min, row.s_T_min, luck, style, across=True))
        at = row.s_R_min, row.s_T_min
        canvas.add(_draw_dot(row, at, f"{row.s_R_min:.{decimals}f}", decimals, style))
    shown = [row for row in select_challenge_rows(board) if row.valid]
    return Picture(
        canvas.markup(),
        caption,
        _table_header(),
        _build_table(shown, greys),
        _format_legend(shown, greys, styles),
    )


def usefulness_picture(
    board: Board, samples: Sequence[SweepRow] = (), data_set: int | None = None, *, decimals: int = DECIMALS
) -> Picture:
    """Draw utility and privacy of all data sets; the valid area is shaded, invalid data sets are hollow.

    Parameters
    ----------
    data_set
        The challenge, if teams have two data sets: the first is scored by s_R,min, the second by s_T,min.
    """
    number = data_set or board.rules.data_sets
    is_last = number == board.rules.data_sets
    rows = [row for row in select_challenge_rows(board, number) if row.utility is not None]
    greys, caption = _select_samples(board, samples), describe_costs(board, samples, number)
    name = "usefulness" if is_last else f"usefulness-{number}"
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=translate("What privacy costs"), description=caption)
    x = AREA.x(board.rules.utility_threshold)
    canvas.draw("rect", x=x, y=AREA.top, width=AREA.right - x, height=AREA.height, fill=GREEN,
                fill_opacity=0.14, class_="valid-area")  # fmt: skip
    draw_axis_below(canvas, AREA, SCORE_TICKS, translate("usefulness"), "s_U", translate("right is better"))
    words, symbol = ("whereabouts hidden", "s_T,min") if is_last else ("people not identified", "s_R,min")
    draw_axis_left(canvas, AREA, SCORE_TICKS, translate(words), symbol, translate("up is better"))
    threshold = board.rules.utility_threshold
    x = AREA.x(threshold)
    canvas.draw("line", x1=x, y1=AREA.top, x2=x, y2=AREA.bottom, stroke=GREEN, stroke_width=2,
                stroke_dasharray="4 4")  # fmt: skip
    left = threshold > 0.6
    words = translate("valid from {threshold}", threshold=f"{threshold:g}")
    canvas.words(x - 8 if left else x + 8, AREA.top + 22, words, text_anchor="end" if left else "start",
                 class_="strong halo")  # fmt: skip
    _draw_samples(canvas, ((one.name, one.utility, one.s_T_min if is_last else one.s_R_min) for one in greys))
    styles, luck = assign_team_styles(board.roster), estimate_margin(board.rules.users)
    for row in rows:
        assert row.utility is not None
        style, score = styles[row.team], row.s_T_min if is_last else row.s_R_min
        if row.valid:
            canvas.add(_draw_error_bars(row.utility, score, luck, style, across=False))
        canvas.add(_draw_dot(row, (row.utility, score), f"{row.utility:.3f}", decimals, style))
    return Picture(
        canvas.markup(),
        caption,
        _table_header(),
        _build_table(rows, greys),
        _format_legend(rows, greys, styles),
    )


def _format_privacy_caption(board: Board, samples: Sequence[SweepRow], valid: int, luck: float) -> str:
    if not valid:
        return translate("No valid data set yet.")
    summary = describe_privacies(board, samples) or translate_count(
        "{count} valid data set: too few for a correlation.",
        "{count} valid data sets: too few for a correlation.",
        valid,
    )
    return translate(
        "{text} Bars: ± {margin}, the variation between groups of people.",
        text=summary,
        margin=f"{luck:.3f}",
    )


def _table_header() -> tuple[str, ...]:
    return (
        translate("team"),
        translate("usefulness s_U"),
        translate("valid"),
        translate("people not identified s_R,min"),
        translate("whereabouts hidden s_T,min"),
    )


def _select_samples(board: Board, samples: Sequence[SweepRow]) -> list[_SamplePoint]:
    on_board = (row for row in board.rows if row.role is Role.SAMPLE)
    own = [_SamplePoint(row.team, row.utility, row.valid, row.s_R_min, row.s_T_min) for row in on_board]
    tried = (
        _SamplePoint(row.defence, row.utility, row.valid, row.scores.s_R_min, row.scores.s_T_min)
        for row in samples
    )
    return [*own, *tried]


def _draw_samples(canvas: Canvas, points: Iterable[tuple[str, float | None, float | None]]) -> None:
    for name, x, y in points:
        if x is not None and y is not None:
            words = make_hint(f"{isolate_name(name)}: {x:.3f}, {y:.3f}")
            canvas.draw("circle", words, cx=AREA.x(x), cy=AREA.y(y), r=4.5, fill=GREY, class_="sample")


def _draw_dot(row: BoardRow, at: tuple[float, float], label: str, decimals: int, style: TeamStyle) -> str:
    """Draw a team's marker; `label` is the value across as words, which may have more decimals."""
    words = f"{isolate_name(row.team)}: {label}, {at[1]:.{decimals}f}"
    return draw_marker(
        AREA.x(at[0]), AREA.y(at[1]), style.marker, style.colour, hollow=not row.valid, title=words
    )


def _draw_error_bars(x: float, y: float, luck: float, style: TeamStyle, *, across: bool) -> str:
    """Draw a bar of twice the luck with its caps, from bottom to top and, where asked, from left to right.

    It ends at 0 and 1, as scores do.
    """
    left, right, middle = AREA.x(max(x - luck, 0)), AREA.x(min(x + luck, 1)), AREA.x(x)
    low, high, level = AREA.y(max(y - luck, 0)), AREA.y(min(y + luck, 1)), AREA.y(y)
    path = _draw_capped_line(middle, low, middle, high) + (
        _draw_capped_line(left, level, right, level) if across else ""
    )
    colour = {"class_": "line"} if style.colour.startswith("var") else {"stroke": style.colour}
    return element("path", d=path, fill="none", stroke_width=1.6, **colour)


def _draw_capped_line(x1: float, y1: float, x2: float, y2: float) -> str:
    a, b = (_CAP, 0) if x1 == x2 else (0, _CAP)
    ends = "".join(f"M{x - a:.1f} {y - b:.1f}L{x + a:.1f} {y + b:.1f}" for x, y in ((x1, y1), (x2, y2)))
    return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{ends}"


def _build_table(rows: Sequence[BoardRow], greys: Sequence[_SamplePoint]) -> tuple[tuple[Any, ...], ...]:
    own = [(row.team, row.utility, row.valid, row.s_R_min, row.s_T_min) for row in rows]
    lines, words = [*own, *greys], {True: translate("yes"), False: translate("no")}
    return tuple((shorten_name(name, 40), u, words[bool(valid)], r, t) for name, u, valid, r, t in lines)


def _format_legend(
    rows: Sequence[BoardRow], greys: Sequence[_SamplePoint], styles: dict[str, TeamStyle]
) -> str:
    badges = [format_badge(row.team, styles[row.team]) for row in rows]
    return format_legend([*badges, *([format_badge(translate("sample defences"), SAMPLE)] if greys else [])])


# A team's own usefulness, with the line that it must reach.


_GAUGE_AREA = Area(24, 40, WIDTH - 48, 44)
_GAUGE_HEIGHT = 138


def gauge_picture(utility: float | None, rules: Rules, *, name: str = "gauge") -> Picture:
    """Draw a utility from 0 to 1 and the threshold of the rules; None if nothing was handed in yet."""
    caption = _format_gauge_caption(utility, rules)
    canvas = Canvas(WIDTH, _GAUGE_HEIGHT, name=name, title=translate("Usefulness"), description=caption)
    box = {"y": _GAUGE_AREA.top, "height": _GAUGE_AREA.height}
    canvas.draw("rect", x=_GAUGE_AREA.left, width=_GAUGE_AREA.width, class_="panel", **box)
    draw_axis_below(
        canvas, _GAUGE_AREA, SCORE_TICKS, translate("usefulness"), "s_U", translate("right is better")
    )
    if utility is not None:
        valid = rules.is_valid(utility)
        length = _GAUGE_AREA.x(utility) - _GAUGE_AREA.left
        canvas.draw("rect", x=_GAUGE_AREA.left, width=length, fill=BLUE if valid else VERMILION, **box)
        fits = utility > 0.25
        x = _GAUGE_AREA.left + 12 if fits else _GAUGE_AREA.x(utility) + 10
        ink = "on-dark" if fits else "ink"
        canvas.words(
            x, _GAUGE_AREA.top + 29, _format_utility(utility, rules), class_=f"large strong number {ink}"
        )
    x = _GAUGE_AREA.x(rules.utility_threshold)
    canvas.draw("line", x1=x, y1=_GAUGE_AREA.top - 10, x2=x, y2=_GAUGE_AREA.bottom, class_="line threshold")
    left, label = (
        rules.utility_threshold > 0.75,
        translate("valid from {threshold}", threshold=f"{rules.utility_threshold:g}"),
    )
    canvas.words(
        x + (4 if left else -4), _GAUGE_AREA.top - 17, label,
        text_anchor="end" if left else "middle" if rules.utility_threshold > 0.25 else "start",
        class_="strong",
    )  # fmt: skip
    rows = ((translate("utility"), utility), (translate("threshold"), rules.utility_threshold))
    return Picture(canvas.markup(), caption, (translate("what"), translate("value")), rows)


def _format_gauge_caption(utility: float | None, rules: Rules) -> str:
    threshold = f"{rules.utility_threshold:g}"
    if utility is None:
        return translate(
            "Nothing has been handed in yet. A data set is valid if its utility is at least {threshold}.",
            threshold=threshold,
        )
    written = _format_utility(utility, rules)
    if rules.is_valid(utility):
        return translate(
            "Valid: the utility is {utility}, and {threshold} is enough.",
            utility=written,
            threshold=threshold,
        )
    return translate(
        "Not valid: the utility is {utility}, below {threshold}; this data set would not be published, and "
        "its privacy scores would be 0.",
        utility=written,
        threshold=threshold,
    )


def _format_utility(utility: float, rules: Rules) -> str:
    """Write a utility with three digits, or with all where rounding would change the verdict."""
    short = f"{utility:.3f}"
    return short if rules.is_valid(float(short)) == rules.is_valid(utility) else f"{utility}"
