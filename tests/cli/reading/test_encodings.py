"""Text of other encodings, halves of letters and NULs: a row is read or reported, and nothing breaks."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import polars as pl
import pytest

import tracearena as ta
from tracearena.errors import FileError
from tracearena.io import read_places, read_released
from tracearena.io.places import read_pseudonyms

HALF = r"\ud800"
TIME = "2012-04-03T18:00:00Z"
POINT = '{"type": "Point", "coordinates": [-74, 40.7]}'
DOCUMENTS = {
    "a.jsonl": f'{{"user": "{HALF}", "time": "{TIME}", "lat": 40.7, "lng": -74, "{HALF}": 1}}\n' * 2,
    "a.geojson": '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": '
    f'{POINT}, "properties": {{"user": "{HALF}", "time": "{TIME}"}}}}]}}',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_half_a_letter_in_json_is_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(DOCUMENTS[name])
    assert ta.read(tmp_path / name).traces.user_ids.tolist() == ["\ufffd"]


def test_a_time_of_half_a_letter_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "Records.json"
    file.write_text('{"locations": [{"latitudeE7": 1, "longitudeE7": 1, "timestamp": "' + HALF + '"}]}')
    with pytest.raises(FileError, match="no time could be read"):
        ta.read(file)


@pytest.mark.parametrize("letter", [r"\ud83d\ude00", r"\\ud800"])
def test_whole_letters_stay(tmp_path: Path, letter: str) -> None:
    (tmp_path / "a.jsonl").write_text(DOCUMENTS["a.jsonl"].replace(HALF, letter))
    user = ta.read(tmp_path / "a.jsonl").traces.user_ids.tolist()[0]
    assert user == {r"\ud83d\ude00": "\U0001f600"}.get(letter, r"\ud800")


def test_a_tar_archive_with_a_name_in_latin_1_is_read(tmp_path: Path) -> None:
    data = f"time,lat,lng\n{TIME},40.7,-74\n".encode()
    with tarfile.open(
        tmp_path / "a.tar.gz", "w:gz", encoding="latin-1", format=tarfile.GNU_FORMAT
    ) as archive:
        for name in ("caf\xe9.csv", "bar.csv"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert ta.read(tmp_path / "a.tar.gz").traces.user_ids.tolist() == ["bar", "caf\ufffd"]


def test_an_id_with_a_nul_is_left_out_and_not_taken_for_another(tmp_path: Path) -> None:
    row = f'{{"user": "a", "time": "{TIME}", "lat": 40.7, "lng": -74}}\n'
    (tmp_path / "a.jsonl").write_text(row + row.replace('"a"', r'"a\u0000"'))
    traces, report = ta.read(tmp_path / "a.jsonl")
    assert (traces.user_ids.tolist(), len(traces)) == (["a"], 1)
    assert report.dropped == {"id with a NUL": 1}


def test_tables_of_ids_with_a_nul_are_refused(tmp_path: Path) -> None:
    ids, one, lists = ["a", "a\0"], [40.7, 40.8], [[40.7], [40.7]]
    for read, columns in (
        (read_pseudonyms, {"pse_id": ["1", "2"], "user_id": ids}),
        (read_places, {"place": ids, "lat": one, "lng": one}),
        (read_released, {"user_id": ids, "time_id": [1, 1], "places": [[7]] * 2, "lat": lists, "lng": lists}),
    ):
        pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(FileError, match=r"U\+0000"):
            read(tmp_path / "a.parquet")
