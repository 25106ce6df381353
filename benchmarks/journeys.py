"""Files that run in four journeys: how much of the house somebody meets who follows one command.

A file counts where the body of at least one of its functions (or methods, lambdas, comprehensions) is
executed; that it is imported, or that a class is made in it, is not enough. A file of kernels counts
where a compiled function was called from Python. Files of the command line are told apart: they are a way
in, the others are the way. Every journey is a whole command on a small simulated city, in a process of its
own, with a seed.

    python benchmarks/journeys.py [--files]
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

PREPARED = """
city reftraces.csv --users 12 --days 2 --seed 1 --to pwscup --places-out places.csv
city orgtraces.csv --users 12 --days 2 --seed 1 --to pwscup
city gps.csv --mode gps --users 3 --days 1 --seed 1
obfuscate MRLH(1,1,0.5) orgtraces.csv obftraces.csv --places places.csv --seed 1
pseudonymise obftraces.csv anotraces.csv --id-table table.csv --original orgtraces.csv --places places.csv
"""
JOURNEYS = {
    "GeoInd on GPS": "obfuscate GeoInd(200m) gps.csv noisy.csv --seed 1",
    "attack VisitProb-R": "attack VisitProb-R inferred.csv --reference reftraces.csv"
    " --anonymized anotraces.csv --places places.csv --seed 1",
    "sweep": "sweep scores.csv --reference reftraces.csv --original orgtraces.csv --places places.csv"
    " --defences MRLH(1,1,0.5) --attacks VisitProb-R --seed 1",
    "PPMTF": "synthesize PPMTF(2,iterations=2) reftraces.csv synthetic.csv --places places.csv"
    " --traces-per-user 1 --seed 1",
}
WANTED = {"GeoInd on GPS": 16, "attack VisitProb-R": 20, "sweep": 28, "PPMTF": 35}


def followed(words: list[str]) -> list[str]:
    """Run a command in this process; return the files of ours in which a function ran."""
    import tracearena
    from tracearena.cli import main

    source = str(Path(tracearena.__file__).parent) + os.sep
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes are not optimised; those of functions are.
        if event == "call" and code.co_filename.startswith(source) and code.co_flags & inspect.CO_OPTIMIZED:
            ran.add(code.co_filename.removeprefix(source))

    sys.argv = ["tracearena", *words]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    for name, module in list(sys.modules.items()):
        if name.startswith("tracearena.") and "_kernels" in name and module.__file__:
            called = [function for function in vars(module).values() if getattr(function, "overloads", None)]
            ran.update(file for function in called if (file := _file(function, source)) is not None)
    return sorted(ran)


def _file(function: Any, source: str) -> str | None:
    file: str = function.py_func.__code__.co_filename
    return file.removeprefix(source) if file.startswith(source) else None


def run(folder: Path, words: list[str]) -> list[str]:
    """Follow a command in a process of its own."""
    told = folder / "files.json"
    command = [sys.executable, str(Path(__file__).resolve()), "--follow", str(told), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    files: list[str] = json.loads(told.read_text())
    return files


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for line in PREPARED.strip().splitlines():
            subprocess.run(
                [sys.executable, "-m", "tracearena", *line.split()],
                cwd=folder,
                check=True,
                capture_output=True,
            )
        print(f"{'journey':20} files  of them cli  wanted")
        for name, line in JOURNEYS.items():
            files = run(folder, line.split())
            inside = [file for file in files if file.startswith("cli" + os.sep)]
            print(f"{name:20} {len(files):5}  {len(inside):11}  {WANTED[name]:6}")
            if "--files" in sys.argv:
                print("    " + "\n    ".join(files))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        target = Path(sys.argv[2])
        target.write_text(json.dumps(followed(sys.argv[3:])))
    else:
        main()
