"""Traces and results draw themselves, as figures of Matplotlib and of Plotly."""

from __future__ import annotations

import re
import sys
from datetime import date
from typing import Any

import numpy as np
import pytest

import tracearena as ta
from tracearena.arena import Sweep, baselines
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces

CITY = Traces.from_dense(
    np.arange(3 * 24 * 9).reshape(3, -1) // 5 % 12,
    Places.of_grid(ta.Grid(rows=3, columns=4, south=35, west=139, north=35.1, east=139.2),
                   sensitive=np.arange(12) == 5, categories=["$home$", "<b>"] * 6),
    Clock(instants_per_day=24, first_day=date(2024, 1, 1)),
    user_ids=["ann", "$b$", "_cy"],
)  # fmt: skip
RELEASED = ObfuscatedTraces.like(
    CITY,
    np.array([0, -1, -2, 3])[np.arange(len(CITY)) % 4],
    PlaceSets.of([[1, 2, 5]]),
)
POINTS = GpsTraces.from_points(
    np.repeat(["ann", "bob"], 300),
    np.tile(np.arange(300) * 600_000 + 1_714_550_400_000, 2),
    35.6 + np.sin(np.arange(600) / 40) / 50,
    139.7 + np.cos(np.arange(600) / 70) / 50,
)
KINDS: dict[str, Any] = {"events": CITY, "released": RELEASED, "points": POINTS}
PNG = b"\x89PNG\r\n"


def words(figure: Any) -> str:
    """Return every word of a figure of Matplotlib."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("traces", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"kind": "hours"}, {"user": "ann"}], ids=["places", "hours", "person"]
)
def test_every_kind_of_traces_draws_itself(traces: Any, options: dict[str, Any]) -> None:
    figure = traces.plot(**options)
    assert figure._repr_png_().startswith(PNG)
    moving = traces.plot(**options, interactive=True)
    assert moving.to_plotly_json()["data"]
    # No colour of a page that follows its reader is left.
    assert "var(--" not in moving.to_json()


@pytest.mark.slow
def test_a_map_says_how_much_it_shows() -> None:
    assert "648 events of 3 users at 12 of 12 places" in words(CITY.plot())
    said = words(RELEASED.plot())
    assert "648 events of 3 users, released at 5 of 12 places: 162 as sets, 162 deleted" in said
    assert "sensitive places" in said
    assert "600 points of 2 users in" in words(POINTS.plot())
    assert CITY.plot(interactive=True).layout.title.text == "648 events of 3 users at 12 of 12 places"


def test_a_map_of_one_user_shows_her_alone() -> None:
    assert "216 events of user ann at 12 of 12 places" in words(CITY.plot("places", user="ann"))


def test_places_that_are_no_grid_are_dots() -> None:
    places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.3])
    traces = Traces.from_dense([[0, 1, 1, 0]], places, Clock(instants_per_day=24))
    (dots,) = traces.plot().axes[0].collections
    assert dots.get_offsets().tolist() == [[139.0, 35.0], [139.1, 35.1]]


@pytest.mark.slow
def test_hours_are_by_weekday_where_there_is_a_week_of_dates() -> None:
    assert "Monday" in words(CITY.plot("hours"))
    days = words(CITY.take_days(0, 3).plot("hours"))
    assert "Mon 2024-01-01" in days
    assert "the same number at all times" in days
    undated = Traces.from_dense([[0] * 48], CITY.places, Clock(instants_per_day=24))
    assert "day 2" in words(undated.plot("hours"))
    heat = POINTS.plot("hours", timezone="Asia/Tokyo", interactive=True)
    assert heat.layout.xaxis.title.text == "time of day, Asia/Tokyo"
    assert int(np.asarray(heat.data[0].z).sum()) == 600


def test_hours_of_points_are_those_where_they_lie() -> None:
    assert "time of day, Asia/Tokyo" in words(POINTS.plot("hours"))


def test_deleted_events_have_no_hour() -> None:
    assert "486 events by weekday" in words(RELEASED.plot("hours"))
    nothing = ObfuscatedTraces.like(CITY, np.full(len(CITY), -1))
    with pytest.raises(DataError, match="every event was deleted"):
        nothing.plot("hours")


@pytest.mark.slow
def test_a_persons_days_name_her_places_as_they_are_called() -> None:
    # Names are no formulas, and no markup.
    said = words(CITY.plot(user="$b$"))
    assert "User $b$: 216 events on 9 days" in said
    assert ", $home$ (" in said
    assert "other places (" in said
    assert CITY.plot(user="_cy")._repr_png_().startswith(PNG)


def test_a_small_share_is_no_share_of_nothing() -> None:
    traces = Traces.from_dense([[0] * 300 + [1]], CITY.places, Clock(instants_per_day=24))
    assert "place 2, <b> (<1%)" in words(traces.plot(user=1))


@pytest.mark.slow
def test_a_persons_release_shows_sets_and_what_was_deleted() -> None:
    said = words(RELEASED.plot(user="ann"))
    assert "a set of places (25%)" in said
    assert "deleted (25%)" in said
    gone = ObfuscatedTraces.like(CITY, np.full(len(CITY), -1))
    assert "deleted (100%)" in words(gone.plot(user="ann"))
    assert gone.plot(user="ann")._repr_png_().startswith(PNG)


def test_stretches_that_follow_each_other_are_one_bar() -> None:
    traces = Traces.from_dense([[0] * 20 + [1] * 4], CITY.places, Clock(instants_per_day=24))
    bars = [trace for trace in traces.plot(user=1, interactive=True).data if trace.type == "bar"]
    assert [(list(bar.base), list(bar.x)) for bar in bars] == [([0.0], [20.0]), ([20.0], [4.0])]


@pytest.mark.parametrize(
    ("traces", "options", "said"),
    [
        (CITY, {"kind": "pie"}, "kind = 'pie' is not allowed; it must be one of places, person, hours"),
        (CITY, {"kind": "person"}, "name one, such as user='ann'"),
        (CITY, {"user": "dee"}, "there is no user 'dee'; name one of them, such as 'ann'"),
        (CITY, {"kind": "hours", "timezone": "Asia/Tokyo"}, "timezone is only for GPS points"),
        (POINTS, {"timezone": "Asia/Tokyo"}, "a map of places has none"),
        (POINTS, {"kind": "hours", "timezone": "Asia/Tokio"}, "perhaps Asia/Tokyo"),
    ],
)
def test_a_picture_that_makes_no_sense_gets_a_sentence(traces: Any, options: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        traces.plot(**options)


def test_traces_without_rows_are_not_drawn() -> None:
    with pytest.raises(DataError, match="nothing to draw"):
        CITY.take_instants(0, 0).plot()


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    """A sweep of three defences."""
    reference, original = CITY.split_days(4)
    return ta.run_sweep(reference, original, defences=["No", "PL(1,1)", "RR(1)"], seed=1)


def test_a_sweep_is_drawn_as_usefulness_against_privacy(sweep: Sweep) -> None:
    said = words(sweep.plot())
    assert "usefulness, s_U" in said
    assert "privacy against trace inference" in said
    assert "3 defences; hollow: utility below 0.7" in said
    both = sweep.plot("privacy", interactive=True)
    assert both.layout.xaxis.title.text.startswith("privacy against re-identification")
    assert {trace.name for trace in both.data} == {"No", "PL", "RR"}
    with pytest.raises(ParameterError, match="tradeoff or privacy"):
        sweep.plot("pie")


def test_a_sweep_without_trace_inference_shows_what_it_has() -> None:
    reference, original = CITY.split_days(4)
    names = ta.run_sweep(reference, original, defences=["No"], attacks=["VisitProb-R"], seed=1)
    assert "privacy against re-identification" in words(names.plot())
    assert "no defence was attacked by any attack" in words(Sweep(threshold=0.7).plot())


def test_a_sweep_is_a_frame_and_a_list(sweep: Sweep) -> None:
    frame = sweep.to_frame()
    assert frame["defence"].to_list() == ["No", "PL(1,1)", "RR(1)"]
    assert frame["utility"][0] == 1.0
    assert frame.columns[:3] == ["defence", "utility", "valid"]
    assert frame.columns[-5:] == ["s_R_min", "s_T_min", "strongest_R", "strongest_T", "error"]
    assert sweep == list(sweep)
    assert sweep[0].to_frame().height == 1


def test_an_evaluation_is_drawn_beside_its_baselines() -> None:
    found = ta.evaluate(CITY, CITY, CITY)
    marks = baselines(CITY, CITY)
    said = words(found.plot(baselines=marks))
    assert f"population of places, TP-TV: {found.utility.tp_tv:.3f}" in said
    assert f"users re-identified: {found.reidentification_rate:.3f}" in said
    assert "uniform" in said
    moving = found.plot(baselines=marks, interactive=True)
    assert {"training", "uniform"} <= {trace.name for trace in moving.data}
    assert found.to_frame()["tp_tv"].to_list() == [found.utility.tp_tv]


def explored(traces: Any, **options: Any) -> str:
    """Return the page of a map to move about in."""
    pytest.importorskip("folium", reason="the extra maps is not installed")
    html: str = traces.explore(**options).get_root().render()
    return html


@pytest.mark.parametrize("traces", KINDS.values(), ids=KINDS)
def test_a_map_to_explore_shows_no_person_and_loads_no_tiles(traces: Any) -> None:
    html = explored(traces, smallest_group=2)
    assert re.search("[23] people, [0-9,]+ positions", html)
    assert "Polygon" in html
    assert '"Point"' not in html
    assert "tileLayer" not in html.replace("L.tileLayer.wms", "")
    assert not any(str(user) in html for user in ("ann", "bob", "_cy"))


def test_a_map_to_explore_depends_on_nobody_outside_the_cells_it_shows() -> None:
    home, far = np.repeat([[35.001, 139.001]], 4, axis=0), [[35.001, 139.001], [36.72345, 141.81234]]
    points = [
        GpsTraces.from_points(np.arange(len(at)), np.arange(len(at)), *np.transpose(at))
        for at in (home, np.concatenate([home[:3], far]))
    ]
    near, spread = (
        re.sub("[0-9a-f]{32}|, [0-9]+ positions", "", explored(at, smallest_group=4)) for at in points
    )
    assert "4 people" in near
    left_out = "; cells with fewer than 4 are left out"
    assert left_out in spread
    assert spread.replace(left_out, "") == near


def test_a_map_to_explore_says_what_its_colours_mean() -> None:
    html = explored(POINTS, smallest_group=1)
    assert re.search(r"people in a cell of 500 m: 1 <i style='background:.*?'></i> 2</div>", html)
    assert "sensitive place" in explored(ta.simulate(users=2, days=1, seed=1), show_people=True)


@pytest.mark.parametrize("traces", KINDS.values(), ids=KINDS)
def test_a_map_to_explore_shows_people_where_that_is_asked_for(traces: Any) -> None:
    html = explored(traces, show_people=True, user="ann")
    assert '"Point"' in html
    assert "ann, 20" in html
    assert "OpenStreetMap" in explored(traces, show_people=True, user="ann", tiles="OpenStreetMap")


def test_ids_on_a_map_to_explore_are_no_markup() -> None:
    html = explored(CITY.with_user_ids(["<script>", "b", "c"]), show_people=True)
    assert "&lt;script&gt;, 20" in html.replace("\\u0026", "&").replace("\\u003c", "<")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"user": "ann"}, "needs show_people=True"),
        ({}, "no cell of 500 m has 10 people, at most 3: use larger cells"),
        ({"cell_m": 0}, "cell_m = 0"),
        ({"smallest_group": 0}, "smallest_group = 0"),
    ],
)
def test_what_a_map_to_explore_cannot_show_is_refused(options: dict[str, Any], said: str) -> None:
    pytest.importorskip("folium", reason="the extra maps is not installed")
    with pytest.raises((DataError, ParameterError), match=said):
        CITY.explore(**options)


def test_a_map_to_explore_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "folium", None)
    with pytest.raises(ParameterError, match=r"pip install 'tracearena\[maps\]'"):
        CITY.explore()
