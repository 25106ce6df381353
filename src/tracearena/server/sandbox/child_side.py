"""The inside of a child: it gives its rights up before it reads a byte, and answers once.

Its request comes by standard input: packed values and arrays, each after eight bytes of length, and perhaps
an upload after them. Its answer goes to standard output, whole, and only if all went well.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn

from tracearena.errors import DataError
from tracearena.server import libc
from tracearena.server.sandbox import landlock, system_calls

Work = Callable[[IO[bytes]], bytes]
"""What a child does: it reads a request and returns the answer."""

OUT_OF_MEMORY = 75
"""Exit status of a child that reached its memory limit."""

KILL = b"kill"
"""The message that ends a child before its time."""
LONGEST_MESSAGE = 4096

_MB = 2**20
_LENGTH_BYTES = 8
_MORE_ADDRESSES_MB = 4096
_OPEN_FILES = 64
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


def answer_request(work: Work, pipes: Sequence[int], memory_mb: int, cpu_s: int) -> NoReturn:
    """Be a child that was just forked: give up all rights, do the work, answer, end.

    Parameters
    ----------
    pipes
        Descriptors for the request, the answer, and what is said besides.
    memory_mb, cpu_s
        Limits.
    """
    status = 1
    try:
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        answer = os.dup(1)
        os.dup2(2, 1)  # whatever a library prints is no part of the answer
        _end_with_parent()
        take_limits(memory_mb, cpu_s)
        give_up_rights()
        with open(0, "rb", closefd=False) as request:
            result = work(request)
        with open(answer, "wb") as out:
            out.write(result)
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        # Nothing that the parent left to be done at its own end is done here.
        os._exit(status)


def take_limits(memory_mb: int, cpu_s: int) -> None:
    """Limit what this process may use, for good.

    Memory counts where it is really asked for; addresses alone, which compilers reserve, may be more.
    Nothing is left behind by a crash: a core file would hold the upload in clear.
    """
    limits = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_DATA: (memory_mb * _MB,) * 2,
        resource.RLIMIT_AS: ((memory_mb + _MORE_ADDRESSES_MB) * _MB,) * 2,
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES,) * 2,
    }
    for which, (soft, hard) in limits.items():
        most = resource.getrlimit(which)[1]
        cut = [value if most == resource.RLIM_INFINITY else min(value, most) for value in (soft, hard)]
        resource.setrlimit(which, (cut[0], cut[1]))


def give_up_rights() -> None:
    """Let this process read code and nothing else, write and start nothing, and reach nobody.

    What the kernel lacks is left out; `missing_guards` says what that is.
    """
    if libc.is_linux():
        libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    if landlock.version():
        landlock.allow_reading_only(map(Path, [*sys.path, *_LIBRARIES]))
    if system_calls.are_limitable():
        system_calls.allow_listed_only()


def missing_guards() -> str:
    """Return in sentences what this machine's kernel lacks to guard against a child; empty if nothing."""
    found = []
    if not landlock.version():
        found.append("This kernel has no Landlock: code that breaks out of the checker could read files.")
    if not system_calls.are_limitable():
        found.append(
            "Seccomp is missing for this kernel or architecture: code that breaks out of the checker could "
            "write files, start processes and use the network."
        )
    return " ".join(found)


def _end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, however that happens."""
    if libc.is_linux():
        parent = os.getppid()
        libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent or parent == 1:
            os._exit(1)


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
