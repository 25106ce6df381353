"""How quickly ``tracearena --help`` answers, against an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time

RUNS = 15
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed program has its bytecode beside it; here the first run writes it."""


def best(*arguments: str) -> float:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    nothing = best("-c", "pass")
    print(f"best of {RUNS}")
    answered = best("-m", "tracearena", "--help")
    print(f"--help: {answered:.3f} s (wanted: 0.15), bare {nothing:.3f} s ({answered / nothing:.1f}×)")


if __name__ == "__main__":
    main()
