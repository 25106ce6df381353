"""Check a file in a child and print what became of it and what the child cost; run as a script.

A process that is executed begins with the largest size that the one it came from ever had, so a child is
measured from a small process such as this, not from a test's.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from tracearena.contest.rules import Rules
from tracearena.server.sandbox.children import ChildDied, Frame, Verdict, check_upload


def main(frame: str, upload: str) -> None:
    """Check an upload of obfuscated traces on the frame of a file."""
    known, rules = Frame.from_bytes(Path(frame).read_bytes()), Rules()
    started = time.perf_counter()
    try:
        with open(upload, "rb") as file:
            pieces = iter(lambda: file.read(2**16), b"")
            result = check_upload(pieces, known, "obfuscated", rules, file_name="bomb")
        code = result.code if isinstance(result, Verdict) else "good"
    except ChildDied as error:
        code = f"died of {error.reason}: {error.said}"
    found = {"code": code, "wall_s": time.perf_counter() - started}
    cost = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps(found | {"cpu_s": cost.ru_utime + cost.ru_stime, "rss_mb": cost.ru_maxrss / 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
