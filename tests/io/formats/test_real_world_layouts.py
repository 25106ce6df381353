"""Tables as they are found in the world are read as they are meant, or refused with what to write."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.formats.layouts import LAYOUTS, RealLayout

import tracearena as ta
from tracearena.errors import TracearenaError
from tracearena.traces import GpsTraces, Traces


def made(folder: Path, layout: RealLayout) -> tuple[Path, dict[str, Any]]:
    """Write the file of a layout and those beside it; return its path and the options for it."""
    path = folder / layout.file
    path.write_text(layout.text, encoding="utf-8")
    options = dict(layout.options)
    for name, text in layout.beside.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
        options[name] = folder / f"{name}.csv"
    return path, options


def points_of(traces: GpsTraces) -> list[tuple[Any, str, float, float]]:
    moments = [
        datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat(" ").removesuffix("+00:00")
        for ms in traces.time_ms.tolist()
    ]
    users = traces.user_ids[traces.user_index].tolist()
    return list(zip(users, moments, traces.latitude.tolist(), traces.longitude.tolist(), strict=True))


def events_of(traces: Traces) -> list[tuple[Any, str, Any]]:
    first = traces.clock.first_day
    assert first is not None
    days = [first + datetime.timedelta(int(day)) for day in traces.clock.day_of(traces.instants)]
    hours = [traces.clock.label(int(instant)) for instant in traces.instants]
    users = traces.user_ids[traces.user_index].tolist()
    places = traces.places.ids[traces.place_index].tolist()
    return [(u, f"{d} {h}", p) for u, d, h, p in zip(users, days, hours, places, strict=True)]


def plain(point: tuple[Any, str, float, float]) -> tuple[Any, np.datetime64, float, float]:
    return point[0], np.datetime64(point[1], "ms"), *point[2:]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_table_is_read_as_it_is_meant_or_refused(tmp_path: Path, layout: RealLayout) -> None:
    path, options = made(tmp_path, layout)
    if layout.refusal:
        with pytest.raises(TracearenaError) as error:
            ta.read(path, **options)
        assert layout.refusal in str(error.value)
        return
    traces, report = ta.read(path, **options)
    assert report.dropped == {}
    assert layout.noticed in "\n".join(report.noticed)
    assert layout.noticed or not any("could be" in reason for reason in report.noticed)
    if isinstance(traces, GpsTraces):
        assert [plain(point) for point in points_of(traces)] == [plain(point) for point in layout.points]
    else:
        assert events_of(traces) == list(layout.events)


@pytest.mark.parametrize(
    "layout", [layout for layout in LAYOUTS if layout.points], ids=lambda layout: layout.name
)
def test_a_data_frame_of_the_same_columns_is_read_the_same(tmp_path: Path, layout: RealLayout) -> None:
    pandas = pytest.importorskip("pandas")
    path, options = made(tmp_path, layout)
    expected = ta.read(path, **options).traces
    delimiter = " " if options.pop("delimiter", None) == "space" else max(",;\t|", key=layout.columns.count)
    header = options.pop("header", True)
    frame = pandas.read_csv(path, sep=delimiter, dtype=str, header=0 if header else None)
    if not header:
        frame.columns = [str(i) for i in range(1, len(frame.columns) + 1)]
    assert ta.read(frame, **options).traces == expected


def test_there_are_as_many_layouts_as_promised() -> None:
    assert len(LAYOUTS) >= 30
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)


def test_the_options_are_shown_as_a_command_line_has_them() -> None:
    shown = {layout.name: layout.command_line for layout in LAYOUTS}
    assert shown["T-Drive, taxis of Beijing"] == "--no-header --columns user=1,time=2,lng=3,lat=4"
    assert shown["French column names, day first"] == "--decimal ',' --time-format '%d/%m/%Y %H:%M:%S'"
    assert shown["Japanese column names"] == ""
