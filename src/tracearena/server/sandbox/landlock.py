"""Landlock: a process gives up every file but those that it names, for itself and for good.

The kernel enforces it for root as well. It also keeps the process from looking into others, and, from its
fourth version on, from TCP, from the sixth on from signals to others.
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from tracearena.server import libc

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


def version() -> int:
    """Return the kernel's version of Landlock; 0 where there is none."""
    if not libc.is_linux():
        return 0
    try:
        return libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def allow_reading_only(places: Iterable[Path]) -> None:
    """Let this thread, and what it starts, open nothing but files in these places, and those to read.

    `PR_SET_NO_NEW_PRIVS` must be set, and there must be a `version`.
    """
    known = version()
    files = (1 << max(n for since, n in _RIGHTS_OF_VERSION.items() if since <= known)) - 1
    asked = _Ruleset(files, _TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    # A kernel refuses bits that it does not know, and a structure that is longer than its own.
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(asked), size, 0)
    for place in places:
        try:
            opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # what is not there, or not for this user, cannot be read anyway
            continue
        rights = _READ_FILE | (_READ_FOLDER if place.is_dir() else 0)
        rule = _Beneath(rights, opened)
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        os.close(opened)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
