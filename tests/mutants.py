"""Mutation testing of the core: small changes of the code, each of which a test of the same area must notice.

    python -m tests.mutants [--sample 420] [--seed 34] [--area NAME] [--survivors]

The places that Cosmic Ray can change are listed, except those in messages, annotations and decorators. A
sample of them is spread over the areas in proportion to their places. Two copies of the tree then take one
change after the other, and run the tests of its area that execute the changed line on the unchanged code.
Modules of compiled kernels run as Python; others use the kernels as they were compiled. `--survivors` runs
those that survived the last time again, after new tests. The page is written when all areas have run.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measurements" / "mutants.md"
RESULTS = ROOT / ".mutants.json"
CHOSEN = ROOT / ".chosen.json"
"""The tests to run, in a copy."""
WORKERS = 2
SLOWEST_TEST_S = 2.0
"""Tests that need more of the processor on the unchanged code do not run: kernels as Python are slow."""
MEMORY = 4 << 30


@dataclass(frozen=True)
class Area:
    """Modules to change, and the tests that must notice."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    "metrics": Area(("metrics/*.py", "metrics/applications/*.py"), ("metrics",)),
    "contest scores and awards": Area(
        ("contest/board.py", "contest/rules.py", "metrics/contest_scores.py"),
        (
            "contest/test_awards.py",
            "contest/test_board.py",
            "contest/test_rules.py",
            "contest/test_submissions.py",
            "contest/test_score_tables.py",
            "metrics/test_contest_scores.py",
        ),
    ),
    "obfuscation": Area(("obfuscation/*.py",), ("obfuscation",)),
    "attacks": Area(
        ("attacks/*.py", "attacks/bayesian/*.py"),
        ("attacks", "arena/test_deanonymisation.py"),
    ),
    "linker": Area(("attacks/linking/*.py",), ("attacks/linking",)),
    "PPMTF": Area(
        (
            "synthesis/ppmtf/_*_kernels.py",
            "synthesis/ppmtf/budget.py",
            "synthesis/ppmtf/deniability.py",
            "synthesis/ppmtf/generation.py",
            "synthesis/ppmtf/gibbs.py",
            "synthesis/ppmtf/tensors.py",
        ),
        ("synthesis/ppmtf",),
    ),
    "pseudonyms": Area(("arena/pseudonyms.py",), ("arena/test_pseudonyms.py",)),
    "times": Area(
        ("io/fields/times.py", "traces/time.py", "traces/clock.py"),
        ("io/test_times.py", "io/test_splits.py", "io/formats", "traces"),
    ),
}

OPERATORS = re.compile(
    "core/(Replace(Binary|Comparison)Operator_("
    "Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul|BitAnd_BitOr|BitOr_BitAnd|BitXor_BitAnd"
    "|LShift_RShift|RShift_LShift|Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt"
    "|Is_IsNot|IsNot_Is)|ReplaceUnaryOperator_Delete_.*|AddNot|Replace[A-Z][a-z]+With[A-Z][a-z]+"
    "|ExceptionReplacer|NumberReplacer|ZeroIterationForLoop)"
)
"""Plausible mistakes: a shift instead of a plus fails at once and would only raise the score."""

_P = "src/tracearena/"
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        f"{_P}attacks/_kernels.py",
        "if item_codes[item] < 0 and seen_in[-2 - item_codes[item]] != part:",
        "if item_codes[item] < -1 and seen_in[-2 - item_codes[item]] != part:",
    ): "Codes are places or sets: deleted events have none.",
    (
        f"{_P}attacks/_kernels.py",
        "if step < 0:",
        "if step < -1:",
    ): "The range of step -1 is empty: it begins at the last offset and ends at the first.",
    (
        f"{_P}attacks/_kernels.py",
        "start, end = (0, 1) if code >= 0 else (set_offsets[-2 - code], set_offsets[-1 - code])",
        "start, end = (0, 1) if code >= -1 else (set_offsets[-2 - code], set_offsets[-1 - code])",
    ): "Code -1 does not come that far.",
    (
        f"{_P}attacks/_kernels.py",
        "start, end = (0, 1) if code >= 0 else (set_offsets[-2 - code], set_offsets[-1 - code])",
        "start, end = (0, 2) if code >= 0 else (set_offsets[-2 - code], set_offsets[-1 - code])",
    ): "A place that counts twice has the same mean.",
    (
        f"{_P}attacks/bayesian/_likelihood_kernels.py",
        "if not SMALL < product < LARGE:",
        "if not SMALL < product <= LARGE:",
    ): "A product may be a little larger before its logarithm is taken.",
    (
        f"{_P}attacks/bayesian/channel.py",
        "max_net_points: int = 4_000_000",
        "max_net_points: int = 4000001",
    ): "Only a grid of 97,561 places would have another number of points.",
    (
        f"{_P}attacks/bayesian/channel.py",
        "shift_y = np.clip(shift_y, 1 - grid.rows, grid.rows - 1).astype(np.int64)",
        "shift_y = np.clip(shift_y, 1 - grid.rows, grid.rows + 1).astype(np.int64)",
    ): "What is moved beyond the grid ends at its border all the same.",
    (
        f"{_P}attacks/candidate_search.py",
        "names = np.append(users, [len(users) and users[-1] + 1, NOBODY])",
        "names = np.append(users, [len(users) or users[-1] + 1, NOBODY])",
    ): "A smaller bound holds as well, and lists of free users tell at once.",
    (
        f"{_P}attacks/fuzzy_counting.py",
        "origin, target, weights = (np.concatenate(one) for one in zip(*parts, strict=True))",
        "origin, target, weights = (np.concatenate(one) for one in zip(*parts, strict=False))",
    ): "All parts have three arrays.",
    (
        f"{_P}attacks/linking/evidence.py",
        "bins = np.full(len(rows), -1, np.int64)",
        "bins = np.full(len(rows), - 2, np.int64)",
    ): "Rows with any negative number are not counted.",
    (
        f"{_P}attacks/linking/evidence.py",
        "moved = np.nan_to_num(rows.step_m, nan=-1.0) > 50",
        "moved = np.nan_to_num(rows.step_m, nan=- 0.0) > 50",
    ): "Neither is more than 50.",
    (
        f"{_P}attacks/linking/evidence.py",
        "return _number_pairs(before, short, 151)",
        "return _number_pairs(before, short, 152)",
    ): "Pairs of numbers up to 150 are still told apart.",
    (
        f"{_P}attacks/linking/evidence.py",
        "return np.where(moved & (before >= 0) & (cell >= 0), mixed, -1)",
        "return np.where(moved & (before >= 0) & (cell >= 1), mixed, -1)",
    ): "Numbers of cells are much larger than 1.",
    (
        f"{_P}attacks/linking/scoring.py",
        "np.full(n_kinds, 1 / n_kinds),",
        "np.full(n_kinds, 0 / n_kinds),",
    ): "The loss is convex: its minimum does not depend on where the search begins.",
    (
        f"{_P}io/fields/times.py",
        "at = whole.set(~fits.fill_null(False), None).cast(pl.Int64)",
        "at = whole.set(~fits.fill_null(True), None).cast(pl.Int64)",
    ): "What is null stays null.",
    (
        f"{_P}io/fields/times.py",
        "return at.set(outside.fill_null(False), None) if outside.any() else at",
        "return at.set(outside.fill_null(True), None) if outside.any() else at",
    ): "What is null stays null.",
    (
        f"{_P}metrics/_kernels.py",
        "i += 1",
        "i += 0",
    ): "The next round leaves the place of the first, which is smaller then.",
    (
        f"{_P}metrics/applications/homes.py",
        "name: pl.Series(column).fill_nan(None) for name, column in zip(names, self.columns, strict=True)",
        "name: pl.Series(column).fill_nan(None) for name, column in zip(names, self.columns, strict=False)",
    ): "There are four names and four columns.",
    (
        f"{_P}metrics/similarity.py",
        "Order = Literal[0, 1]",
        "Order = Literal[0, 2]",
    ): "A type; the value is checked elsewhere.",
    (
        f"{_P}metrics/transport.py",
        "if len(much) and len(little):",
        "if len(much) or len(little):",
    ): "A row sums to 0: what is too much somewhere is missing elsewhere.",
    (
        f"{_P}metrics/transport.py",
        "if not len(x[0]) or not len(y[0]):",
        "if not len(x[0]) or not len(y[ -1]):",
    ): "Places and probabilities of a distribution have one length.",
    (
        f"{_P}metrics/trips.py",
        "for number, ((west, south), side) in enumerate(zip(corners, sides, strict=True)):",
        "for number, ((west, south), side) in enumerate(zip(corners, sides, strict=False)):",
    ): "Every square has one side.",
    (
        f"{_P}obfuscation/fakes.py",
        "return np.minimum(found, len(visits) - 1).astype(np.int32)",
        "return np.minimum(found, len(visits) + 1).astype(np.int32)",
    ): "A draw above the last sum, which rounding may leave below 1, has a probability of about 1e-16.",
    (
        f"{_P}obfuscation/k_anonymity.py",
        "continue",
        "break",
    ): "Only the second centre can be taken already.",
    (
        f"{_P}obfuscation/privacy_zones.py",
        "_USERS_PER_BLOCK = 64",
        "_USERS_PER_BLOCK = 65",
    ): "Results do not depend on the size of a block.",
    (
        f"{_P}obfuscation/privacy_zones.py",
        "columns = np.floor((longitude + 180) / 360 * per_row).astype(np.int64)",
        "columns = np.floor((longitude - 180) / 360 * per_row).astype(np.int64)",
    ): "Columns are taken modulo those of a whole row.",
    (
        f"{_P}synthesis/ppmtf/_deniability_kernels.py",
        "if step < proposal:",
        "if step <= proposal:",
    ): "The bound is multiplied by a little more than 1, and still holds.",
    (
        f"{_P}synthesis/ppmtf/_deniability_kernels.py",
        "tiles = np.empty((n + TILE - 1) // TILE)",
        "tiles = np.empty((n + TILE - 1) * TILE)",
    ): "Tiles beyond the last are empty.",
    (
        f"{_P}synthesis/ppmtf/_deniability_kernels.py",
        "visits, tiles = np.empty(n), np.empty((n + TILE - 1) // TILE)",
        "visits, tiles = np.empty(n), np.empty((n + TILE + 1) // TILE)",
    ): "Tiles beyond the last are empty.",
    (
        f"{_P}synthesis/ppmtf/_generation_kernels.py",
        "n_tiles = (n + TILE - 1) // TILE",
        "n_tiles = (n + TILE - 1) * TILE",
    ): "Tiles beyond the last are empty.",
    (
        f"{_P}synthesis/ppmtf/_gibbs_kernels.py",
        "return max(8, 65_536 // (z * z))",
        "return max( 9, 65_536 // (z * z))",
    ): "Only how many cells are summed up at a time.",
    (
        f"{_P}synthesis/ppmtf/generation.py",
        "return np.ascontiguousarray(prior.mean + np.linalg.solve(lower.T, np.vstack(noise).T).T)",
        "return np.ascontiguousarray(prior.mean - np.linalg.solve(lower.T, np.vstack(noise).T).T)",
    ): "Normal noise has the same distribution with the other sign.",
    (
        f"{_P}traces/time.py",
        "city = difflib.get_close_matches(wanted, cities, 1, 0.85)",
        "city = difflib.get_close_matches(wanted, cities, 2, 0.85)",
    ): "Only the first is used, and the nearest comes first.",
}
"""Changes that no test can notice: file, line before and after, and the reason."""

INTRODUCTION = """# Mutation testing

A mutant is the code with one small mistake: `<=` instead of `<`, a number that is one larger, a loop that
never runs. A test of the same area must fail; the tests of digests, of recorded commands and of published
data do not count. `make mutants` draws a sample of places in proportion to the places of each area, and
writes this page. Messages, annotations, decorators and docstrings stay as they are.

Tests were then written for mutants that no test had noticed. So there are two shares: that of the tests as
they were, which estimates how many of all such mistakes are noticed, and the score, with the new tests.
Equivalent mutants, which no test can notice, count in neither, nor does code without effect that was deleted
then.

Tests of at most {slowest:g} s of the processor on the unchanged code run, with ten examples for each
property; mutants of compiled kernels run as Python. A test that never ends counts as a failure. Seed {seed}.

| area | places | mutants | equivalent | noticed at first | noticed | survived | at first | score |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


@dataclass(frozen=True)
class Mutant:
    """One change: the operator, and which of its places in the module it changes."""

    area: str
    module: str
    line: int
    operator: str
    occurrence: int


def list_places(area: str) -> list[list[Mutant]]:
    """Return the places of an area that can be changed, each with all of its changes."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name)() for name in operator_names() if OPERATORS.fullmatch(name)}
    places: dict[tuple[Any, ...], list[Mutant]] = defaultdict(list)
    for module in list_modules(area):
        if area == "metrics" and module.endswith("contest_scores.py"):
            continue
        source = (ROOT / module).read_text()
        lines = source.splitlines()
        nodes, excluded = list(ast_nodes(get_ast(source))), list(find_excluded(source))
        for name, operator in operators.items():
            positions = [start for node in nodes for start, _ in operator.mutation_positions(node)]
            for occurrence, start in enumerate(positions):
                # The star before keyword-only parameters is no product.
                is_marker = lines[start[0] - 1][start[1] :].startswith("*,")
                if not is_marker and not any(first <= start < last for first, last in excluded):
                    kind = name.partition("_")[0]
                    places[module, start, kind].append(Mutant(area, module, start[0], name, occurrence))
    return [places[key] for key in sorted(places)]


def list_modules(area: str) -> list[str]:
    """Return the files of an area."""
    package = ROOT / "src" / "tracearena"
    found = {path for pattern in AREAS[area].modules for path in package.glob(pattern)}
    return sorted(str(path.relative_to(ROOT)) for path in found)


def find_excluded(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where annotations, decorators, texts with values, and raised errors stand."""
    for node in ast.walk(ast.parse(source)):
        parts: list[Any] = [*getattr(node, "decorator_list", ())]
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.JoinedStr | ast.Raise):
            parts.append(node)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            parts.append(node)
        for part in filter(None, parts):
            # Positions count bytes in `ast`, and characters in Cosmic Ray: these lines are ASCII up to there.
            yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


@cache
def mutate(mutant: Mutant) -> tuple[str, str] | None:
    """Return the module before and after the change, or None if the change is no Python."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    before = (ROOT / mutant.module).read_text()
    after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(after, mutant.module, "exec")
        except SyntaxError:
            return None
    return before, after


def describe(mutant: Mutant) -> tuple[str, str]:
    """Return the changed lines before and after."""
    before, after = mutate(mutant) or ("", "")
    changed = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[3:]
    old = " ".join(line[1:].strip() for line in changed if line[0] == "-")
    return old, " ".join(line[1:].strip() for line in changed if line[0] == "+")


def draw_sample(places: dict[str, list[list[Mutant]]], size: int, seed: int) -> dict[str, list[Mutant]]:
    """Draw places without replacement, of each area in proportion to its places, and one change of each."""
    total = sum(map(len, places.values()))
    sample = {}
    for area, of_area in places.items():
        rng = random.Random(f"{seed} {area}")
        drawn = filter(mutate, (rng.choice(changes) for changes in rng.sample(of_area, len(of_area))))
        sample[area] = list(itertools.islice(drawn, max(1, round(size * len(of_area) / total))))
    return sample


class TestRecord:
    """A plugin of pytest that measures tests of the unchanged code, or runs chosen ones, quickest first.

    A first run finds which tests execute each line of the area, and compiles kernels. A second one measures
    the seconds of the processor of each test. Neither depends on what else the machine does.
    """

    def __init__(self, record: Path, area: str, is_kernel: bool) -> None:
        self.path = record
        self.record: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
        self.limit: float = 0
        if not self.record:
            from coverage import Coverage

            modules = [str(ROOT / module) for module in list_modules(area)]
            self.coverage = Coverage(data_file=None, config_file=False, include=modules)
            self.coverage.start()
            # Compiling takes long, and so does measuring.
            self.limit = 3 * SLOWEST_TEST_S if is_kernel else 30 * SLOWEST_TEST_S
        elif "is_complete" not in self.record:
            self.limit = SLOWEST_TEST_S
        self.is_first = not self.record
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.interrupted: set[str] = set()
        self.running = ""
        signal.signal(signal.SIGPROF, self.interrupt)

    def interrupt(self, number: int, frame: Any) -> None:
        # An exception while a lock is taken would leave it locked: a moment later then.
        if frame.f_code.co_filename.endswith(("threading.py", "thread.py", "_base.py", "queue.py")):
            signal.setitimer(signal.ITIMER_PROF, 0.05)
        else:
            self.interrupted.add(self.running)
            raise TimeoutError

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self.is_first:
            known = self.record["seconds"]
            chosen = json.loads(CHOSEN.read_text()) or known
            items[:] = sorted(
                (item for item in items if item.nodeid in chosen), key=lambda i: known[i.nodeid]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if not self.limit:
            return (yield)
        start = time.process_time()
        self.running = item.nodeid
        if self.is_first:
            self.coverage.switch_context(item.nodeid)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.seconds[item.nodeid] = time.process_time() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[Any]:
        # What a fixture of a file computes, all tests of the file may check.
        is_shared = self.is_first and fixturedef.scope != "function"
        if is_shared:
            self.coverage.switch_context(request.node.nodeid.partition("::")[0])
        try:
            return (yield)
        finally:
            if is_shared:
                self.coverage.switch_context(request._pyfuncitem.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if not self.limit:
            return
        if self.is_first:
            self.coverage.stop()
            data = self.coverage.get_data()
            self.record["lines"] = {
                str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file)
                for file in data.measured_files()
            }
        else:
            self.record["is_complete"] = True
            self.record["failed"] = sorted(self.failed - self.interrupted)
        self.record["seconds"] = {test: s for test, s in self.seconds.items() if test not in self.failed}
        self.path.write_text(json.dumps(self.record))


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin in a run of one mutant, and make sure that the copy is tested."""
    if record := os.environ.get("MUTANTS_RECORD"):
        is_kernel = os.environ["NUMBA_DISABLE_JIT"] == "1"
        config.pluginmanager.register(TestRecord(Path(record), os.environ["MUTANTS_AREA"], is_kernel))
        import tracearena

        assert Path(tracearena.__file__).is_relative_to(ROOT), "the tests would import another tree"


def run_tests(
    tree: Path, area: str, is_kernel: bool, chosen: list[str] | None = None, limit: float = 3600
) -> int:
    """Run tests of an area in a copy, for at most that many seconds of the processor: the exit code."""
    (tree / CHOSEN.name).write_text(json.dumps(chosen))
    files = sorted({test.partition("::")[0] for test in chosen or ()})
    environment = os.environ | {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRACEARENA_DATA": str(tree / "no published data"),
        "MUTANTS_RECORD": str(get_record(tree, area, is_kernel)),
        "MUTANTS_AREA": area,
        "NUMBA_DISABLE_JIT": str(int(is_kernel)),
        "HYPOTHESIS_PROFILE": "everyday",
    }
    if is_kernel:
        environment["TRACEARENA_THREADS"] = "1"
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:xdist -p tests.mutants".split()
    # As Python, unsigned numbers warn when they wrap around, which compiled ones do on purpose.
    command += ["--tb=no", "-W", "ignore:overflow encountered:RuntimeWarning"]
    command += ["--doctest-modules", "-m", "not slow and not long" if is_kernel else "not long"]
    command += ["-x"] if chosen else []

    def set_limits() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

    process = subprocess.Popen(
        command + (files or [f"tests/{path}" for path in AREAS[area].tests] + list_modules(area)),
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=set_limits,
    )
    try:
        # Threads that wait for each other for ever need no processor.
        return process.wait(20 * limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return -signal.SIGXCPU


def get_record(tree: Path, area: str, is_kernel: bool) -> Path:
    """Return where the measured tests of an area are."""
    return tree / f"{area}-{'python' if is_kernel else 'compiled'}.json"


def choose_tests(mutant: Mutant, record: dict[str, Any]) -> list[str]:
    """Return the tests that execute a mutant, or its module if importing it does; all, if none does."""
    covered = record["lines"].get(mutant.module, {})
    first = last = mutant.line
    for node in ast.walk(ast.parse((ROOT / mutant.module).read_text())):
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or 0
            if mutant.line <= end or node.lineno == mutant.line:
                first, last = node.lineno, max(end, node.lineno)
    contexts = {context for line in range(first, last + 1) for context in covered.get(str(line), ())}
    if "" in contexts:
        contexts = {context for those in covered.values() for context in those}
    chosen = [test for test in record["seconds"] if contexts & {test, test.partition("::")[0]}]
    return chosen or list(record["seconds"])


def run_all(mutants: list[Mutant]) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant as soon as it is known what became of it: killed, timeout or survived.

    Each copy takes one group after the other, the largest first: the modules or the kernels of an area.
    """
    groups: dict[tuple[str, bool], list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        groups[mutant.area, is_kernel_module(mutant)].append(mutant)
    done: queue.Queue[tuple[Mutant, str] | BaseException] = queue.Queue()
    is_over = threading.Event()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        free: queue.Queue[Path] = queue.Queue()
        for number in range(WORKERS):
            tree = Path(folder) / f"tree-{number}"
            shutil.copytree(ROOT / "src", tree / "src")
            shutil.copytree(ROOT / "tests", tree / "tests")
            for name in ("conftest.py", "pyproject.toml"):
                shutil.copy2(ROOT / name, tree / name)
            free.put(tree)

        def run_group(area: str, is_kernel: bool) -> None:
            tree = free.get()
            try:
                record = measure_tests(tree, area, is_kernel)
                for mutant in groups[area, is_kernel]:
                    if not is_over.is_set():
                        done.put((mutant, run_mutant(tree, mutant, record)))
            except BaseException as error:
                done.put(error)
            free.put(tree)

        for group in sorted(groups, key=lambda group: -len(groups[group])):
            pool.submit(run_group, *group)
        try:
            for _ in mutants:
                found = done.get()
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            is_over.set()
            pool.shutdown(cancel_futures=True)


def measure_tests(tree: Path, area: str, is_kernel: bool) -> dict[str, Any]:
    """Return the lines and the seconds of the tests of an area, on the unchanged code."""
    start = time.monotonic()
    for _ in range(2):
        run_tests(tree, area, is_kernel)
    record: dict[str, Any] = json.loads(get_record(tree, area, is_kernel).read_text())
    assert record["seconds"], f"no test of {area} passes"
    assert not record["failed"], f"fail on the unchanged code: {record['failed']}"
    kind, tests = "kernels" if is_kernel else "modules", len(record["seconds"])
    print(f"{area}, {kind}: {tests} tests, {time.monotonic() - start:.0f} s", flush=True)
    return record


def run_mutant(tree: Path, mutant: Mutant, record: dict[str, Any]) -> str:
    """Change a module in a copy, run the tests that execute the place, and change it back."""
    chosen = choose_tests(mutant, record)
    limit = 30 + 4 * sum(record["seconds"][test] for test in chosen)
    path = tree / mutant.module
    changed = mutate(mutant)
    assert changed is not None
    times = path.stat()
    path.write_text(changed[1])
    code = run_tests(tree, mutant.area, is_kernel_module(mutant), chosen, limit)
    path.write_text(changed[0])
    # The compiled files of the unchanged module count again.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert code != pytest.ExitCode.NO_TESTS_COLLECTED, mutant
    outcome = "timeout" if code == -signal.SIGXCPU else "killed" if code else "survived"
    print(outcome, f"{mutant.module}:{mutant.line}", *describe(mutant), sep="\n    ", flush=True)
    return outcome


def is_kernel_module(mutant: Mutant) -> bool:
    """Say whether a module is compiled, and so must run as Python after a change."""
    return mutant.module.endswith("kernels.py")


def find_key(result: Sequence[Any]) -> tuple[str, str, str]:
    """Return the key of a stored result in `EQUIVALENT`."""
    values, _, before, after = result
    return values["module"], before, after


def write_page(stored: dict[str, dict[str, Any]], seed: int) -> None:
    """Write the scores, the survivors and the equivalent changes."""
    rows, survivors, equivalents, unused = [], [], [], set(EQUIVALENT)
    total = [0] * 6
    for area in AREAS:
        outcomes = Counter[str]()
        for values, outcome, before, after in stored[area]["results"]:
            if outcome == "waits":
                continue
            key = find_key((values, outcome, before, after))
            place = f"`{values['module'].removeprefix('src/tracearena/')}:{values['line']}`"
            change = f"```diff\n- {before}\n+ {after}\n```\n"
            if outcome == "survived" and key in EQUIVALENT:
                outcomes["equivalent"] += 1
                unused.discard(key)
                equivalents.append(f"{place}: {EQUIVALENT[key]}\n\n{change}")
                continue
            outcomes[outcome] += 1
            if outcome == "survived":
                survivors.append(f"{place}\n\n{change}")
        later = outcomes["killed later"] + outcomes["timeout later"]
        first = outcomes["killed"] + outcomes["timeout"]
        counts = [stored[area]["places"], outcomes.total(), outcomes["equivalent"], first, first + later]
        counts.append(outcomes["survived"])
        rows.append((area, counts))
        total = [a + b for a, b in zip(total, counts, strict=True)]
    table = "\n".join(
        f"| {' | '.join(map(str, [name, *counts]))} | "
        + " | ".join(
            f"{100 * noticed / (counts[1] - counts[2]):.1f} %" if counts[1] > counts[2] else "–"
            for noticed in counts[3:5]
        )
        + " |"
        for name, counts in [*rows, ("all", total)]
    )
    waiting = sum(outcome == "waits" for area in AREAS for _, outcome, *_ in stored[area]["results"])
    rest = f"\n\nThe run was interrupted: {waiting} more mutants were drawn, but not run." if waiting else ""
    PAGE.write_text(
        INTRODUCTION.format(seed=seed, slowest=SLOWEST_TEST_S)
        + table
        + rest
        + "\n\n## Survivors\n\n"
        + ("\n".join(survivors) or "None.\n")
        + "\n## Equivalent mutants\n\nNo test can notice them, for the reason given.\n\n"
        + ("\n".join(equivalents) or "None.\n")
    )
    print(table)
    print(f"in EQUIVALENT, but not among the survivors: {sorted(unused)}" if unused else "")


def main() -> None:
    """Draw, run, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=420, help="number of mutants")
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--area", choices=AREAS, help="only this area")
    parser.add_argument(
        "--survivors", action="store_true", help="run again what survived, and what an interrupted run left"
    )
    options = parser.parse_args()
    stored: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    areas = [options.area] if options.area else list(AREAS)
    if not options.survivors:
        places = {area: list_places(area) for area in AREAS}
        sample = draw_sample(places, options.sample, options.seed)
        for area in areas:
            results = [[asdict(mutant), "waits", *describe(mutant)] for mutant in sample[area]]
            stored[area] = {"places": len(places[area]), "results": results}
    alive = {
        Mutant(**result[0]): result
        for area in areas
        for result in stored[area]["results"]
        if result[1] == "waits" or (result[1] == "survived" and find_key(result) not in EQUIVALENT)
    }
    try:
        for mutant, outcome in run_all(list(alive)):
            result = alive[mutant]
            is_later = result[1] == "survived" != outcome
            result[1] = f"{outcome} later" if is_later else outcome
            RESULTS.write_text(json.dumps(stored))
    finally:
        if stored.keys() == AREAS.keys():
            write_page(stored, options.seed)


if __name__ == "__main__":
    main()
