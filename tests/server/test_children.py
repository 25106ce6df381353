"""Children have nothing of their parent, keep to their limits, and die without harm (T11)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.uploads import FRAME, GOOD, ORIGINAL, PLACES

from tracearena.arena import pseudonymise
from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.contest.file_judge import compute_reidentification, compute_trace_inference, compute_utility
from tracearena.contest.rules import Rules
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.server.sandbox import parent
from tracearena.server.sandbox.messages import (
    Frame,
    Kind,
    UploadArrays,
    Verdict,
    escape_file_name,
    frame_message,
    pack,
)
from tracearena.server.sandbox.parent import (
    FORK_SERVER,
    ChildDied,
    ForkServer,
    Limits,
    check_upload,
    run_attacks,
    score_upload,
)
from tracearena.server.store.crypto import SealError, make_key_pair, seal, unseal_chunks
from tracearena.traces import Clock, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

PROBE_COMMAND = [sys.executable, "-I", str(Path(__file__).with_name("probe_child.py"))]
PROBE = ForkServer(PROBE_COMMAND)
ROOMY = Limits(memory_mb=400, cpu_s=20, wall_s=120)
RULES = Rules()
TABLE = IdTable([3, 4], [2, 1])


A_JUDGE = f"""
from tracearena.server.sandbox.parent import ForkServer, Limits
ForkServer({PROBE_COMMAND!r}).run("probe", [b"sleep"], limits=Limits(memory_mb=400))
"""


def child_of(process: int) -> int:
    """Return the number of the first child of a process, when there is one."""
    for _ in range(6_000):
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"\nPPid:\t{process}\n" in (entry / "status").read_text():
                    return int(entry.name)
        time.sleep(0.01)
    raise AssertionError(f"process {process} has no child")


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def probe(what: bytes, limits: Limits = ROOMY) -> bytes:
    return PROBE.run("probe", [what], limits=limits)


def died(what: bytes, limits: Limits = ROOMY) -> ChildDied:
    with pytest.raises(ChildDied) as caught:
        probe(what, limits)
    return caught.value


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a child finds inside, when its parent has a secret in its environment and in an open file."""
    secret = tmp_path_factory.mktemp("secret") / "judge-key"
    secret.write_text("private 00")
    with pytest.MonkeyPatch.context() as patch, secret.open() as file:
        patch.setenv("TRACEARENA_SECRET", "canary")
        patch.setenv("PYTHONPATH", str(secret.parent))
        os.set_inheritable(file.fileno(), True)
        PROBE.close()  # the next one is started now
        found = json.loads(probe(b"report"))
    return found  # type: ignore[no-any-return]


@pytest.mark.slow
def test_a_child_has_an_environment_of_its_own(report: dict[str, Any]) -> None:
    # Python itself sets LC_CTYPE where nothing says how text is written.
    allowed = {
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMBA_CACHE_DIR",
        "LC_CTYPE",
    }
    assert set(report["environment"]) <= allowed
    assert "canary" not in json.dumps(report["environment"])


def test_a_child_inherits_no_descriptor(report: dict[str, Any]) -> None:
    """It has four pipes: its request, twice its words, its answer."""
    assert report["open_files"] == dict.fromkeys("0123", True)


def test_a_child_knows_no_key_and_no_folder(report: dict[str, Any]) -> None:
    assert report["arguments"][1:] == []
    assert report["folder"] == "/"
    assert report["modules"] == []


def test_a_child_has_limits_before_it_reads(report: dict[str, Any]) -> None:
    wanted = {
        "CORE": 0,
        "DATA": 400 * 2**20,
        "AS": 4496 * 2**20,
        "CPU": 20,
        "FSIZE": 0,
        "NOFILE": 64,
    }
    assert report["limits"] == wanted


def test_a_child_answers_once_whatever_is_printed() -> None:
    assert probe(b"print") == b"print"
    assert probe(b"") == b""


def test_requests_and_answers_may_be_larger_than_a_pipe() -> None:
    large = os.urandom(3 * 2**20)
    pieces = [large[start : start + 100_000] for start in range(0, len(large), 100_000)]
    assert PROBE.run("probe", [b"", *pieces, b""], limits=ROOMY) == large


def test_a_child_that_takes_too_much_memory_is_stopped() -> None:
    """T11."""
    assert died(b"hoard", Limits(memory_mb=100)).reason == "memory"


@pytest.mark.slow
def test_a_child_that_computes_too_long_is_stopped() -> None:
    """T11."""
    assert died(b"loop", Limits(memory_mb=400, cpu_s=1)).reason == "cpu"


@pytest.mark.slow
def test_a_child_that_does_nothing_is_stopped() -> None:
    """T11."""
    started = time.monotonic()
    assert died(b"sleep", Limits(memory_mb=400, wall_s=2)).reason == "wall-clock"
    assert time.monotonic() - started < 100


@pytest.mark.slow
def test_a_child_that_starts_thousands_of_threads_is_stopped() -> None:
    """Asleep they use no processor time, and fill the machine's table of processes."""
    assert died(b"many threads").reason == "threads"


def test_a_child_that_crashes_says_how() -> None:
    assert died(b"crash").reason == "signal"
    error = died(b"raise")
    assert error.reason == "exit"
    assert error.said.rstrip().endswith("the end")
    assert len(error.said) == 2_000
    assert "the end" not in str(error)


def test_children_are_one_after_the_other_of_one_process() -> None:
    first, second = (probe(b"number").split() for _ in range(2))
    assert first[0] != second[0]
    assert first[1] == second[1]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["the process that it is forked from", "the judge"])
def test_a_child_ends_with(who: str) -> None:
    """Whoever is killed, the child does not go on."""
    judge = subprocess.Popen([sys.executable, "-c", A_JUDGE], stderr=subprocess.DEVNULL)
    server = child_of(judge.pid)
    child = child_of(server)
    os.kill(judge.pid if who == "the judge" else server, signal.SIGKILL)
    for number in (child, server):
        for _ in range(1_000):
            if not is_running(number):
                break
            time.sleep(0.01)
        else:
            pytest.fail("it still runs")
    judge.kill()
    judge.wait()


def test_what_tells_the_judge_to_end_leaves_its_child_at_work() -> None:
    """A service is stopped by a signal to each of its processes; the judge finishes its job."""
    os.kill(int(probe(b"number").split()[1]), signal.SIGTERM)
    assert probe(b"end myself") == b"end myself"


@pytest.mark.slow
def test_after_the_death_of_its_server_there_is_another() -> None:
    server = int(probe(b"number").split()[1])
    os.kill(server, signal.SIGKILL)
    while is_running(server):
        time.sleep(0.01)
    assert died(b"print").reason == "exit"
    assert probe(b"print") == b"print"


@pytest.mark.slow
def test_an_answer_without_end_is_cut_off() -> None:
    server = ForkServer(PROBE_COMMAND, most_bytes=1_000_000)
    with closing(server), pytest.raises(ChildDied) as caught:
        server.run("probe", [bytes(2_000_000)], limits=ROOMY)
    assert caught.value.reason == "memory"


@pytest.mark.slow
def test_work_that_is_not_there_is_a_death() -> None:
    with pytest.raises(ChildDied) as caught:
        PROBE.run("nobody", [b""], limits=ROOMY)
    assert caught.value.reason == "exit"


@pytest.mark.slow
def test_a_poison_file_hurts_itself_alone() -> None:
    """T11."""
    tight = Limits(memory_mb=200, cpu_s=20)
    poison = b"reg_id\n" + b"1 2 3 4 5 6\n" * 5_500_000
    with pytest.raises(ChildDied) as caught:
        check_upload(poison, FRAME, "obfuscated", RULES, file_name="poison.csv", limits=tight)
    assert caught.value.reason == "memory"
    good = check_upload(GOOD["obfuscated"], FRAME, "obfuscated", RULES, file_name="a.csv", limits=tight)
    assert isinstance(good, UploadArrays)


def test_the_verdict_on_a_poison_file_names_it_and_the_limit() -> None:
    """T11."""
    verdict = Verdict.too_costly("../poison.csv", "memory")
    assert verdict.code == "too-costly"
    assert verdict.reason == "poison.csv: cannot be read within the judge's limits (memory)"


def test_a_sealed_upload_goes_to_the_child_chunk_by_chunk(tmp_path: Path) -> None:
    private, public = make_key_pair()
    (tmp_path / "sealed").write_bytes(seal(public, GOOD["obfuscated"]))
    with (tmp_path / "sealed").open("rb") as file:
        chunks = unseal_chunks(private, file)
        assert isinstance(check_upload(chunks, FRAME, "obfuscated", RULES, file_name="a.csv"), UploadArrays)


def test_an_upload_that_was_tampered_with_is_an_error_and_no_verdict(tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield GOOD["obfuscated"]
        raise SealError("cut")

    with pytest.raises(SealError):
        check_upload(cut(), FRAME, "obfuscated", RULES, file_name="a.csv")


@pytest.mark.parametrize(
    ("kind", "truth"), [("obfuscated", ORIGINAL), ("inferred-table", TABLE), ("inferred-traces", ORIGINAL)]
)
def test_scores_of_the_children_are_those_of_the_one_scorer(kind: Kind, truth: Any) -> None:
    good = check_upload(GOOD[kind], FRAME, kind, RULES, file_name="a.csv")
    assert isinstance(good, UploadArrays)
    if kind == "obfuscated":
        sets = PlaceSets.of([[280, 281, 312, 313], [1023, 0]])
        released = ObfuscatedTraces.like(ORIGINAL, [409, -1, -2, 0, -3, -2], sets)
        assert good.to_obfuscated(ORIGINAL).cells() == released.cells()
        assert score_upload(good, truth, RULES) == compute_utility(ORIGINAL, released, RULES)
    elif kind == "inferred-table":
        guess = IdTable([3, 4], [2, 2])
        assert score_upload(good, truth, RULES) == compute_reidentification(TABLE, guess) == 0.5
        assert score_upload(good, truth, RULES, among=[2]) == 0
    else:
        guess = ORIGINAL.with_places([409, 4, 1023, 0, 6, 7])
        assert score_upload(good, truth, RULES) == compute_trace_inference(ORIGINAL, guess, RULES)
        assert score_upload(good, truth, RULES, among=[1]) == compute_trace_inference(
            ORIGINAL, guess, RULES, [1]
        )


def test_a_truth_with_gaps_is_scored_where_it_has_events() -> None:
    dense = np.array([[409, -1, 282], [0, 1023, -1]])
    truth = Traces.from_dense(dense, PLACES, ORIGINAL.clock)
    good = UploadArrays.of("inferred-traces", {"cells": np.array([409, 5, 282, 0, 1023, 5], np.int32)})
    assert score_upload(good, truth, RULES) == 0


def test_arrays_that_do_not_fit_the_truth_are_no_score() -> None:
    short = UploadArrays.of("inferred-table", {"users": np.array([2])})
    with pytest.raises(ChildDied) as caught:
        score_upload(short, TABLE, RULES)
    assert caught.value.reason == "exit"
    assert "pseudonyms" in caught.value.said


def test_a_request_that_ends_too_early_is_no_score() -> None:
    with pytest.raises(ChildDied) as caught:
        FORK_SERVER.run("score", [frame_message(pack({}))[:-1]], limits=ROOMY)
    assert "ends too early" in caught.value.said


@pytest.mark.parametrize(
    "arrays",
    [
        {"codes": np.array([0, 1], np.int32)},
        {"codes": np.zeros(6, np.int32), "offsets": np.array([0]), "members": np.array([7], np.int32)},
        {"codes": np.full(6, 5000, np.int32), "offsets": np.array([0]), "members": np.zeros(0, np.int32)},
        {"codes": np.full(6, -2, np.int32), "offsets": np.array([0, 1]), "members": np.array([-1], np.int32)},
    ],
)
def test_arrays_of_a_child_are_looked_at_again(arrays: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        UploadArrays.of("obfuscated", arrays).to_obfuscated(ORIGINAL)


def test_arrays_of_another_kind_are_refused() -> None:
    good = UploadArrays.of("inferred-table", {"users": np.array([2, 1])})
    with pytest.raises(DataError):
        good.to_obfuscated(ORIGINAL)
    with pytest.raises(DataError):
        UploadArrays.from_bytes(pack({"kind": "letters"}))
    for cells in ([0, 1], [0, 0, 0, 0, 0, -1], [0, 0, 0, 0, 0, 1024]):
        with pytest.raises(DataError):
            UploadArrays.of("inferred-traces", {"cells": np.array(cells, np.int32)}).to_traces(FRAME)


def test_a_frame_comes_back_from_its_bytes() -> None:
    bare = Frame(Places([1.5, 2.5], [3.0, 4.0], ids=[7, 9]), Clock(instants_per_day=24), [5, 6, 8], 24, 48)
    for frame in (FRAME, bare):
        again = Frame.from_bytes(frame.to_bytes())
        assert again == frame
        assert again.places == frame.places
        assert again.traces() == frame.traces()
    assert bare.traces().n_events == 3 * 48
    assert bare != FRAME


def test_a_frame_does_not_tell_where_anybody_was() -> None:
    moved = ORIGINAL.with_places(np.full(6, 5))
    assert Frame.of(moved, pseudonyms=[3, 4]) == FRAME


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("file.csv", "file.csv"),
        ("/srv/contest/sealed/judge/ptable.csv", "ptable.csv"),
        ("C:\\data\\my file.csv", "my file.csv"),
        ("a\x1b[2J\n\u202eb.csv", "a\\x1b[2J\\n\\u202eb.csv"),
        ("", "upload"),
        ("..", ".."),
        ("x" * 1_000, "x" * 200),
        ("\udc80.csv", "\\udc80.csv"),
        ("地図.csv", "地図.csv"),
    ],
)
def test_the_name_of_a_file_is_shown_without_its_folder_and_disturbs_nothing(name: str, shown: str) -> None:
    assert escape_file_name(name) == shown


def test_compiled_code_is_kept_where_only_its_owner_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert "NUMBA_CACHE_DIR" not in parent._build_environment()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    kept = parent._build_environment()["NUMBA_CACHE_DIR"]
    assert kept == str(Path.home() / ".cache" / "tracearena" / "numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/var/cache/tracearena")
    assert parent._build_environment()["NUMBA_CACHE_DIR"] == "/var/cache/tracearena"


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("VisitProb-R", "Random-T", "Random-R", "HomeProb-T"), ("Polya-R", "Tracking-T")]
)
def test_the_judges_attacks_answer_in_a_child_as_they_do_outside(
    names: tuple[str, ...], make_walks: Callable[..., Traces]
) -> None:
    reference, original = make_walks(users=6, days=4).split_days(2)
    released = pseudonymise(ObfuscatedTraces.from_traces(original), seed=3).anonymized
    options = RULES.scoring.attacker_settings
    found = run_attacks(names, reference, released, options=options, seed=1, target=("002", 1))
    attacks, own = make_attacks(names, **options), child_seed(seed_sequence(1), 2, 1)
    outside = dict(Ensemble(attacks).fit(reference).answers(released, seed=own))
    for attack, answer in zip(attacks, found, strict=True):
        assert answer == outside[attack]


@pytest.mark.slow
def test_the_judges_attacks_have_limits(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=2_000, days=4).split_days(2)
    released, tight = ObfuscatedTraces.from_traces(original), Limits(memory_mb=10)
    with pytest.raises(ChildDied) as caught:
        run_attacks(["VisitProb-R"], reference, released, options={}, seed=1, target=("002", 1), limits=tight)
    assert caught.value.reason == "memory"
