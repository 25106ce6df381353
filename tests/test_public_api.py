"""Which names each package exports, and how little is loaded with them."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest

import tracearena as ta

Loaded: TypeAlias = Callable[[str], set[str]]

SOURCE = Path(ta.__file__).parent
HEAVY = (
    "django",
    "jinja2",
    "matplotlib",
    "numba",
    "ot",
    "plotly",
    "polars",
    "pyproj",
    "scipy",
    "sklearn",
    "torch",
)
PACKAGES = sorted(
    ".".join(("tracearena", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.py")
    # What lies inside the server is Django's to load, when a contest is named.
    if SOURCE / "server" not in path.parent.parents
)
WITH_STUBS = [
    name for name in PACKAGES if (SOURCE.parent / name.replace(".", "/") / "__init__.pyi").is_file()
]

NEEDS_POLARS = {"tracearena", "tracearena.io", "tracearena.io.large", "tracearena.jobs"}
"""Packages whose public names load Polars; no other loads a heavy library."""

TOP_LEVEL_NAMES = {
    "Box",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "Pipeline",
    "Places",
    "Traces",
} | {
    "create",
    "evaluate",
    "homes_and_workplaces",
    "pseudonymise",
    "read",
    "run_sweep",
    "simulate",
    "stay_points",
    "write",
}
NOT_EXPORTED = {"cli", "server"}


FRESH = """
import json, os, sys
import numpy
for line in sys.stdin:
    if not os.fork():
        exec(json.loads(line))
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)
    if os.wait()[1]:
        print("null", flush=True)
"""
"""An interpreter that forks for every statement it reads: as if each had one of its own, with NumPy in it."""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", FRESH]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture
def loaded(interpreter: subprocess.Popen[str]) -> Loaded:
    """Give the heavy packages that a fresh interpreter has after a statement."""

    def after(statement: str) -> set[str]:
        assert interpreter.stdin is not None
        assert interpreter.stdout is not None
        print(json.dumps(statement), file=interpreter.stdin, flush=True)
        modules = json.loads(interpreter.stdout.readline())
        assert modules is not None, f"failed: {statement}"
        return {*modules} & {*HEAVY}

    return after


def stub(package: str) -> tuple[list[str], list[str]]:
    """Return what a stub imports and what it lists in ``__all__``, without names of double underscores."""
    tree = ast.parse((SOURCE.parent / package.replace(".", "/") / "__init__.pyi").read_text())
    imported = [
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    lists: list[Any] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__"
    ]
    assert len(lists) == 1, "one __all__"
    return imported, [name for name in lists[0] if not name.startswith("__")]


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str, loaded: Loaded) -> None:
    assert not loaded(f"import {package}")


@pytest.mark.parametrize("package", WITH_STUBS)
def test_the_public_names_load_only_what_they_need(package: str, loaded: Loaded) -> None:
    heavy = loaded(f"import {package} as package\nfor name in package.__all__: getattr(package, name)")
    assert heavy == ({"polars"} if package in NEEDS_POLARS else set())


def test_tracearena_exports_its_names_and_its_packages_and_nothing_else() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"errors"}
    assert set(dir(ta)) == TOP_LEVEL_NAMES | (packages - NOT_EXPORTED)
    # Attributes that Python itself sets when a submodule is loaded do not show.
    importlib.import_module("tracearena.cli")
    assert set(dir(ta)) == TOP_LEVEL_NAMES | (packages - NOT_EXPORTED)


@pytest.mark.parametrize("name", WITH_STUBS)
def test_every_name_of_a_stub_is_there_and_listed(name: str) -> None:
    imported, listed = stub(name)
    assert sorted(imported) == sorted(listed)
    package = importlib.import_module(name)
    assert sorted(package.__all__) == sorted(listed)
    for one in listed:
        assert getattr(package, one) is not None
    assert set(dir(package)) >= set(listed)


@pytest.mark.parametrize("name", [name for name in PACKAGES if not name.startswith("tracearena.cli")])
def test_nothing_carries_the_name_of_its_module(name: str) -> None:
    """Else ``import tracearena.package.name as name`` would give a function.

    The modules of the command line are excepted: each is named after its command, and Typer names
    the command after its function; nobody imports them by that name.
    """
    package = importlib.import_module(name)
    folder = SOURCE.parent / name.replace(".", "/")
    inside = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    for one in inside & set(getattr(package, "__all__", vars(package))):
        assert isinstance(getattr(package, one), ModuleType), f"{name}.{one}"
