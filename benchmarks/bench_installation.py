"""What an installation takes: the size of every package, and the time of `import tracearena`.

Installs the project into a new environment, or measures the Python given as the only argument. Sizes are
those of the files of each package, with the bytecode that pip compiles, in MB of 10^6 bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 14
RUNS = 9
MEASURE = """
import json
from importlib.metadata import distributions

sizes = {}
for one in distributions():
    files = [file.locate() for file in one.files or ()]
    sizes[one.name] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""
IMPORT = """
import time

begun = time.perf_counter()
import tracearena

print(time.perf_counter() - begun)
"""


def run(python: str, code: str) -> str:
    """Return what a program prints in an environment."""
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout


def measure(python: str) -> None:
    """Print sizes and the median time of an import."""
    sizes: dict[str, int] = json.loads(run(python, MEASURE))
    used = {name: size / 1e6 for name, size in sizes.items() if name not in ("pip", "setuptools", "wheel")}
    largest = sorted(used.items(), key=lambda item: -item[1])
    for name, megabytes in largest[:SHOWN]:
        print(f"{name:<28} {megabytes:6.1f} MB")
    print(f"{f'{len(largest) - SHOWN} others':<28} {sum(size for _, size in largest[SHOWN:]):6.1f} MB")
    print(f"{'all':<28} {sum(used.values()):6.1f} MB")
    seconds = sorted(float(run(python, IMPORT)) for _ in range(RUNS))
    print(f"import tracearena            {seconds[RUNS // 2]:6.3f} s, the median of {RUNS}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
            subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
            measure(python)
