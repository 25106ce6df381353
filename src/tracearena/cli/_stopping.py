"""Ctrl-C and SIGTERM: the same way out, with nothing half written left behind.

Both raise `KeyboardInterrupt` where the main thread is, so that files, threads and workers are cleaned
up on the way. An exception that lands in a destructor or in a callback of the garbage collector is
swallowed there by Python, so it is raised again a moment later. A main thread that is deep in compiled
code, or waits for threads that are, hears of it late: a thread of ours then ends the process, after it
has removed what is under temporary names. So it does where the interpreter, at its end, waits for a thread
that nobody knows of, such as one whose start was interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

_AGAIN_S = 0.05
"""Seconds until an exception that was swallowed is raised again."""

_WORDS = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "stopped by SIGTERM"}
_DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_unhurried = 0
_is_outcome_said = False


def say_outcome(sentence: str) -> None:
    """Say what of the outputs is there after an interruption; nothing else is said of them then."""
    from tracearena.cli._console import note

    global _is_outcome_said
    _is_outcome_said = True
    note(sentence)


@contextmanager
def unhurried() -> Iterator[None]:
    """Let work inside come to its own end after a first signal, since it saves what it has done."""
    global _unhurried
    _unhurried += 1
    try:
        yield
    finally:
        _unhurried -= 1


class Stopping:
    """While it is entered, signals end the program in order; `received` is the first of them.

    Parameters
    ----------
    grace_s
        Seconds for the main thread to end by itself.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self.received: int | None = None
        self._before: dict[int, Any] = {}
        self._pipe: tuple[int, int] | None = None
        self._wakeup = -1
        self._ended = threading.Event()
        self._again = False
        self._our_own = 0
        self._main = threading.get_ident()
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Self:
        global _is_outcome_said
        _is_outcome_said = False
        if threading.current_thread() is not threading.main_thread():
            return self
        for number, usual in _DEFAULTS.items():
            if signal.getsignal(number) is usual:  # who ignores or handles one has a reason
                self._before[number] = signal.signal(number, self._raise)
        if self._before:
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, end == self._pipe[0])
            self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=self._pipe[:1], daemon=True).start()
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._pipe is not None:
            sys.unraisablehook = self._unraisable
            signal.set_wakeup_fd(self._wakeup)
            os.close(self._pipe[1])

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self.received is None or self._again:
            self.received = self.received or number
            self._again = False
            raise KeyboardInterrupt

    def _swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Raise our own exception once more where it can be heard; pass others on."""
        if self.received is None or not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._unraisable(unraisable)
            return
        again = threading.Timer(_AGAIN_S, self._raise_again, args=(self.received,))
        again.daemon = True
        again.start()

    def _raise_again(self, number: int) -> None:
        if not self._ended.is_set():
            self._again = True
            self._our_own += 1
            signal.pthread_kill(self._main, number)

    def _watch(self, signals: int) -> None:
        """Read the numbers of signals as they come, until the other end is closed."""
        heard = 0
        while number := os.read(signals, 1):
            if self._our_own:
                self._our_own -= 1
            elif number[0] in self._before:
                heard += 1
                if heard > 1:
                    self._end_at_once(number[0])
                threading.Thread(target=self._wait, args=(number[0],), daemon=True).start()
        os.close(signals)

    def _wait(self, number: int) -> None:
        if self._ended.wait(self._grace_s):
            threading.main_thread().join()
            time.sleep(self._grace_s)
            os._exit(128 + number)
        if not _unhurried:
            self._end_at_once(number)

    def _end_at_once(self, number: int) -> None:
        staging = sys.modules.get("tracearena.files.atomic")
        if staging is not None:
            staging.abandon()
        with suppress(OSError, ValueError):
            sys.stderr.write(self.message(number) + "\n")
            sys.stderr.flush()
        os._exit(128 + number)

    def message(self, number: int) -> str:
        """Say what ended the program and, unless a command has said so, what became of its outputs."""
        words = _WORDS.get(signal.Signals(number), f"stopped by signal {number}")
        return words if _is_outcome_said else f"{words}; outputs that were not complete have been removed"
