"""Traces of scikit-mobility, trackintel and movingpandas: stand-ins, and the real packages in long tests."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.docs.pages import ROOT

import tracearena as ta
from tracearena.dataframes import find_library
from tracearena.errors import DataError, ParameterError
from tracearena.traces import GpsTraces

gpd = pytest.importorskip("geopandas")
pd = pytest.importorskip("pandas")

POINTS = GpsTraces.from_points(
    ["ann", "ann", "bob", "bob"],
    np.arange(4) * 1000,
    [35.0, 35.1, 35.2, 35.3],
    [139.0, 139.1, 139.2, 139.3],
    trajectories=["day", "day", "day", "day"],
)


def stand_in(monkeypatch: pytest.MonkeyPatch, package: str, **classes: type) -> None:
    """Put a package with these classes where the real one would be."""
    module = ModuleType(package)
    for name, one in classes.items():
        one.__module__ = f"{package}.core"
        setattr(module, name, one)
    monkeypatch.setitem(sys.modules, package, module)


def test_a_trajectory_frame_of_scikit_mobility_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    class TrajDataFrame(pd.DataFrame):  # type: ignore[misc]
        pass

    stand_in(monkeypatch, "skmob", TrajDataFrame=TrajDataFrame)
    frame = POINTS.to_frame("scikit-mobility")
    assert (type(frame), find_library(frame)) == (TrajDataFrame, "scikit-mobility")
    assert list(frame.columns) == ["uid", "datetime", "lat", "lng", "tid"]
    assert ta.read(frame).traces == POINTS


def test_positionfixes_of_trackintel_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    class Positionfixes(gpd.GeoDataFrame):  # type: ignore[misc]
        pass

    stand_in(monkeypatch, "trackintel", Positionfixes=Positionfixes)
    frame = POINTS.to_frame("trackintel")
    assert (type(frame), find_library(frame)) == (Positionfixes, "trackintel")
    assert str(frame["tracked_at"].dt.tz) == "UTC"
    assert ta.read(frame).traces == POINTS
    renamed = frame.rename_geometry("geom")
    assert ta.read(renamed).traces == POINTS


class Trajectory:
    """As in movingpandas: the points of one trajectory, by time."""

    def __init__(self, df: Any, id: str, obj_id: str | None) -> None:
        self.df, self.id, self.obj_id = df, id, obj_id

    def to_point_gdf(self, return_orig_tz: bool = False) -> Any:
        return self.df


class TrajectoryCollection:
    """As in movingpandas: trajectories, by the column of their ids."""

    def __init__(self, points: Any, traj_id_col: str, obj_id_col: str, t: str) -> None:
        groups = points.set_index(t).groupby(traj_id_col)
        self.trajectories = [Trajectory(df, name, df[obj_id_col].iloc[0]) for name, df in groups]

    def to_point_gdf(self, return_orig_tz: bool = False) -> Any:
        return pd.concat([one.df for one in self.trajectories])


def test_trajectories_of_movingpandas_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "movingpandas", Trajectory=Trajectory, TrajectoryCollection=TrajectoryCollection)
    moving = POINTS.to_frame("movingpandas")
    assert [one.id for one in moving.trajectories] == ["ann/day", "bob/day"], "ids of two users are two"
    back = ta.read(moving).traces
    assert back.with_trajectory_ids(POINTS.trajectory_ids) == POINTS
    one = moving.trajectories[1]
    one.obj_id = None
    assert ta.read(one).traces.user_ids.tolist() == ["bob/day"], "without an object it is a user of its own"
    moving.trajectories = []
    with pytest.raises(DataError, match="the trajectory collection is empty"):
        ta.read(moving)


@pytest.mark.parametrize("library", ["scikit-mobility", "trackintel", "movingpandas"])
def test_what_such_a_library_cannot_hold_is_refused(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    city = ta.simulate(users=2, days=1, seed=1)
    with pytest.raises(ParameterError, match=r"needs times in UTC, .* local times of no known time zone"):
        city.to_frame(library)
    with pytest.raises(ParameterError, match="needs users and times"):
        city.places.to_frame(library)
    package = {"scikit-mobility": "skmob"}.get(library, library)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ParameterError, match=rf"needs more: pip install '{library}'"):
        POINTS.to_frame(library)


@pytest.fixture(params=["scikit-mobility", "trackintel", "movingpandas"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Return a library and a Python that has it: of the folder TRACEARENA_NEIGHBOURS, or newly installed."""
    library: str = request.param
    folder = Path(os.environ.get("TRACEARENA_NEIGHBOURS", tmp_path)) / library
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        wanted = [library, "pyarrow", str(ROOT)]
        if library == "scikit-mobility":  # its old libraries were built before these
            wanted += ["numpy<2", "pyarrow<20", "shapely<2"]
        install = [str(python), "-m", "pip", "install", "--quiet", *wanted]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"{library} cannot be installed: {done.stderr.strip()[-200:]}")
    return library, python


@pytest.mark.long
def test_the_real_package_takes_traces_and_gives_them_back(environment: tuple[str, Path]) -> None:
    library, python = environment
    script = str(Path(__file__).with_name("neighbour_round_trip.py"))
    paths = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [str(python), script, library], capture_output=True, text=True, env={**os.environ, **paths}
    )
    assert done.stdout.strip() == "ok", done.stderr
