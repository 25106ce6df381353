"""Landlock: a process gives up every file but those that it names, for itself and for good.

The kernel enforces it for root as well. It also keeps the process from looking into others, and, from its
fourth version on, from TCP, from the sixth on from signals to others.
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many rights to files a version knows, where that changed: each is a bit."""
_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def find_landlock_version() -> int:
    """Return the kernel's version of Landlock; 0 where there is none."""
    if not is_linux():
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def allow_reading_only(places: Iterable[Path]) -> None:
    """Let this thread, and what it starts, open nothing but files in these places, and those to read.

    `PR_SET_NO_NEW_PRIVS` must be set, and there must be a `find_landlock_version`.
    """
    known = find_landlock_version()
    files = (1 << max(n for since, n in _RIGHTS_OF_VERSION.items() if since <= known)) - 1
    asked = _Ruleset(files, _TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    # A kernel refuses bits that it does not know, and a structure that is longer than its own.
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = syscall(_CREATE_RULESET, ctypes.byref(asked), size, 0)
    for place in places:
        try:
            opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # what is not there, or not for this user, cannot be read anyway
            continue
        rights = _READ_FILE | (_READ_FOLDER if place.is_dir() else 0)
        rule = _Beneath(rights, opened)
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        os.close(opened)
    syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


# Seccomp: a process gives up every call of the system but those of a list, for itself and for good.


_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of `_NUMBERS`, and the name that the kernel gives to the architecture."""

_NUMBERS = """
    read 0 63           write 1 64           readv 19 65           writev 20 66
    pread64 17 67       lseek 8 62           close 3 57            dup 32 23
    dup2 33 -           dup3 292 24          pipe2 293 59          fcntl 72 25
    ioctl 16 29         poll 7 -             ppoll 271 73          select 23 -
    pselect6 270 72     epoll_create1 291 20 epoll_ctl 233 21      epoll_wait 232 -
    epoll_pwait 281 22  eventfd2 290 19      open 2 -              openat 257 56
    stat 4 -            fstat 5 80           lstat 6 -             newfstatat 262 79
    statx 332 291       access 21 -          faccessat 269 48      faccessat2 439 439
    readlink 89 -       readlinkat 267 78    getdents64 217 61     getcwd 79 17
    mmap 9 222          munmap 11 215        mremap 25 216         mprotect 10 226
    madvise 28 233      brk 12 214           clone 56 220          exit 60 93
    exit_group 231 94   futex 202 98         set_robust_list 273 99 set_tid_address 218 96
    rseq 334 293        membarrier 324 283   sched_yield 24 124    sched_getaffinity 204 123
    getcpu 309 168      rt_sigaction 13 134  rt_sigprocmask 14 135 rt_sigreturn 15 139
    sigaltstack 131 132 restart_syscall 219 128 kill 62 129        tgkill 234 131
    prctl 157 167       prlimit64 302 261    getrusage 98 165      times 100 153
    sysinfo 99 179      uname 63 160         getpid 39 172         getppid 110 173
    gettid 186 178      getuid 102 174       geteuid 107 175       getgid 104 176
    getegid 108 177     getsid 124 156       nanosleep 35 101      clock_nanosleep 230 115
    clock_gettime 228 113 clock_getres 229 114 gettimeofday 96 169 getrandom 318 278
    clone3 435 435
"""
"""Names of the calls with their numbers on x86_64 and aarch64."""

_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUALS, _HAS_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_FILTER_MODE = 2
_CLONE_THREAD = 0x10000
_MAP_SHARED, _MAP_GROWSDOWN = 0x1, 0x100
_PR_SET_NAME = 15
_FIOCLEX, _TCGETS = 0x5451, 0x5401
_F_OF_DESCRIPTORS = (0, 1, 2, 3, 4, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; others could send signals."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_Step = tuple[int, int, int, int]


def can_limit_calls() -> bool:
    """Whether the kernel takes a list of calls, and this module has the numbers of its architecture."""
    if not is_linux() or platform.machine() not in _ARCHITECTURES:
        return False
    try:
        # There is no such filter, which only a kernel that knows filters can tell.
        prctl(PR_SET_SECCOMP, _FILTER_MODE, 0)
    except OSError as error:
        return error.errno == errno.EFAULT
    return True


def allow_known_calls_only() -> None:
    """Refuse this thread, and what it starts, all calls but those of the list.

    `PR_SET_NO_NEW_PRIVS` must be set, and the calls must be limitable.
    """
    steps = _build_filter(*_ARCHITECTURES[platform.machine()], process=os.getpid())
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    kept = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(kept)))
    prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(program))


def _build_filter(column: int, architecture: int, process: int) -> list[_Step]:
    """Return the filter: the number of a call is compared with one after the other."""
    words = _NUMBERS.split()
    numbers = dict(zip(words[::3], zip(words[1::3], words[2::3], strict=True), strict=True))
    conditions: dict[str, list[_Step]] = {
        "open": _without(1, _WRITES),
        "openat": _without(2, _WRITES),
        "clone": _with(0, _CLONE_THREAD),
        # The C library starts threads by `clone` where this one, whose flags no filter sees, is missing.
        "clone3": [_refuse(errno.ENOSYS)],
        # Memory that is shared, or that grows like a stack, does not count as data of a process.
        "mmap": _without(3, _MAP_SHARED | _MAP_GROWSDOWN),
        "kill": _one_of(0, [process]),
        "tgkill": _one_of(0, [process]),
        "fcntl": _one_of(1, _F_OF_DESCRIPTORS),
        "ioctl": _one_of(1, [_FIOCLEX, _TCGETS]),
        "prctl": _one_of(0, [_PR_SET_NAME]),
        # The third argument must be null: limits are read, never set.
        "prlimit64": [
            _load(2),
            (_EQUALS, 1, 0, 0),
            _refuse(),
            _load(2, high=True),
            (_EQUALS, 1, 0, 0),
            _refuse(),
            _allow(),
        ],
    }
    steps = [(_LOAD, 0, 0, 4), (_EQUALS, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    for name, of_architectures in numbers.items():
        if (number := of_architectures[column]) != "-":
            then = conditions.get(name, [_allow()])
            steps += [(_EQUALS, 0, len(then), int(number)), *then]
    return [*steps, _refuse()]


def _one_of(argument: int, values: Sequence[int]) -> list[_Step]:
    tests = [step for value in values for step in ((_EQUALS, 0, 1, value), _allow())]
    return [_load(argument), *tests, _refuse()]


def _with(argument: int, bits: int) -> list[_Step]:
    return [_load(argument), (_HAS_BITS, 0, 1, bits), _allow(), _refuse()]


def _without(argument: int, bits: int) -> list[_Step]:
    return [_load(argument), (_HAS_BITS, 0, 1, bits), _refuse(), _allow()]


def _load(argument: int, *, high: bool = False) -> _Step:
    """Load half an argument; both architectures put the low half first."""
    return (_LOAD, 0, 0, 16 + 8 * argument + 4 * high)


def _allow() -> _Step:
    return (_RETURN, 0, 0, _ALLOW)


def _refuse(error: int = errno.EPERM) -> _Step:
    return (_RETURN, 0, 0, _REFUSE | error)


# Calls of the system that Python has no name for.


PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *values: Any) -> int:
    """Change something about this process, or raise `OSError`."""
    given = [value if isinstance(value, ctypes._SimpleCData) else ctypes.c_ulong(value) for value in values]
    padding = [ctypes.c_ulong(0)] * (4 - len(given))
    return _check_result(_libc.prctl(option, *given, *padding))


def syscall(number: int, *values: Any) -> int:
    """Make a call of the system by its number, or raise `OSError`."""
    _libc.syscall.restype = ctypes.c_long
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in values]
    return _check_result(_libc.syscall(ctypes.c_long(number), *given))


def unshare(namespaces: int) -> None:
    """Leave the namespaces that the flags name for new ones, or raise `OSError`."""
    _check_result(_libc.unshare(namespaces))


def is_linux() -> bool:
    """Whether these calls are there at all."""
    return sys.platform == "linux"


def _check_result(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def hide_process_memory() -> None:
    """Let this process write no core file, and no other process of its user look into its memory.

    What it starts writes no core file either, but must hide itself: a new program begins visible.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if is_linux():
        prctl(PR_SET_DUMPABLE, 0)


def exit_with_parent() -> None:
    """Send this process SIGTERM when the other end of its standard input is closed."""
    threading.Thread(target=_watch_parent, name="lifeline", daemon=True).start()


def _watch_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
