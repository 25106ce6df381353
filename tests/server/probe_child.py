"""A child for tests, run as a script: it does what its request says, or tells what it finds inside."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from typing import IO

from tracearena.server.sandbox.child_side import run

_LIMITS = ("CORE", "DATA", "AS", "CPU", "FSIZE", "NOFILE")


def _report() -> bytes:
    open_files = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            open_files[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    found = {
        "environment": dict(os.environ),
        "open_files": open_files,
        "arguments": sys.argv,
        "folder": os.getcwd(),
        "is_leader": os.getsid(0) == os.getpid(),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in _LIMITS},
        "modules": sorted(name for name in sys.modules if name.startswith(("django", "cryptography"))),
    }
    return json.dumps(found).encode()


def _descendant() -> bytes:
    child = os.fork()
    if child == 0:
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        os.closerange(3, 64)
        time.sleep(600)
        os._exit(0)
    return str(child).encode()


def _write_a_file() -> bytes:
    path = f"/tmp/tracearena-probe-{os.getpid()}"
    try:
        with open(path, "wb") as file:
            file.write(bytes(17 * 2**20))
    except OSError as error:
        return (error.strerror or "").encode()
    finally:
        os.unlink(path)
    return b"written"


def work(request: IO[bytes]) -> bytes:
    """Do what is asked."""
    what = request.read()
    if what == b"report":
        return _report()
    if what == b"descendant":
        return _descendant()
    if what == b"file":
        return _write_a_file()
    if what == b"loop":
        while True:
            pass
    if what == b"sleep":
        time.sleep(600)
    if what == b"hoard":
        hoard = []
        while True:
            hoard.append(bytearray(2**20))
    if what == b"crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == b"raise":
        raise ValueError("x" * 5_000 + "the end")
    if what == b"print":
        print("not an answer")
    return what


if __name__ == "__main__":
    run(work)
