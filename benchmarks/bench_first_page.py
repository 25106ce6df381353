"""How long it takes from nothing to the first page of a contest, compilation included.

``contest new demo-contest --teams 3 --users 200 --days 4 --seed 1``, then ``contest serve demo-contest``:
with an empty cache of compiled code, as after an installation, and once more with the cache that this left.
The time that the processor worked is told beside, for machines that do other things too.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANTED_S = 60
NEW = ["contest", "new", "demo-contest", "--teams", "3", "--users", "200", "--days", "4", "--seed", "1"]


def main() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as place:
        for state in ("empty", "filled"):
            before = worked_s()
            made, answered = first_page(Path(place))
            parts = f"new {made:.1f} s + serve {answered:.1f} s = {made + answered:.1f} s"
            print(f"cache {state}: {parts} (wanted: {WANTED_S}); processor {worked_s() - before:.1f} s")


def worked_s() -> float:
    """Return the seconds that the processor has worked for processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def first_page(place: Path) -> tuple[float, float]:
    """Return the seconds until the contest is made, and from there until its first page answers."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(place / "cache")}
    python = [sys.executable, "-m", "tracearena"]
    started = time.perf_counter()
    subprocess.run([*python, *NEW], cwd=place, env=environment, check=True, capture_output=True)
    made = time.perf_counter()
    command = [*python, "contest", "serve", "demo-contest", "--port", str(free_port())]
    with subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        said = next((line for line in server.stdout if line.startswith("The contest is at")), None)
        answered = time.perf_counter()
        server.send_signal(signal.SIGTERM)
    assert said is not None, "the first page never answered"
    assert server.returncode == 0, server.returncode
    shutil.rmtree(place / "demo-contest")
    (place / "demo-contest.judge-key").unlink()
    return made - started, answered - made


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    main()
