"""Every number and duration of every command: infinity, nan, nothing and the absurd are exit status 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from tests.command_line import tracearena

from tracearena.cli import build
from tracearena.io import pwscup
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces

VALUES = ["inf", "-inf", "1e400", "nan", "", "100000000000000000000", "-1", "1" + 60 * "0", "0x10", "٣e99"]
TEXTS = {"--interval", "--slot", "--grid", "--bounds", "--box", "--expected-noise", "--deniable"}
POINTS = "user,time,latitude,longitude\n" + "".join(
    f"{user},2020-01-01T{8 + hour:02d}:{minute:02d}:00Z,35.{minute:03d},139.{user}\n"
    for user in (1, 2)
    for hour in range(3)
    for minute in range(0, 60, 10)
)
BOTH = ["--original", "points.csv", "--released", "points.csv"]
PLACES = ["--places", "places.csv"]
COMMANDS = {
    "demo": [],
    "audit": ["org.csv", "--out", "new-folder", *PLACES],
    "protect": ["org.csv", "out.csv", "--out", "new-folder", *PLACES],
    "city": ["out.csv"],
    "convert": ["org.csv", "out.csv", *PLACES],
    "describe": ["org.csv", *PLACES],
    "synthesize": ["PPMTF", "org.csv", "out.csv", *PLACES],
    "budget": ["org.csv"],
    "audit-privacy": ["PrivateRoles(1)"],
    "tune": ["org.csv", "Uniform", *PLACES],
    "deniability": ["--model", "model.npz", "--synthetic", "org.csv"],
    "obfuscate": ["RR(1)", "org.csv", "out.csv", *PLACES],
    "pseudonymise": ["org.csv", "out.csv", "--original", "org.csv", "--id-table", "t.csv", *PLACES],
    "attack": ["VisitProb-R", "out.csv", *PLACES, "--reference", "org.csv", "--anonymized", "org.csv"],
    "sweep": ["out.csv", *PLACES, "--reference", "org.csv", "--original", "org.csv"],
    "bounds": ["out.csv", *PLACES, "--reference", "org.csv", "--original", "org.csv"],
    "figure": ["contest-8"],
    "evaluate": [*PLACES, "--train", "org.csv", "--test", "org.csv", "--synthetic", "org.csv"],
    "similarity": ["org.csv", "org.csv", *PLACES],
    "lbs": ["org.csv", *PLACES],
    "score utility": [*PLACES, "--original", "org.csv", "--obfuscated", "org.csv"],
    "score usefulness": [*PLACES, "--original", "org.csv", "--obfuscated", "org.csv"],
    "score reidentification": ["--id-table", "t.csv", "--inferred", "org.csv"],
    "score trace-inference": [*PLACES, "--original", "org.csv", "--inferred", "org.csv"],
    "contest data": ["org.csv", "folder", *PLACES],
    "contest release": ["folder"],
    "contest judge": ["folder"],
    "contest board": ["folder"],
    "contest new": ["new-folder"],
    "contest serve": ["folder"],
    "contest team add": ["folder", "A team"],
    "contest team reset": ["folder", "001"],
    "contest member reset": ["folder", "ann"],
    "contest export": ["folder", "out.zip"],
    "contest rehearse": [],
    "contest client practise": [],
    "contest client check": ["org.csv"],
    "contest client submit": ["org.csv"],
    "contest client attack": ["org.csv", "002"],
    "contest client watch": [],
    "check obfuscated": ["org.csv", *PLACES, "--original", "org.csv"],
    "check inferred-table": ["org.csv", *PLACES, "--original", "org.csv"],
    "check inferred-traces": ["org.csv", *PLACES, "--original", "org.csv"],
    "applications error": BOTH,
    "applications hotspots": BOTH,
    "applications gossip": BOTH,
    "applications uniqueness": BOTH,
    "applications homes": BOTH,
    "applications deanonymise": ["--released", "points.csv"],
    "applications zones": [*BOTH, "--mechanism", "Zones(500m)"],
}


def commands(app: typer.Typer, before: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every command of the application with its function."""
    for info in app.registered_commands:
        assert info.callback is not None
        name = info.name or info.callback.__name__.replace("_", "-")
        yield f"{before}{name}", info.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{before}{group.name} ")


def options() -> list[tuple[str, str]]:
    """Every command with each of its options that is a number, or a text made of numbers."""
    found = []
    for name, callback in commands(build()):
        for hint in get_type_hints(callback, include_extras=True).values():
            parts = get_args(hint)
            # Inside Annotated, Typer takes the first name for the default.
            given = [(getattr(p, "default", None), *(getattr(p, "param_decls", None) or ())) for p in parts]
            declared = [d for names in given for d in names if isinstance(d, str)]
            number = parts and {int, float} & {parts[0], *get_args(parts[0])}
            found += [(name, d) for d in declared if d.startswith("--") and (number or d in TEXTS)]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_walks: Callable[..., Traces]) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    walks = make_walks(users=4, days=2)
    pwscup.write_places(walks.places, folder / "places.csv")
    pwscup.write_traces(walks, folder / "org.csv")
    pwscup.write_times(pwscup.ContestTimes(walks.clock, 0, 2), folder / "info_time.csv")
    (folder / "points.csv").write_text(POINTS)
    PPMTF(factors=2, iterations=2).fit(walks, seed=1).save(folder / "model.npz")
    return folder


def test_all_commands_with_numbers_are_tried() -> None:
    tried = {name for name, _ in options()}
    assert tried == set(COMMANDS)
    assert {("convert", "--top"), ("applications gossip", "--slot"), ("convert", "--slot")} <= set(options())
    assert len(options()) > 60


def cases() -> Iterator[Any]:
    """Every option of every command: in everyday tests where it comes first, for commands share options."""
    seen: set[str] = set()
    for command, option in options():
        yield pytest.param(command, option, marks=[pytest.mark.long] if option in seen else [])
        seen.add(option)


@pytest.mark.parametrize(("command", "option"), list(cases()))
def test_it_is_refused_by_a_sentence(
    command: str,
    option: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = COMMANDS[command]
    extra = ["--test", "test.csv"] if option == "--test-share" else []
    if option in ("--bounds", "--box"):
        values = [f"{value},1,2,3" for value in VALUES if value != "-1"] + [
            f"1,1,2,{value}" for value in VALUES[:5]
        ]
    elif option == "--grid":
        values = [f"{value}x4" for value in VALUES] + VALUES + ["0x0", "4x", "70000x70000", "4x-4"]
    elif option == "--deniable":
        values = [f"10,{value}" for value in VALUES if value != VALUES[5]] + [f"{v},1" for v in VALUES]
    else:
        values = VALUES
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    for value in values:
        if option == "--seed" and set(value) <= set("0123456789") and value:
            continue  # a seed may have any number of digits
        said = tracearena(*command.split(), *words, *extra, option, value)
        assert (said.status, said.out) == (2, ""), (value, said.err)
        sentence = said.err.strip().splitlines()[-1]
        assert option.strip("-") in sentence, (value, sentence)
        assert "Traceback" not in said.err
    assert sorted(folder.iterdir()) == before


def test_ordinary_numbers_are_taken(folder: Path) -> None:
    words = ["applications", "gossip", *BOTH, "--slot", "60", "--range", "50", "--json"]
    done = tracearena(*words, folder=folder)
    assert done.status == 0, done.err
    assert "infection_rate" in done.json


def test_a_bare_noise_below_a_metre_is_refused(folder: Path) -> None:
    done = tracearena("applications", "hotspots", *BOTH, "--expected-noise", "0.02", folder=folder)
    assert done.status == 2
    assert "0.02m" in done.err


@pytest.mark.slow
def test_a_tls_cluster_without_certificates_is_a_sentence(folder: Path) -> None:
    pytest.importorskip("distributed")
    words = ["sweep", "out.csv", *PLACES, "--reference", "org.csv", "--original", "org.csv"]
    done = tracearena(*words, "--cluster", "tls://127.0.0.1:8786", "--seed", "1", folder=folder)
    assert done.status == 2
    assert done.err.startswith("cannot join tls://127.0.0.1:8786")
    assert done.err.count("\n") == 1
