"""The shape of the source tree: names that occur once, folders of a readable size, short paths through it.

The numbers of files and functions that a command enters are recorded here. When a change makes a path
shorter, lower the number; when it must become longer, raise it and say why in the commit.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.command_line import tracearena

import tracearena as ta

SOURCE = Path(ta.__file__).parent
LARGEST_FOLDER = 16
"""Modules of a folder."""
REPEATABLE = {"__init__", "__main__", "base", "_kernels"}
"""Names that a package and its subpackages may each have a module of."""
DJANGO_CLASSES = {"Meta", "Migration"}
"""Class names that Django prescribes."""


@cache
def list_modules() -> list[Path]:
    """Return the paths of all modules, relative to the package; migrations belong to Django."""
    paths = (path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")))
    return [path for path in paths if "migrations" not in path.parts]


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for path in list_modules():
        for node in ast.walk(ast.parse((SOURCE / path).read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in DJANGO_CLASSES:
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_module_name_occurs_once_in_a_package() -> None:
    places = defaultdict(list)
    for path in list_modules():
        # Commands are named by what users type.
        if path.parts[0] != "cli" and path.stem not in REPEATABLE:
            places[path.parts[0], path.stem].append(str(path))
    assert [found for found in places.values() if len(found) > 1] == []


def test_a_folder_has_few_modules() -> None:
    counts = Counter(str(path.parent) for path in list_modules() if path.stem != "__init__")
    too_large = {folder: count for folder, count in counts.items() if count > LARGEST_FOLDER}
    # One module for each command, and for each group of figures.
    assert too_large.keys() <= {"cli", "papers"}, too_large


SCALARS = {"int", "float", "bool", "np.float32"}
"""Types of arguments whose names say enough."""


def test_every_array_of_a_kernel_is_explained_in_its_file() -> None:
    """In a comment that stands in a line of its own, or in a docstring."""
    unexplained = []
    for path in (path for path in list_modules() if path.stem.endswith("_kernels")):
        source = (SOURCE / path).read_text()
        tree = ast.parse(source)
        kernels = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_compiled(node)]
        comments = [line for line in source.splitlines() if line.strip().startswith("#")]
        general = set(re.findall(r"\w+", "\n".join([ast.get_docstring(tree) or "", *comments])))
        for kernel in kernels:
            words = general | set(re.findall(r"\w+", ast.get_docstring(kernel) or ""))
            arrays = [one.arg for one in kernel.args.args if _type_of(one) not in SCALARS]
            unexplained += [f"{path}: {kernel.name}({name})" for name in arrays if name not in words]
    assert unexplained == []


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def _type_of(argument: ast.arg) -> str:
    return "" if argument.annotation is None else ast.unparse(argument.annotation)


def test_every_field_of_settings_is_explained_where_it_is_declared() -> None:
    unexplained = []
    for path in list_modules():
        for node in ast.walk(ast.parse((SOURCE / path).read_text())):
            if not isinstance(node, ast.ClassDef) or not node.name.endswith("Settings"):
                continue
            words = set(re.findall(r"\w+", ast.get_docstring(node) or ""))
            for field, after in pairwise([*node.body, None]):
                if isinstance(field, ast.AnnAssign) and not isinstance(after, ast.Expr):
                    name = ast.unparse(field.target)
                    unexplained += [] if name in words else [f"{path}: {node.name}.{name}"]
    assert unexplained == []


class Entered(NamedTuple):
    """How many of our files and functions a command enters, imports not counted."""

    files: int
    functions: int


PLACES = ("--places", "places.csv")
FILES = ("--reference", "reference.csv", "--anonymized", "released.csv")
SEED = ("--seed", "1")
COMMANDS: dict[str, tuple[str, ...]] = {
    "obfuscate PL(4,1)": ("obfuscate", "PL(4,1)", "original.csv", "events.csv", *PLACES, *SEED),
    "obfuscate GeoInd(100m)": (
        "obfuscate",
        "GeoInd(100m)",
        "gps.csv",
        "noisy.csv",
        "--from",
        "points",
        *SEED,
    ),
    "attack VisitProb-R": ("attack", "VisitProb-R", "found.csv", *PLACES, *FILES),
    "attack Bayes-R": ("attack", "Bayes-R", "found_too.csv", *PLACES, *FILES, *SEED),
    "synthesize PPMTF(4,200)": ("synthesize", "PPMTF(4,200)", "reference.csv", "made.csv", *PLACES, *SEED),
    "audit --quick": ("audit", "reference.csv", *PLACES, "--out", "audit", *SEED, "--quick"),
}
MOST = {
    "obfuscate PL(4,1)": Entered(43, 244),
    "obfuscate GeoInd(100m)": Entered(42, 282),
    "attack VisitProb-R": Entered(49, 277),
    "attack Bayes-R": Entered(57, 379),
    "synthesize PPMTF(4,200)": Entered(50, 349),
    "audit --quick": Entered(88, 704),
}

WALK = """
import json, os, sys, threading
import tracearena
from tracearena.cli import main

SOURCE = os.path.dirname(tracearena.__file__) + os.sep
entered = set()

def is_importing(frame):
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib"):
            return True
        if code.co_filename.startswith(SOURCE) and code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False

def note(frame, event, _):
    code = frame.f_code
    ours = code.co_filename.startswith(SOURCE) and code.co_filename.endswith(".py")  # not a compiled template
    if event == "call" and ours and not code.co_name.startswith("<"):
        key = code.co_filename[len(SOURCE):], code.co_qualname
        if key not in entered and not is_importing(frame.f_back):
            entered.add(key)

out, *words = sys.argv[1:]
sys.argv = ["tracearena", *words]
threading.setprofile(note)
sys.setprofile(note)
status = 0
try:
    main()
except SystemExit as end:
    status = end.code
finally:
    sys.setprofile(None)
    threading.setprofile(None)
with open(out, "w") as file:
    json.dump(sorted(entered), file)
sys.exit(status)
"""
"""Runs a command and writes which of our functions it entered, each with its file."""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the traces of a small city, a release of them, and GPS points."""
    folder = tmp_path_factory.mktemp("city")
    size = ("--users", 12, "--days", 4)
    released = ("released.csv", "--original", "original.csv", "--id-table", "id.csv")
    for command in (
        ("city", "reference.csv", *size, "--places-out", "places.csv"),
        ("city", "original.csv", *size, "--places-out", "same_places.csv"),
        ("obfuscate", "PL(4,1)", "original.csv", "moved.csv", *PLACES),
        ("pseudonymise", "moved.csv", *released),
    ):
        done = tracearena(*command, *SEED, folder=folder)
        assert done.status == 0, done.err
    rows = [
        f"u{user},2020-01-0{1 + hour // 24}T{hour % 24:02d}:00:00Z,"
        f"{35.6 + user / 100 + hour / 5000:.4f},{139.7 + user / 100:.4f}"
        for user in range(6)
        for hour in range(96)
    ]
    (folder / "gps.csv").write_text("\n".join(["user_id,datetime,lat,lng", *rows, ""]))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_enters_few_files_and_functions(name: str, city: Path, tmp_path: Path) -> None:
    out = tmp_path / "entered.json"
    command = [sys.executable, "-c", WALK, str(out), *COMMANDS[name]]
    done = subprocess.run(command, cwd=city, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    functions = json.loads(out.read_text())
    entered = Entered(len({file for file, _ in functions}), len(functions))
    assert entered.files <= MOST[name].files, entered
    assert entered.functions <= MOST[name].functions, entered
