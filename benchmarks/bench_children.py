"""Claims: a bomb is refused in 2 s and 300 MB (T27); a file of the final round is checked in a few seconds.

Checks good files and bombs in children of the judge, as every upload is, and prints seconds from start to
answer, processor seconds and largest size. The ratio is against the same checker in a process that has
everything loaded: what a process of its own costs.

    python benchmarks/bench_children.py [users] [instants]
"""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.contest.rules import Rules
from tracearena.files.whole import Held
from tracearena.formats import pwscup
from tracearena.server.sandbox.check_child import checked
from tracearena.server.sandbox.checked import Verdict
from tracearena.server.sandbox.frames import Frame
from tracearena.traces import Grid, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

SCRIPT = Path(__file__).resolve().parents[1] / "tests" / "server" / "measured_check.py"
RUNS = 3
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


def files(folder: Path, users: int, instants: int) -> dict[str, bytes]:
    """Write the frame of a team; return its obfuscated traces in all forms, and bombs."""
    released = generalised(users, instants)
    (folder / "frame").write_bytes(Frame.of(released).to_bytes())
    pwscup.write_obfuscated(released, folder / "ano.csv")
    text = (folder / "ano.csv").read_bytes()
    megabyte = gzip.compress(b"5\n" * 2**19)
    return {
        "obfuscated, .csv": text,
        "obfuscated, .csv.gz": gzip.compress(text, 6),
        "obfuscated, Parquet": parquet(text.decode().splitlines()[1:]),
        "gzip bomb, 1 GB": megabyte * 1024,
        "Parquet bomb, 50 million rows": parquet(pl.repeat(5, 50_000_000, dtype=pl.Int8, eager=True)),
        "Parquet bomb, 256 MB cell": parquet(["1 " * 2**27, *["2"] * (users * instants - 1)]),
    }


def inside(folder: Path, content: bytes) -> tuple[float, str]:
    """Return seconds of the checker alone, and its verdict."""
    frame = Frame.from_bytes((folder / "frame").read_bytes())
    started = time.perf_counter()
    said = checked(
        Held("bench", content), frame, "obfuscated", RULES.largest_file_mb * 2**20, RULES.largest_listed_ids
    )
    return time.perf_counter() - started, said.code if isinstance(said, Verdict) else "good"


def main(users: int = 2000, instants: int = 400) -> None:
    """Print a line for each file."""
    print(
        f"{users} users × {instants} instants, {platform.machine()}, {os.cpu_count()} cores, best of {RUNS}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uploads = files(folder, users, instants)
        inside(folder, uploads["obfuscated, .csv"])  # compiled, from here on
        for what, content in uploads.items():
            (folder / "upload").write_bytes(content)
            runs = []
            for _ in range(RUNS):
                command = [sys.executable, str(SCRIPT), str(folder / "frame"), str(folder / "upload")]
                runs.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
            alone, code = min(inside(folder, content) for _ in range(RUNS))
            quickest = min(run["wall_s"] for run in runs)
            cpu, size = (float(np.min([run[key] for run in runs])) for key in ("cpu_s", "rss_mb"))
            assert {run["code"] for run in runs} == {code}
            print(
                f"{what:30} {len(content) / 1e6:6.1f} MB: {code:9} in {quickest:.2f} s, "
                f"processor {cpu:.2f} s, {size:.0f} MB; "
                f"the checker alone {alone:.2f} s ({quickest / alone:.1f}×)"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
