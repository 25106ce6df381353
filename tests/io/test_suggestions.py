"""An unknown table gets a proposal: what its columns may be, and its first rows as they would be read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.io.formats.layouts import LAYOUTS, RealLayout
from tests.io.formats.test_real_world_layouts import made

import tracearena as ta
from tracearena.io.suggestions import Proposal, propose_layout

ODD = "wer,wann,hier,dort,was\n" + "".join(
    f"{'ab'[i % 2]},2012-04-{3 + i % 5:02} 18:00:0{i % 10},40.7{i}1,-122.4{i}1,{i}\n" for i in range(20)
)


def proposed(folder: Path, text: str, name: str = "odd.csv") -> Proposal | None:
    (folder / name).write_text(text)
    return propose_layout(folder / name)


def test_columns_of_unknown_names_are_told_by_their_values(tmp_path: Path) -> None:
    proposal = proposed(tmp_path, ODD)
    assert proposal is not None
    assert proposal.options == "--columns user=wer,time=wann,lat=hier,lng=dort"
    assert proposal.rows[0] == {"user": "a", "time": "2012-04-03 18:00:00", "lat": 40.701, "lng": -122.401}
    assert len(proposal.rows) == 3
    traces = ta.read(tmp_path / "odd.csv", **proposal.keywords).traces
    assert (traces.user_ids.tolist(), len(traces)) == (["a", "b"], 20)
    assert propose_layout(pl.read_csv(ODD.encode())) == proposal
    assert proposal.to_dict()["doubts"] == []


@pytest.mark.parametrize(
    "layout", [layout for layout in LAYOUTS if layout.points], ids=lambda layout: layout.name
)
def test_what_is_proposed_can_be_read(tmp_path: Path, layout: RealLayout) -> None:
    path, options = made(tmp_path, layout)
    proposal = propose_layout(path)
    assert proposal is not None
    read = ta.read(path, **proposal.keywords).traces
    expected = ta.read(path, **options).traces
    assert read.n_points == expected.n_points
    assert sorted(read.latitude.tolist()) == sorted(expected.latitude.tolist())


def test_what_may_be_otherwise_is_said(tmp_path: Path) -> None:
    rows = "".join(f"a,0{i}/05/2012,4{i}.123,1{i}.123\n" for i in range(1, 9))
    proposal = proposed(tmp_path, "wer,wann,p,q\n" + rows)
    assert proposal is not None
    assert proposal.keywords["time_format"] == "%d/%m/%Y"
    assert proposal.doubts == (
        "day and month may be in the other order: --time-format %m/%d/%Y",
        "the latitude may be q and the longitude p",
    )


@pytest.mark.parametrize(
    "text", ["", "hello\n", "a,b\n1,2\n3,4\n", "x;y;t\n1823456.2;6142345.9;2008-12-11\n"]
)
def test_what_is_no_table_of_traces_gets_no_proposal(tmp_path: Path, text: str) -> None:
    assert proposed(tmp_path, text) is None
