"""Claims: a bomb is refused in 2 s and 300 MB (T27); a confined child costs a fraction of a new interpreter.

Checks good files and bombs in children of the judge, as every upload is, and prints seconds from start to
answer, processor seconds and largest size. The first ratio is against the same checker in a process that has
everything loaded: what a child costs. Then small files, of which a final round has thousands, are checked
and scored, and compared with a fork server of their own for each child: an interpreter that starts anew.

    python benchmarks/bench_children.py [users] [instants]
"""

from __future__ import annotations

import gzip
import io
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.contest.rules import Rules
from tracearena.files.io import InMemoryFile
from tracearena.io import pwscup
from tracearena.server.sandbox.child import check_file
from tracearena.server.sandbox.messages import Frame, UploadArrays, Verdict
from tracearena.server.sandbox.parent import FORK_SERVER, Usage, check_upload, score_upload
from tracearena.traces import Grid, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

RUNS = 3
SMALL_RUNS, ANEW_RUNS = 200, 10
RULES = Rules()


def generalised(users: int, instants: int) -> ObfuscatedTraces:
    """Random places, half of them deleted and half in rows of sixteen regions."""
    rng = np.random.default_rng(1)
    grid = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
    places = Places.of_grid(grid, km_per_degree=CONTEST_KM_PER_DEGREE)
    dense = rng.integers(0, len(places), (users, instants))
    original = Traces.from_dense(dense, places, pwscup.PWS_CLOCK, first_instant=instants)
    sets = PlaceSets.of(np.arange(len(places)).reshape(-1, 16))
    codes = np.where(rng.random(len(original)) < 0.5, -1, -2 - original.place_index // 16)
    return ObfuscatedTraces.like(original, codes, sets)


def parquet(cells: list[str] | pl.Series) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"reg_id": cells}).write_parquet(file)
    return file.getvalue()


def files(users: int, instants: int) -> tuple[Frame, dict[str, bytes]]:
    """Return the frame of a team, its obfuscated traces in all forms, and bombs."""
    released = generalised(users, instants)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ano.csv"
        pwscup.write_obfuscated(released, path)
        text = path.read_bytes()
    megabyte = gzip.compress(b"5\n" * 2**19)
    return Frame.of(released), {
        "obfuscated, .csv": text,
        "obfuscated, .csv.gz": gzip.compress(text, 6),
        "obfuscated, Parquet": parquet(text.decode().splitlines()[1:]),
        "gzip bomb, 1 GB": megabyte * 1024,
        "Parquet bomb, 50 million rows": parquet(pl.repeat(5, 50_000_000, dtype=pl.Int8, eager=True)),
        "Parquet bomb, 256 MB cell": parquet(["1 " * 2**27, *["2"] * (users * instants - 1)]),
    }


def inside(frame: Frame, content: bytes) -> tuple[float, str]:
    """Return processor seconds of the checker alone, and its verdict."""
    started = time.process_time()
    said = check_file(
        InMemoryFile("bench", content),
        frame,
        "obfuscated",
        RULES.largest_file_mb * 2**20,
        RULES.largest_listed_ids,
    )
    return time.process_time() - started, code_of(said)


def code_of(said: UploadArrays | Verdict) -> str:
    return said.code if isinstance(said, Verdict) else "good"


def small_files() -> None:
    """Print what one small file costs, checked and scored, and what it would with two new interpreters."""
    truth = IdTable(np.arange(1, 2001), np.arange(1, 2001))
    places = Places([0.0, 1.0], [0.0, 1.0], ids=[1, 2])
    frame = Frame(places, pwscup.PWS_CLOCK, truth.user_ids, 0, 20, truth.pseudonyms)
    content = b"user_id\n" + b"".join(b"%d\n" % user for user in truth.user_ids)

    def check_and_score(runs: int, *, anew: bool) -> float:
        used = os.times()
        for _ in range(runs):
            found = check_upload(content, frame, "inferred-table", RULES, file_name="small")
            if anew:
                FORK_SERVER.close()
            score_upload(found, truth, RULES)
            if anew:
                FORK_SERVER.close()
        FORK_SERVER.close()  # what it and its children used counts when it has ended
        now = os.times()
        return (sum(now[:4]) - sum(used[:4])) / runs

    check_and_score(1, anew=True)
    alone = [check_and_score(SMALL_RUNS, anew=False), check_and_score(ANEW_RUNS, anew=True)]
    print(
        f"an inferred ID table, checked and scored: processor {alone[0]:.3f} s with one fork server for "
        f"{SMALL_RUNS} files, {alone[1]:.3f} s with a new interpreter each time ({alone[1] / alone[0]:.1f}×)"
    )


def main(users: int = 2000, instants: int = 400) -> None:
    """Print a line for each file."""
    print(
        f"{users} users × {instants} instants, {platform.machine()}, {os.cpu_count()} cores, best of {RUNS}"
    )
    frame, uploads = files(users, instants)
    inside(frame, uploads["obfuscated, .csv"])  # compiled, from here on
    for what, content in uploads.items():
        runs: list[tuple[float, Usage]] = []
        alone, code = min(inside(frame, content) for _ in range(RUNS))
        for _ in range(RUNS):
            started = time.perf_counter()
            said = check_upload(content, frame, "obfuscated", RULES, file_name="bench")
            runs.append((time.perf_counter() - started, FORK_SERVER.usage))
            assert code_of(said) == code
        cpu_s = min(usage.cpu_s for _, usage in runs)
        print(
            f"{what:30} {len(content) / 1e6:6.1f} MB: {code:9} in {min(wall_s for wall_s, _ in runs):.2f} s, "
            f"processor {cpu_s:.2f} s, {min(usage.rss_mb for _, usage in runs):.0f} MB; "
            f"the checker alone {alone:.2f} s ({cpu_s / alone:.1f}×)"
        )
    small_files()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
