"""Children for tests, run as a script: ``probe_child.py [UID] [--unguarded]``.

They do what their request says, tell what they find inside, or try what no child may do. Unguarded ones have
limits but all rights, which shows that what is tried can be done.
"""

from __future__ import annotations

import ctypes
import encodings.idna  # noqa: F401 - which names of hosts need, and a child may not find
import errno
import gc
import json
import mmap
import os
import resource
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from numba.core.dispatcher import Dispatcher

from tracearena.server.sandbox import child as check_child
from tracearena.server.sandbox import confinement, fork_server, messages

_LIMITS = ("CORE", "DATA", "AS", "CPU", "FSIZE", "NOFILE")
_PTRACE_ATTACH, _PTRACE_DETACH = 16, 17
_MAP_GROWSDOWN = 0x100
_PRIVATE_MEMORY = 0o1000  # IPC_CREAT
_libc = ctypes.CDLL(None, use_errno=True)


def _report() -> bytes:
    open_files = {}
    for number in range(64):
        try:
            open_files[number] = stat.S_ISFIFO(os.fstat(number).st_mode)
        except OSError:
            continue
    found = {
        "environment": dict(os.environ),
        "open_files": open_files,
        "arguments": sys.argv,
        "folder": os.getcwd(),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in _LIMITS},
        "modules": sorted(name for name in sys.modules if name.startswith(("django", "cryptography"))),
    }
    return json.dumps(found).encode()


def _raise_on_error(result: int) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _any_of(*ways: Callable[[], Any]) -> None:
    """Succeed if one of several ways does; fail as the last one did."""
    failure = OSError()
    for way in ways:
        try:
            way()
            return
        except OSError as error:
            failure = error
    raise failure


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _read_memory(process: int) -> None:
    maps = Path(f"/proc/{process}/maps").read_text()
    with open(f"/proc/{process}/mem", "rb") as memory:
        memory.seek(int(maps.partition("-")[0], 16))
        memory.read(8)


def _connect(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        pass


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def _leave_by_a_fork() -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(0)
    os.waitpid(child, 0)


def _trace(process: int) -> None:
    _raise_on_error(_libc.ptrace(_PTRACE_ATTACH, process, None, None))
    os.waitpid(process, 0)
    _libc.ptrace(_PTRACE_DETACH, process, None, None)


def _write_many(folder: str) -> None:
    for number in range(100):
        with open(f"{folder}/new-{number}", "wb"):
            pass


def _change(path: str) -> None:
    _any_of(
        lambda: os.close(os.open(path, os.O_WRONLY)),
        lambda: os.truncate(path, 0),
        lambda: os.chmod(path, 0o777),
        lambda: os.utime(path),
        lambda: os.rename(path, f"{path}.moved"),
        lambda: os.link(path, f"{path}.linked"),
        lambda: os.symlink(path, f"{path}.named"),
        lambda: os.mkdir(f"{path}.folder"),
        lambda: os.unlink(path),
        lambda: os.setxattr(path, "user.note", b"here"),
    )


def _share_memory() -> None:
    _any_of(
        lambda: mmap.mmap(-1, 2**24, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
        lambda: os.memfd_create("shared"),
        lambda: _raise_on_error(_libc.shmget(0, ctypes.c_size_t(2**24), _PRIVATE_MEMORY | 0o600)),
    )


def _take_a_stack() -> None:
    """Take more memory than the limit of data allows, as a stack that grows down."""
    mmap.mmap(-1, 2**30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_GROWSDOWN)


ATTEMPTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "read the judge's key": lambda known: _read(known["key"]),
    "read the database": lambda known: _read(known["database"]),
    "read sealed files": lambda known: _any_of(
        lambda: os.listdir(known["sealed"]), lambda: _read(f"{known['sealed']}/ptable")
    ),
    "read the memory of the judge": lambda known: _read_memory(known["victim"]),
    "open TCP": lambda known: _connect(known["port"]),
    "create sockets": lambda known: _any_of(
        lambda: socket.socket(socket.AF_UNIX),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        socket.socketpair,
    ),
    "fork": lambda known: _fork(),
    "exec": lambda known: os.execv("/bin/true", ["true"]),
    "ptrace": lambda known: _trace(known["victim"]),
    "leave for a session of its own": lambda known: _any_of(_leave_by_a_fork, os.setsid),
    "write many files": lambda known: _write_many(known["folder"]),
    "write anywhere": lambda known: _change(known["mine"]),
    "take shared memory": lambda known: _share_memory(),
    "take memory that is no data": lambda known: _take_a_stack(),
    "read another upload": lambda known: _any_of(
        lambda: os.listdir(known["uploads"]), lambda: _read(f"{known['uploads']}/abcd")
    ),
    "send a signal": lambda known: os.kill(known["victim"], signal.SIGCONT),
    "raise its limits": lambda known: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "call": lambda known: confinement.syscall(known["number"], *[0] * 6),
}
"""What no child may do."""


def _attempt(what: str, known: dict[str, Any]) -> bytes:
    """Try something, and answer nothing if it could be done, or why not."""
    try:
        ATTEMPTS[what](known)
    except OSError as error:
        return f"{error.errno} {error.strerror}".encode()
    except ValueError as error:  # what `setrlimit` makes of it
        return f"{errno.EPERM} {error}".encode()
    return b""


def _threads() -> bytes:
    answers: list[bytes] = []
    workers = [threading.Thread(target=answers.append, args=(b"x",)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return b"".join(answers)


def work(request: IO[bytes]) -> bytes:
    """Do what is asked."""
    what = request.read()
    if what.startswith(b"{"):
        return _attempt(**json.loads(what))
    if what == b"report":
        return _report()
    if what == b"threads":
        return _threads()
    if what == b"many threads":
        threading.stack_size(2**16)
        while True:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    if what == b"loop":
        while True:
            pass
    if what == b"sleep":
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
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
    if what == b"end myself":
        os.kill(os.getpid(), signal.SIGTERM)
    if what == b"number":
        return f"{os.getpid()} {os.getppid()}".encode()
    return what


def _compiled() -> int:
    return sum(len(one.signatures) for one in gc.get_objects() if isinstance(one, Dispatcher))


def _prepared_check() -> messages.Work:
    """Check an upload, and answer how much had to be compiled for it."""
    check = check_child.prepare_check()

    def counted(request: IO[bytes]) -> bytes:
        before = _compiled()
        check(request)
        return str(_compiled() - before).encode()

    return counted


def main() -> None:
    """Serve children, as another user if one is named."""
    if "--unguarded" in sys.argv:
        for module, name in (
            (messages, "drop_rights"),
            (confinement, "unshare"),
            (confinement, "hide"),
        ):
            setattr(module, name, lambda *_: None)
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        user = int(sys.argv[1])
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    fork_server.serve({"probe": lambda: work, "compiled": _prepared_check})


if __name__ == "__main__":
    main()
