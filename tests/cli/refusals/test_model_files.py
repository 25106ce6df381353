"""Model files, ours and the PPMTF authors': what is not right is told with the file and the field."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena as run

from tracearena.errors import FileError
from tracearena.io import pwscup
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces

Change = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.fixture(scope="module")
def walks(make_walks: Callable[..., Traces]) -> Traces:
    return make_walks(users=5, days=2)


@pytest.fixture(scope="module")
def trained(walks: Traces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.npz"
    PPMTF(factors=2, iterations=3).fit(walks, seed=1).save(path)
    return path


def changed(trained: Path, out: Path, change: Change) -> Path:
    """Write the model again with another header or other arrays."""
    with np.load(trained) as stored:
        arrays = {name: stored[name] for name in stored.files}
    header = json.loads(str(arrays.pop("header")))
    text = change(header, arrays)
    written = text if isinstance(text, str) else json.dumps(header)
    with zipfile.ZipFile(out, "w") as packed:
        for name, array in {"header": np.array(written), **arrays}.items():
            content = io.BytesIO()
            if isinstance(array, bytes):
                content.write(array)
            else:
                np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=True)
            packed.writestr(f"{name}.npy", content.getvalue())
    return out


def put(*keys: str, value: Any) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def array(name: str, value: Any) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = value(arrays[name]) if callable(value) else value

    return change


def claiming(shape: tuple[int, ...]) -> bytes:
    """An array that says it is larger than it is."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return content.getvalue() + bytes(80)


class Trap:
    """What runs code if it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("trapped"),)


HEADERS = [
    (("iteration",), float("inf")),
    (("iteration",), float("nan")),
    (("iteration",), -1),
    (("iteration",), 10**20),
    (("iteration",), 99),
    (("iteration",), "3"),
    (("iteration",), 2.5),
    (("iteration",), None),
    (("km_per_degree",), []),
    (("km_per_degree",), ""),
    (("km_per_degree",), [1]),
    (("km_per_degree",), [0, 0]),
    (("km_per_degree",), [float("inf"), 1]),
    (("km_per_degree",), {"a": 1}),
    (("parameters", "factors"), 10**20),
    (("parameters", "factors"), float("inf")),
    (("parameters", "factors"), 3),
    (("parameters", "alpha"), float("nan")),
    (("parameters", "alpha"), "200"),
    (("parameters", "alpha"), 1e300),
    (("parameters", "nu0"), float("inf")),
    (("parameters", "shared_factors"), "no"),
    (("parameters", "zeros"), ["all"]),
    (("parameters", "scatter"), None),
    (("parameters", "colour"), "blue"),
    (("parameters",), None),
    (("parameters",), [1, 2]),
    (("error",), None),
    (("error",), [float("nan")] * 3),
    (("error",), ["a"]),
    (("error",), [1.0] * 50),
    (("seed",), []),
    (("seed",), {"entropy": -1, "spawn_key": []}),
    (("seed",), {"entropy": "x", "spawn_key": [1]}),
    (("training_data",), 3),
    (("clock",), None),
    (("clock", "instants_per_day"), float("inf")),
    (("clock", "instants_per_day"), 0),
    (("clock", "instants_per_slot"), 10**30),
    (("clock", "first_day"), 5),
    (("clock", "first_day"), "2019-02-30"),
    (("grid",), []),
    (("grid", "rows"), float("inf")),
    (("grid", "rows"), 2.5),
    (("grid", "south"), "a"),
    (("grid", "rows"), 10**20),
    (("version",), float("inf")),
]
ARRAYS: list[tuple[str, Any]] = [
    ("0_users", lambda a: a.astype(complex)),
    ("0_users", lambda a: a.astype(int)),
    ("0_users", lambda a: a.astype(str)),
    ("0_users", lambda a: a[:, :1]),
    ("0_users", lambda a: a[:-1]),
    ("0_users", lambda a: a.ravel()),
    ("0_users", lambda a: a * np.nan),
    ("0_users", lambda a: a.astype("datetime64[s]")),
    ("0_places", lambda a: np.array([Trap()], object)),
    ("0_slots_mean", lambda a: a * np.inf),
    ("0_users_precision", lambda a: -a),
    ("0_users_precision", lambda a: a.astype(complex)),
    ("user_ids", lambda a: a.astype(complex)),
    ("user_ids", lambda a: a * 0),
    ("user_ids", lambda a: a[:, None]),
    ("user_ids", lambda a: a + 0.5),
    ("places_latitude", lambda a: a.astype(complex)),
    ("places_latitude", lambda a: a * np.nan),
    ("places_ids", lambda a: a * 0),
    ("places_sensitive", lambda a: a[:-1]),
    ("seen_moves", lambda a: a[::-1]),
    ("seen_moves", lambda a: a.astype(float)),
    ("seen_visits", lambda a: a + 10**15),
    ("0_users", claiming((10**12, 2))),
    ("0_users", claiming((-5, -2))),
    ("0_users", b"\x93NUMPY\x01\x00"),
    ("0_users", b"nothing"),
]


def refused(path: Path) -> str:
    with pytest.raises(FileError) as error:
        PPMTF.load(path)
    told = str(error.value)
    assert told.startswith(str(path))
    assert "\n" not in told
    return told


@pytest.mark.parametrize(("keys", "value"), HEADERS)
def test_a_header_value_out_of_range_is_named(
    trained: Path, tmp_path: Path, keys: tuple[str, ...], value: Any
) -> None:
    told = refused(changed(trained, tmp_path / "m.npz", put(*keys, value=value)))
    assert any(key in told for key in keys) or keys == ("parameters", "factors")


@pytest.mark.parametrize(("name", "value"), ARRAYS)
def test_an_array_that_is_wrong_is_refused_and_never_unpickled(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(changed(trained, tmp_path / "m.npz", array(name, value)))
    assert not (tmp_path / "trapped").exists()
    part = name.split("_")[1]
    assert part in told or "array" in told or "magic" in told


@pytest.mark.parametrize(
    "missing", ["parameters", "iteration", "error", "seed", "clock", "grid", "km_per_degree"]
)
def test_a_field_that_lacks_is_named(trained: Path, tmp_path: Path, missing: str) -> None:
    assert missing in refused(
        changed(trained, tmp_path / "m.npz", lambda header, _: header.pop(missing) and None)
    )


@pytest.mark.parametrize("missing", ["0_users", "0_slots_mean", "user_ids", "seen_moves", "places_latitude"])
def test_an_array_that_lacks_is_refused(trained: Path, tmp_path: Path, missing: str) -> None:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        del arrays[missing]

    told = refused(changed(trained, tmp_path / "m.npz", change))
    assert missing in told or "places" in told


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "", "null", "[]", "{", "NaN", "1e999"])
def test_a_header_that_is_no_header_is_refused(trained: Path, tmp_path: Path, text: str) -> None:
    refused(changed(trained, tmp_path / "m.npz", lambda header, arrays: text))


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(trained: Path, tmp_path: Path, share: float) -> None:
    content = trained.read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: int(share * len(content))])
    refused(tmp_path / "cut.npz")


@pytest.mark.slow
def test_a_byte_that_changed_is_found_or_harmless(trained: Path, tmp_path: Path) -> None:
    content, rng = trained.read_bytes(), np.random.default_rng(1)
    for at in rng.integers(0, len(content), 300).tolist():
        broken = bytearray(content)
        broken[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "m.npz").write_bytes(broken)
        with suppress(FileError):
            PPMTF.load(tmp_path / "m.npz")


def test_a_pickle_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.npz").write_bytes(pickle.dumps(Trap()))
    refused(tmp_path / "m.npz")
    assert not (tmp_path / "trapped").exists()


def test_a_model_that_is_whole_is_read(trained: Path, tmp_path: Path) -> None:
    again = PPMTF.load(changed(trained, tmp_path / "m.npz", lambda header, arrays: None))
    assert again.get_params(deep=False) == PPMTF.load(trained).get_params(deep=False)


@pytest.fixture
def exported(trained: Path, walks: Traces, tmp_path: Path) -> list[object]:
    """Words of a command that uses the authors' parameter files of iteration 3."""
    PPMTF.load(trained).export_parameters(tmp_path / "parameters")
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    files = [tmp_path / "org.csv", tmp_path / "out.csv", "--places", tmp_path / "places.csv"]
    return [*files, "--model", tmp_path / "parameters", "--seed", 1]


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("PPMTF(2,iterations=3)", 0, ""),
        ("PPMTF(iterations=3)", 0, ""),
        ("PPMTF(5,iterations=3)", 2, "has 2 factors, not 5"),
        ("PPMTF(iterations=3,shared_factors=false)", 2, "shares its factors"),
        ("PPMTF(2,iterations=4)", 2, "there are files of iteration 3"),
        ("PPMTF(2)", 2, "there are files of iteration 3"),
    ],
)
def test_the_authors_files_go_with_factors_and_iterations(  # type: ignore[no-untyped-def]
    exported: list[object], tmp_path: Path, name: str, status: int, told: str
) -> None:
    got, _, said = run("synthesize", name, *exported)
    assert (got, (tmp_path / "out.csv").exists()) == (status, status == 0), said
    assert told in said


@pytest.mark.parametrize(
    ("name", "content"),
    [("A", "1e400,1\n" * 5), ("A", "nan,1\n" * 5), ("B", ""), ("C", "1,2\n"), ("D", "a,b\n"),
     ("A", "1+2j,1\n" * 5), ("Lam_A", "-1,0\n0,-1\n"), ("mu_B", "1\n2\n3\n"), ("Lam_D", "inf,0\n0,1\n")],
)  # fmt: skip
def test_parameters_that_are_wrong_are_told_with_their_file(  # type: ignore[no-untyped-def]
    exported: list[object], tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / "parameters" / f"modelparameter_Itr3_{name}.csv").write_text(content)
    status, _, said = run("synthesize", "PPMTF(iterations=3)", *exported)
    assert (status, (tmp_path / "out.csv").exists()) == (2, False), said
    assert str(tmp_path / "parameters") in said
    assert "Traceback" not in said
