"""Frames of every library are read, and what `to_frame` hands out is read as the same traces."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import tracearena as ta
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

LIBRARIES = ("polars", "pandas", "arrow", "geopandas")
TIMES = pl.Series(["2024-05-01T08:00:00Z", "2024-05-01T09:30:10Z", "2024-05-02T23:59:59Z"])
POINTS = GpsTraces.from_points(
    ["ann", "bob", "bob"], [1714550400000, 1714555810250, 1714694399000], [35.1, 35.2, 35.3], [139.7] * 3
)


def needs(library: str) -> Any:
    """Skip where a library is not at hand: they are extras."""
    return pytest.importorskip({"arrow": "pyarrow"}.get(library, library))


def gps(ids: Any = ("ann", "bob")) -> GpsTraces:
    """Return points of two users in three trajectories, to the millisecond."""
    return GpsTraces.from_points(
        np.array(ids)[[1, 0, 1, 1]],
        [1714550400000, 1714550400001, 1714555810250, 1714694399999],
        [35.1, -35.2, 35.3, 0.1 + 0.2],
        [139.7, -179.9, 139.8, 1 / 3],
        trajectories=["x", "walk", "x", "y"],
    )


def events(clock: Clock, *, users: Any = ("ann", "bob"), stamps: bool = False) -> Traces:
    """Return events on every instant of a day and the first of the next, at places with categories."""
    places = Places([35.0, 35.1, 35.25], [139.0, 139.1, 1 / 3], ids=["a", "b", "c"],
                    categories=["food/Ramen", "", "Café, \"Übersee\""])  # fmt: skip
    n = clock.instants_per_day + 1
    instants = np.tile(np.arange(n), 2)
    local_s = (clock.day_of(instants) + 19_000) * 86_400 + clock.second_of_day(instants)
    return Traces.from_events(
        np.repeat(np.array(users), n),
        instants,
        np.arange(2 * n) % 3,
        places,
        clock,
        # Nine hours behind the local time of Tokyo, and some seconds into the instant.
        timestamps=local_s - 9 * 3600 + np.arange(2 * n) % 60 if stamps else None,
    )


def dated(interval_s: int) -> Clock:
    """Return a clock of dates with an instant every so many seconds."""
    first = datetime.date(1970, 1, 1) + datetime.timedelta(days=19_000)
    return Clock(instants_per_day=86_400 // interval_s, interval_s=interval_s, first_day=first)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "users", [("ann", "bob"), ("007", "12"), (7, 2**40)], ids=["names", "zeros", "numbers"]
)
def test_points_come_back(library: str, users: Any) -> None:
    needs(library)
    traces = gps(users)
    read, report = ta.read(traces.to_frame(library))
    assert read == traces
    assert report.rows == 4
    assert not report.dropped


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("interval_s", [3600, 1800, 1200])
@pytest.mark.parametrize("stamps", [False, True], ids=["local", "utc"])
def test_events_come_back_with_their_clock_and_categories(
    library: str, interval_s: int, stamps: bool
) -> None:
    needs(library)
    traces = events(dated(interval_s), stamps=stamps)
    read, _ = ta.read(traces.to_frame(library), interval=f"{interval_s // 60}min")
    assert read == traces
    if not stamps:
        assert ta.read(traces.to_frame(library)).traces.clock == traces.clock


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbered_instants_come_back(library: str) -> None:
    needs(library)
    traces = events(Clock(instants_per_day=24), users=(3, 5))
    assert ta.read(traces.to_frame(library)).traces == traces


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_whole_city_comes_back_with_its_places(library: str) -> None:
    needs(library)
    city = ta.simulate(20, 2, seed=1)
    assert ta.read(city.to_frame(library), places=city.places).traces == city
    read = ta.read(city.to_frame(library), places=city.places.to_frame(library)).traces
    assert isinstance(read, Traces)
    np.testing.assert_array_equal(read.places.sensitive, city.places.sensitive)
    np.testing.assert_array_equal(read.places.categories, city.places.categories)
    assert read.places.grid == city.places.grid


def test_a_release_has_a_list_of_places_in_every_row() -> None:
    original = events(dated(3600)).take_instants(0, 4)
    released = ObfuscatedTraces.like(
        original, [0, -1, -2, 2, -3, -2, 1, -1], PlaceSets.of([[0, 2], [1, 2, 0]])
    )
    frame = released.to_frame()
    assert frame.columns == ["user_id", "time", "places", "lat", "lng", "category"]
    latitude = dict(zip(original.places.ids.tolist(), original.places.latitude.tolist(), strict=True))
    assert frame["lat"].to_list() == [
        [latitude[place] for place in cell] for cell in frame["places"].to_list()
    ]
    assert frame["places"].to_list() == [
        ["a"], [], ["a", "c"], ["c"], ["b", "c", "a"], ["a", "c"], ["b"], [],
    ]  # fmt: skip
    assert frame["user_id"].to_list() == ["ann"] * 4 + ["bob"] * 4
    assert frame["time"][1] == datetime.datetime(2022, 1, 8, 1)
    assert released.to_frame("arrow")["places"].to_pylist() == frame["places"].to_list()
    with pytest.raises(ParameterError, match="needs points, and this table has none"):
        released.to_frame("geopandas")


@pytest.mark.slow
def test_a_release_of_a_million_events_is_one_lookup() -> None:
    places = Places(np.linspace(0, 1, 1000), np.zeros(1000))
    n = 1_000_000
    original = Traces.from_dense(np.arange(n).reshape(1000, -1) % 1000, places, Clock(instants_per_day=24))
    codes = np.where(np.arange(n) % 3 == 0, -2 - np.arange(n) % 50, original.place_index)
    released = ObfuscatedTraces.like(original, codes, PlaceSets.of([[k, k + 1] for k in range(50)]))
    frame = released.to_frame()
    assert frame.height == n
    assert frame["places"].list.len().sum() == n + (n + 2) // 3
    assert frame["places"][3].to_list() == [3, 4]


def test_a_table_of_ids_is_a_frame() -> None:
    frame = IdTable([4, 5], ["ann", "bob"]).to_frame()
    assert frame.to_dicts() == [{"pse_id": 4, "user_id": "ann"}, {"pse_id": 5, "user_id": "bob"}]


def test_what_no_library_is_called_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"library = 'excel' .* polars, pandas, arrow, geopandas"):
        gps().to_frame("excel")


def _pandas(**columns: Any) -> Any:
    pandas = needs("pandas")
    base = {
        "user": ["ann", "bob", "bob"],
        "time": TIMES.to_list(),
        "lat": [35.1, 35.2, 35.3],
        "lng": [139.7] * 3,
    }
    return pandas.DataFrame(base | columns)


def _same(frame: Any, time_ms: int = 0) -> None:
    """Check that a frame holds the three points, to the second."""
    traces = ta.read(frame).traces
    assert isinstance(traces, GpsTraces)
    assert traces.user_ids.tolist() == ["ann", "bob"]
    np.testing.assert_array_equal(traces.time_ms // 1000, POINTS.time_ms // 1000)
    np.testing.assert_array_equal(traces.latitude, POINTS.latitude)


def test_pandas_may_hold_its_columns_in_any_way() -> None:
    pandas = needs("pandas")
    moments = pandas.to_datetime(TIMES.to_list(), utc=True)
    users = ["ann", "bob", "bob"]
    for user in (
        pandas.Categorical(users),
        pandas.array(users, dtype="string[python]"),
        np.array(users, object),
    ):
        _same(_pandas(user=user))
    for time in (
        moments,
        moments.tz_convert("Asia/Tokyo"),
        moments.tz_localize(None),
        moments.tz_localize(None).astype("datetime64[s]"),
        moments.tz_localize(None).to_period("s"),
        [moment.to_pydatetime() for moment in moments],
        [moments[0], moments[1].tz_convert("Asia/Tokyo"), moments[2]],
        (moments.astype("datetime64[ns, UTC]").astype("int64") // 10**9),
    ):
        _same(_pandas(time=time))
    for latitude in (pandas.array([35.1, 35.2, 35.3], dtype="Float64"), ["35.1", "35.2", "35.3"]):
        _same(_pandas(lat=latitude))


def test_an_index_of_pandas_that_says_something_is_read() -> None:
    pandas = needs("pandas")
    frame = _pandas()
    moments = pandas.to_datetime(frame["time"])
    _same(frame.drop(columns="time").set_index(pandas.DatetimeIndex(moments, name=None)))
    _same(frame.assign(time=moments).set_index("time"))
    _same(frame.set_index(["user", "time"]))
    # Numbers without a name are no column, and an index does not hide a column.
    _same(frame.set_index(pandas.Index([9, 8, 7])))
    _same(frame.set_index(pandas.date_range("2000-01-01", periods=3)))


@pytest.mark.parametrize("system", [4326, 3857, 32654, 2450])
def test_points_of_geopandas_are_brought_to_wgs84(system: int) -> None:
    geopandas = needs("geopandas")
    frame = _pandas()
    points = geopandas.points_from_xy(frame.pop("lng"), frame.pop("lat"), crs=4326)
    there = geopandas.GeoDataFrame(frame, geometry=points).to_crs(system)
    traces = ta.read(there.rename_geometry("geom")).traces
    assert isinstance(traces, GpsTraces)
    np.testing.assert_allclose(traces.latitude, POINTS.latitude, atol=1e-8)
    np.testing.assert_allclose(traces.longitude, POINTS.longitude, atol=1e-8)


def test_a_point_that_is_missing_is_a_row_left_out() -> None:
    geopandas = needs("geopandas")
    shapely = needs("shapely")
    frame = _pandas().drop(columns=["lat", "lng"])
    points = [shapely.Point(139.7, 35.1), None, shapely.Point()]
    traces, report = ta.read(geopandas.GeoDataFrame(frame, geometry=points, crs=4326))
    assert len(traces) == 1
    assert report.dropped_rows == 2


def test_geometries_that_are_no_positions_are_refused() -> None:
    geopandas = needs("geopandas")
    shapely = needs("shapely")
    frame = _pandas().drop(columns=["lat", "lng"])
    point, line = shapely.Point(139.7, 35.1), shapely.LineString([(0, 0), (1, 1)])
    with pytest.raises(DataError, match="no coordinate reference system"):
        ta.read(geopandas.GeoDataFrame(frame, geometry=[point] * 3))
    with pytest.raises(DataError, match="row 3, column geometry: a LineString; every row must have a Point"):
        ta.read(geopandas.GeoDataFrame(frame, geometry=[point, point, line], crs=4326))
    with pytest.raises(DataError, match="no active geometry"):
        ta.read(geopandas.GeoDataFrame(frame))


def test_arrow_comes_as_table_batch_and_reader() -> None:
    arrow = needs("arrow")
    table = arrow.Table.from_pandas(_pandas(), preserve_index=False)
    _same(table)
    _same(table.to_batches()[0])
    _same(arrow.RecordBatchReader.from_batches(table.schema, table.to_batches()))


def test_a_column_of_lists_of_several_lengths_is_named() -> None:
    with pytest.raises(DataError, match="column uid must be a list of values"):
        ta.read({"uid": [[1], [1, 2]], "time": [1, 2], "lat": [1.0, 2.0], "lng": [1.0, 2.0]})


def test_columns_by_name_and_named_fields_are_tables() -> None:
    columns = {"user": ["ann", "bob", "bob"], "time": np.array([t[:-1] for t in TIMES], "datetime64[s]"),
               "lat": POINTS.latitude, "lng": [139.7] * 3}  # fmt: skip
    _same(columns)
    kinds = [("user", "U3"), ("time", "M8[s]"), ("lat", float), ("lng", float)]
    rows = list(zip(*columns.values(), strict=True))
    _same(np.array(rows, dtype=kinds))
    with pytest.raises(DataError, match="the same number of values, not user 3, time 3, lat 3, lng 2"):
        ta.read(columns | {"lng": [139.7] * 2})
    with pytest.raises(DataError, match="column lat must be a list of values"):
        ta.read(columns | {"lat": np.zeros((3, 2))})


def test_lazy_frames_are_collected_or_refused() -> None:
    frame = pl.DataFrame(
        {"user": ["ann", "bob", "bob"], "time": TIMES, "lat": POINTS.latitude, "lng": [139.7] * 3}
    )
    _same(frame.lazy())
    with pytest.raises(DataError, match="the lazy frame cannot be collected"):
        ta.read(frame.lazy().select("nothing of the kind"))


def _two_of_a_name() -> Any:
    frame = _pandas(other=[1.0, 2.0, 3.0])
    return frame.set_axis(["user", "time", "lat", "lng", "lat"], axis=1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_two_of_a_name, "two columns named 'lat'"),
        (lambda: _pandas(lat=[{"a": 1}] * 3), "column lat: the column has the type Struct"),
        (lambda: _pandas().drop(columns="time"), "no column for the time"),
        (lambda: _pandas().head(0), "holds no"),
        (lambda: _pandas()["lat"], "must be a path, a pandas, Polars, GeoPandas or Arrow table"),
        (lambda: 7, "must be a path, a pandas, Polars, GeoPandas or Arrow table"),
        (lambda: np.zeros((3, 4)), "must be a path, a pandas, Polars, GeoPandas or Arrow table"),
    ],
)
def test_a_bad_frame_gets_a_sentence(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(TracearenaError, match=said):
        ta.read(make())
