"""Pictures of ``.plot()``: sweeps of defences, evaluations of synthetic traces, and traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from tracearena.arena.evaluation import Evaluation, Utility
from tracearena.arena.sweep import Sweep
from tracearena.errors import DataError, ParameterError
from tracearena.pages.describe import RowTimes, compute_event_times, compute_point_times
from tracearena.pages.html import BLUE, MARKERS, ORANGE, SKY, VERMILION
from tracearena.papers import style
from tracearena.papers.style import NAMES, USEFULNESS, WHEREABOUTS, open_canvas
from tracearena.plots import person
from tracearena.plots.person import to_plotly_figure
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.time import guess_local_time, require_zone


class Panel(NamedTuple):
    """Numbers on one scale."""

    title: str
    colour: str
    words: Mapping[str, str]
    is_share: bool


PANELS = (
    Panel(
        "total variation from the testing traces (0 is the same, 1 is nothing in common)",
        BLUE,
        {
            "tp_tv": "population of places, TP-TV",
            "tp_tv_top50": "population of the top 50, TP-TV-Top50",
            "vf_tv": "visit fractions, VF-TV",
        },
        True,
    ),
    Panel(
        "earth mover's distance from the testing traces (0 is the same), in twentieths of the city",
        SKY,
        {
            "tm_emd_x": "next place, west to east, TM-EMD-X",
            "tm_emd_y": "next place, south to north, TM-EMD-Y",
            "tm_emd_sliced": "next place, all directions, TM-EMD",
        },
        False,
    ),
    Panel(
        "leakage of the training traces (0 is nothing, 1 is all)",
        VERMILION,
        {
            "reidentification_rate": "users re-identified",
            "membership_advantage": "membership: advantage over a guess",
        },
        True,
    ),
)


def sweep_picture(rows: Sweep, kind: str | None = None, *, interactive: bool = False) -> Any:
    """Draw a sweep, as described in `Sweep.plot`."""
    if kind not in (None, "tradeoff", "privacy"):
        raise ParameterError.of("kind", kind, "tradeoff or privacy")
    if kind == "privacy":
        scales = NAMES, WHEREABOUTS
    else:
        has_whereabouts = any(WHEREABOUTS.of(row) is not None for row in rows)
        scales = USEFULNESS, WHEREABOUTS if has_whereabouts else NAMES
    draw = style.draw_interactive_scatter if interactive else style.draw_static_scatter
    return draw(rows, *scales, threshold=rows.threshold)


def evaluation_picture(
    found: Evaluation, baselines: Mapping[str, Utility], *, interactive: bool = False
) -> Any:
    """Draw an evaluation, as described in `Evaluation.plot`."""
    numbers = found.to_dict()
    shown = [
        (panel, {name: float(numbers[name]) for name in panel.words if numbers[name] is not None})
        for panel in PANELS
    ]
    shown = [(panel, values) for panel, values in shown if values]
    marks = {name: one.to_dict() for name, one in baselines.items()}
    return _draw_plotly_panels(shown, marks) if interactive else _draw_static_panels(shown, marks)


def _format_labels(panel: Panel, values: Mapping[str, float]) -> list[str]:
    return [f"{panel.words[name]}: {value:.3f}" for name, value in values.items()]


def _select_marks(others: Mapping[str, Any], values: Mapping[str, float]) -> list[str]:
    return [name for name in values if others.get(name) is not None]


def _draw_static_panels(shown: list[tuple[Panel, dict[str, float]]], marks: Mapping[str, Any]) -> Any:
    ratios = [len(values) + 0.6 for _, values in shown]
    with open_canvas(
        8.4, 1.2 + 0.46 * sum(ratios), nrows=len(shown), height_ratios=ratios, squeeze=False
    ) as (
        drawn,
        axes,
    ):
        drawn.set_layout_engine("constrained")
        for axis, (panel, values) in zip(axes[:, 0], shown, strict=True):
            labels = dict(zip(values, _format_labels(panel, values), strict=True))
            axis.barh(list(labels.values()), list(values.values()), color=panel.colour, height=0.55)
            axis.invert_yaxis()
            axis.grid(axis="y", visible=False)
            axis.set_xlabel(panel.title, fontsize=9)
            for marker, (name, others) in zip(MARKERS[1:], marks.items(), strict=False):
                there = _select_marks(others, values)
                axis.scatter(
                    [others[one] for one in there], [labels[one] for one in there],
                    marker=marker.matplotlib, color=ORANGE, edgecolors="black", linewidths=0.5, s=34,
                    zorder=3, label=name, clip_on=False,
                )  # fmt: skip
            if panel.is_share:
                axis.set_xlim(min(0.0, *values.values()), 1)
        if marks:
            handles, names = axes[0, 0].get_legend_handles_labels()
            drawn.legend(handles, names, loc="outside upper right", ncols=4, frameon=False, fontsize=9)
        return drawn


def _draw_plotly_panels(shown: list[tuple[Panel, dict[str, float]]], marks: Mapping[str, Any]) -> Any:
    rows = sum(len(values) + 1.4 for _, values in shown)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": round(60 + 44 * rows),
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom"},
    }
    top = 1.0
    for number, (panel, values) in enumerate(shown):
        axis = "" if number == 0 else str(number + 1)
        labels = dict(zip(values, _format_labels(panel, values), strict=True))
        here = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        data.append(
            {"type": "bar", "orientation": "h", "x": list(values.values()), "y": list(labels.values()),
             "marker": {"color": panel.colour}, "showlegend": False, "hoverinfo": "x"} | here
        )  # fmt: skip
        for marker, (name, others) in zip(MARKERS[1:], marks.items(), strict=False):
            there = _select_marks(others, values)
            data.append(
                {"type": "scatter", "mode": "markers", "name": name, "x": [others[one] for one in there],
                 "y": [labels[one] for one in there], "showlegend": number == 0, "legendgroup": name,
                 "marker": {"symbol": marker.plotly, "color": ORANGE, "size": 10}} | here
            )  # fmt: skip
        bottom = top - len(values) / rows
        span = {"range": [min(0.0, *values.values()), 1]} if panel.is_share else {"rangemode": "tozero"}
        layout[f"xaxis{axis}"] = {"title": {"text": panel.title}, "anchor": f"y{axis}"} | span
        layout[f"yaxis{axis}"] = {
            "domain": [max(bottom, 0.0), top],
            "anchor": f"x{axis}",
            "autorange": "reversed",
        }
        top = bottom - 1.4 / rows
    return to_plotly_figure({"data": data, "layout": layout})


# Pictures of traces: places, one person's days, the hours of the week.


AnyTraces = Traces | GpsTraces | ObfuscatedTraces
_Kind = TypeVar("_Kind", bound=AnyTraces)
KINDS = ("places", "person", "hours")
_SHOWN_USERS = 3


def traces_picture(
    traces: AnyTraces,
    kind: str | None = None,
    *,
    user: Any = None,
    timezone: str | None = None,
    interactive: bool = False,
) -> Any:
    """Draw traces, as described in `RowTable.plot`."""
    chosen = kind or ("places" if user is None else "person")
    if chosen not in KINDS:
        raise ParameterError.of("kind", kind, f"one of {', '.join(KINDS)}")
    _check_zone(traces, chosen, timezone)
    if chosen == "person" and user is None:
        raise ParameterError(f"kind = 'person' draws one user; name one, {_list_examples(traces)}")
    subject = traces if user is None else traces[user]
    if not len(subject):
        raise DataError("there is nothing to draw: the traces have no rows")
    if chosen == "places":
        return person.draw_place_map(subject, interactive=interactive)
    times = _compute_times(subject, timezone)
    if chosen == "hours":
        return person.draw_hours(_drop_deleted(subject, times), interactive=interactive)
    return person.draw_person(subject, times, interactive=interactive)


def _check_zone(traces: AnyTraces, kind: str, timezone: str | None) -> None:
    if timezone is None:
        return
    if not isinstance(traces, GpsTraces):
        raise ParameterError(
            "timezone is only for GPS points; events already have the local time of their clock"
        )
    if kind == "places":
        raise ParameterError("timezone is only for pictures with hours; a map of places has none")
    require_zone(timezone)


def _list_examples(traces: AnyTraces) -> str:
    return f"such as user={', '.join(repr(one) for one in traces.user_ids[:_SHOWN_USERS].tolist())}"


def _compute_times(traces: AnyTraces, timezone: str | None) -> RowTimes:
    if not isinstance(traces, GpsTraces):
        return compute_event_times(traces)
    return compute_point_times(
        traces, timezone or guess_local_time(traces.latitude, traces.longitude).zone or "UTC"
    )


def _drop_deleted(traces: AnyTraces, times: RowTimes) -> RowTimes:
    """Leave out deleted events: nobody sees when they were."""
    if not isinstance(traces, ObfuscatedTraces):
        return times
    left = ~traces.is_deleted
    if not left.any():
        raise DataError("there is nothing to draw: every event was deleted")
    return RowTimes("events", times.day[left], times.time[left], times.labels, times.first_day, times.whose)
