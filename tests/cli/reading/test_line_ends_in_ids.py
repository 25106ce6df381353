"""Letters that Python takes for the end of a line are letters of an id in formats with one row a line."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracearena as ta
from tracearena.errors import FileError
from tracearena.io.places import read_pseudonyms
from tracearena.traces import Clock, Places, Traces

SEPARATORS = ["\u2028", "\x85", "\x0b", "\x1c"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_geojson_is_written_and_read_again(tmp_path: Path, separator: str) -> None:
    places = Places([40.7, 40.8], [-74.0, -73.9], ids=[f"a{separator}b", "c"])
    traces = Traces.from_dense([[0, 1]], places, Clock(instants_per_day=24))
    ta.write(traces, tmp_path / "a.geojson")
    assert ta.read(tmp_path / "a.geojson").traces.places.ids.tolist() == [f"a{separator}b", "c"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_table_of_pseudonyms_is_read(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(f"pse_id,user_id\r\n1,a{separator}b\r\n2,c\r\n".encode())
    assert read_pseudonyms(file) == {"1": f"a{separator}b", "2": "c"}


def test_a_table_of_pseudonyms_that_is_no_csv_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('pse_id,user_id\n1,"' + "a\n" * 100_000)
    with pytest.raises(FileError, match="is not a CSV table"):
        read_pseudonyms(tmp_path / "a.csv")
