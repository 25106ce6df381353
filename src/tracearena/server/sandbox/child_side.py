"""The inside of a child: it takes its limits before it reads a byte, and answers once.

A child is `main` of a module: ``python -I -m MODULE MEMORY_MB CPU_S WALL_S``. Its request comes by
standard input: packed values and arrays, each after eight bytes of length, and perhaps an upload after
them. Its answer goes to standard output, whole, and only if all went well.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import IO

from tracearena.errors import DataError

OUT_OF_MEMORY = 75
"""Exit status of a child that reached its memory limit."""

_MB = 2**20
_LENGTH_BYTES = 8
_MORE_ADDRESSES_MB = 4096
_LARGEST_WRITTEN_FILE_MB = 16
_OPEN_FILES = 64


def run(work: Callable[[IO[bytes]], bytes]) -> None:
    """Take the limits, do the work on the request, and answer."""
    take_limits(*map(int, sys.argv[1:4]))
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is no part of the answer
    try:
        result = work(sys.stdin.buffer)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    with os.fdopen(answer, "wb") as out:
        out.write(result)


def take_limits(memory_mb: int, cpu_s: int, wall_s: int) -> None:
    """Limit this process for good.

    Memory counts where it is really asked for; addresses alone, which compilers reserve, may be more. What
    is written can only be compiled code. Nothing is left behind by a crash: a core file would hold the
    upload in clear.
    """
    limits = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_DATA: (memory_mb * _MB,) * 2,
        resource.RLIMIT_AS: ((memory_mb + _MORE_ADDRESSES_MB) * _MB,) * 2,
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_FSIZE: (_LARGEST_WRITTEN_FILE_MB * _MB,) * 2,
        resource.RLIMIT_NOFILE: (_OPEN_FILES,) * 2,
    }
    for which, (soft, hard) in limits.items():
        most = resource.getrlimit(which)[1]
        cut = [value if most == resource.RLIM_INFINITY else min(value, most) for value in (soft, hard)]
        resource.setrlimit(which, (cut[0], cut[1]))
    # The parent ends a child that takes too long; this one ends where the parent was killed.
    signal.alarm(wall_s + 1)


def framed(packed: bytes) -> bytes:
    """Return packed values and arrays as `read_framed` takes them."""
    return len(packed).to_bytes(_LENGTH_BYTES, "big") + packed


def read_framed(request: IO[bytes]) -> bytes:
    """Return the next packed values and arrays of a request."""
    size = int.from_bytes(request.read(_LENGTH_BYTES), "big")
    packed = request.read(size)
    if size == 0 or len(packed) < size:
        raise DataError("the request ends too early")
    return packed
