"""Pictures of an audit, as Plotly figures with the numbers behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracearena.audit import texts
from tracearena.audit.linkability import Linkability
from tracearena.audit.settings import Proportion
from tracearena.audit.singling_out import HEADLINE, SIDES_M, WINDOWS_S, SinglingOut
from tracearena.audit.texts import format_seconds, format_side
from tracearena.audit.usefulness import Usefulness
from tracearena.pages.html import BLUE, COLOURS, GREY, MARKERS, ORANGE, VERMILION, Table

Figure = dict[str, Any]
_T = texts.TABLE


def draw_finding_curves(found: SinglingOut) -> tuple[Figure, Table]:
    """Draw how many people are found, and are unique, by the number of known points."""
    lines = [(texts.LINES["found"], found.found)]
    for at in range(len(SIDES_M)):
        one = found.coarseness[at * len(WINDOWS_S) + min(at, len(WINDOWS_S) - 1)]
        name = texts.LINES["unique"].format(side=format_side(one.side_m), window=format_seconds(one.window_s))
        lines.append((name, one.unique))
    data = [
        _draw_line(name, list(shares), list(shares.values()), COLOURS[at], MARKERS[at].plotly)
        for at, (name, shares) in enumerate(lines)
    ]
    chance = next(iter(found.found.values())).chance if found.found else 0.0
    layout = _build_layout(texts.AXES["points"], texts.AXES["share"], guess=chance)
    rows = [[name, k, *_list_numbers(share)] for name, shares in lines for k, share in shares.items()]
    return {"data": data, "layout": layout}, ([_T["what"], _T["points"], *_SHARE_COLUMNS], rows)


def draw_uniqueness_heat_map(found: SinglingOut) -> tuple[Figure, Table]:
    """Draw who is unique by four points at each side of a place and length of a window."""
    table = [
        [
            found.coarseness[row * len(WINDOWS_S) + column].unique[HEADLINE].value
            for column in range(len(WINDOWS_S))
        ]
        for row in range(len(SIDES_M))
    ]
    data = {
        "type": "heatmap",
        "x": [format_seconds(window) for window in WINDOWS_S],
        "y": [format_side(side) for side in SIDES_M],
        "z": table,
        "zmin": 0,
        "zmax": 1,
        "colorscale": "Viridis",
        "texttemplate": "%{z:.0%}",
        "hovertemplate": "%{y}, %{x}: %{z:.1%}<extra></extra>",
        "colorbar": {"tickformat": ".0%", "thickness": 10},
    }
    layout = {
        "height": 320,
        "xaxis": {"title": {"text": _T["window"]}, "type": "category"},
        "yaxis": {"title": {"text": _T["side"]}, "type": "category"},
    }
    rows = [
        [format_side(one.side_m), format_seconds(one.window_s), k, *_list_numbers(share)]
        for one in found.coarseness
        for k, share in one.unique.items()
    ]
    return {"data": [data], "layout": layout}, (
        [_T["side"], _T["window"], _T["points"], *_SHARE_COLUMNS],
        rows,
    )


def draw_night_groups(found: SinglingOut) -> tuple[Figure, Table]:
    """Draw how large the groups are in which people spend their nights."""
    names = texts.GROUPS
    colours = (VERMILION, ORANGE, GREY, BLUE)
    data = [
        {
            "type": "bar",
            "name": names[first],
            "x": [format_side(one.side_m) for one in found.night],
            "y": [one.sizes[first] / max(one.people, 1) for one in found.night],
            "marker": {"color": colour},
            "hovertemplate": "%{x}: %{y:.1%} " + names[first] + "<extra></extra>",
        }
        for first, colour in zip(names, colours, strict=True)
    ]
    layout = {
        "height": 320,
        "barmode": "stack",
        "xaxis": {"title": {"text": _T["side"]}, "type": "category"},
        "yaxis": {"title": {"text": texts.AXES["share"]}, "range": [0, 1], "tickformat": ".0%"},
    }
    rows = [[format_side(one.side_m), names[k], n] for one in found.night for k, n in one.sizes.items()]
    return {"data": data, "layout": layout}, ([_T["side"], _T["group"], _T["people"]], rows)


def draw_attacks(found: Linkability) -> tuple[Figure, Table]:
    """Draw the success of every attack with its interval."""
    extra = [] if found.home_and_work is None else [found.home_and_work]
    listed = [one for one in (*found.attacks, *extra) if one.first is not None]
    names = [one.attack for one in listed][::-1]
    data = []
    for at, top in enumerate((10, 5, 1)):
        known = [(one.attack, one.top[top]) for one in listed[::-1] if top in one.top]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": texts.LINES["right"] if top == 1 else texts.LINES["among"].format(top=top),
                "x": [share.value for _, share in known],
                "y": [name for name, _ in known],
                "error_x": _build_error_bars([share for _, share in known]),
                "marker": {"color": COLOURS[2 - at], "symbol": MARKERS[2 - at].plotly, "size": 9},
                "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
            }
        )
    first = found.headline
    layout = {
        "height": 160 + 34 * len(names),
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "reversed"},
        "xaxis": {"title": {"text": texts.AXES["found_safe"]}, "range": [-0.01, 1.01], "tickformat": ".0%"},
        "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": names},
        "shapes": [] if first is None else [_mark_chance(first.chance)],
    }
    rows = [[one.attack, top, *_list_numbers(share)] for one in listed for top, share in one.top.items()]
    return {"data": data, "layout": layout}, ([_T["attack"], "among", *_SHARE_COLUMNS], rows)


def draw_evidence(found: Linkability) -> tuple[Figure, Table]:
    """Draw what the linker finds by each group of evidence alone."""
    names = list(found.evidence)
    shares = list(found.evidence.values())
    data = _draw_bars(names, [share.value for share in shares], BLUE, shares=shares)
    layout = {
        "height": 120 + 26 * len(names),
        "showlegend": False,
        "xaxis": {"title": {"text": texts.AXES["found_safe"]}, "range": [0, 1.01], "tickformat": ".0%"},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        "shapes": [_mark_chance(shares[0].chance)],
    }
    rows = [[name, *_list_numbers(share)] for name, share in found.evidence.items()]
    return {"data": [data], "layout": layout}, ([_T["evidence"], *_SHARE_COLUMNS], rows)


def draw_reference_days(found: Linkability) -> tuple[Figure, Table]:
    """Draw who is found by how many days of reference."""
    shares = found.days
    line = _draw_line(
        texts.LINES["days"], [str(day) for day in shares], list(shares.values()), BLUE, "circle"
    )
    chance = next(iter(shares.values())).chance
    layout = _build_layout(texts.AXES["days"], texts.AXES["found"], guess=chance)
    layout["xaxis"]["type"] = "category"
    rows = [[day, *_list_numbers(share)] for day, share in shares.items()]
    return {"data": [line], "layout": layout}, ([_T["days"], *_SHARE_COLUMNS], rows)


def draw_tasks(found: Usefulness) -> tuple[Figure, Table]:
    """Draw how much of every task is kept, next to two halves of the people."""
    names = [texts.TASKS[task.name][0] for task in found.tasks]
    parts = [(texts.LINES["halves"], [task.halves for task in found.tasks], GREY)]
    if found.kept is not None:
        parts.insert(0, (texts.LINES["release"], [task.kept for task in found.tasks], BLUE))
    data = [_draw_bars(names, values, colour, name=name, number=".2f") for name, values, colour in parts]
    layout = {
        "height": 360,
        "barmode": "group",
        "xaxis": {"title": {"text": texts.AXES["kept"]}, "range": [0, 1]},
        "yaxis": {"type": "category", "autorange": "reversed"},
    }
    rows = [
        [name, task.kept, task.halves, task.before, task.after, texts.TASKS[task.name][1]]
        for name, task in zip(names, found.tasks, strict=True)
    ]
    columns = [_T[name] for name in ("task", "kept", "halves", "before", "after", "unit")]
    return {"data": data, "layout": layout}, (columns, rows)


def draw_changes(
    measures: Sequence[tuple[str, Proportion | None, Proportion | None]],
) -> tuple[Figure, Table]:
    """Draw what attacks find before and after."""
    names = [name for name, _, _ in measures]
    data = []
    for at, (word, colour) in enumerate(((texts.LINES["before"], VERMILION), (texts.LINES["after"], BLUE))):
        known = [(one[0], share) for one in measures if (share := one[1:][at]) is not None]
        shares, values = [share for _, share in known], [share.value for _, share in known]
        data.append(_draw_bars([name for name, _ in known], values, colour, name=word, shares=shares))
    layout = {
        "height": 140 + 56 * len(names),
        "barmode": "group",
        "xaxis": {"title": {"text": texts.AXES["share_safe"]}, "range": [0, 1], "tickformat": ".0%"},
        "yaxis": {"type": "category", "categoryorder": "array", "categoryarray": names[::-1]},
    }
    rows = [
        [name, word, *_list_numbers(share)]
        for name, *both in measures
        for word, share in zip((_T["before"], _T["after"]), both, strict=True)
        if share is not None
    ]
    return {"data": data, "layout": layout}, ([_T["measure"], _T["what"], *_SHARE_COLUMNS], rows)


_SHARE_COLUMNS = ["share", "low", "high", _T["guessing"], _T["people"]]


def _list_numbers(share: Proportion) -> list[float]:
    return [share.value, share.low, share.high, share.chance, share.people]


def _draw_line(name: str, x: Sequence[Any], shares: Sequence[Proportion], colour: str, symbol: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": [share.value for share in shares],
        "error_y": _build_error_bars(shares),
        "line": {"color": colour},
        "marker": {"symbol": symbol, "size": 8},
        "hovertemplate": "%{x}: %{y:.1%}<extra></extra>",
    }


def _draw_bars(
    names: Sequence[str],
    values: Sequence[float | None],
    colour: str,
    *,
    name: str | None = None,
    shares: Sequence[Proportion] | None = None,
    number: str = ".1%",
) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        **({} if name is None else {"name": name}),
        "x": values,
        "y": names,
        **({} if shares is None else {"error_x": _build_error_bars(shares)}),
        "marker": {"color": colour},
        "hovertemplate": f"%{{y}}: %{{x:{number}}}<extra></extra>",
    }


def _build_error_bars(shares: Sequence[Proportion]) -> Mapping[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [share.high - share.value for share in shares],
        "arrayminus": [share.value - share.low for share in shares],
        "thickness": 1,
    }


def _mark_chance(chance: float) -> Figure:
    return {
        "type": "line", "x0": chance, "x1": chance, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": "var(--soft)", "dash": "dot", "width": 1},
    }  # fmt: skip


def _build_layout(x: str, y: str, *, guess: float) -> Figure:
    line = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": guess, "y1": guess,
        "line": {"color": "var(--soft)", "dash": "dot", "width": 1},
    }  # fmt: skip
    return {
        "height": 420,
        "legend": {"orientation": "h", "y": -0.25, "yanchor": "top"},
        "xaxis": {"title": {"text": x}},
        "yaxis": {"title": {"text": y}, "range": [0, 1.02], "tickformat": ".0%"},
        "shapes": [line],
    }
