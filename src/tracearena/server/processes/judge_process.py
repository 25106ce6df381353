"""The judge as a process: ``python -m tracearena.server.processes.judge_process DIR --name NAME``.

Its private key comes as the first line of its standard input, 64 hexadecimal digits, and is nowhere else.
With a lifeline it ends when its standard input does.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from tracearena.server.sandbox import confinement
from tracearena.server.sandbox.confinement import exit_with_parent
from tracearena.server.settings import configure
from tracearena.server.store.crypto import SealError, derive_public_key
from tracearena.server.store.folder import Folder


def run_all_jobs(folder: Folder, private_key: bytes, name: str = "in process") -> int:
    """Do all that is due in this process, and return how many jobs that were."""
    from tracearena.server.judge import worker
    from tracearena.server.judge.scoring import JudgeFiles

    return worker.run_until_idle(JudgeFiles(folder, private_key), name)


def run_judge(arguments: Sequence[str] | None = None, *, grace_s: float = 10.0) -> None:
    """Work until SIGTERM, and at most `grace_s` seconds longer on the job in hand."""
    parser = argparse.ArgumentParser(prog="tracearena.server.processes.judge_process")
    parser.add_argument("folder")
    parser.add_argument("--name", required=True, help="unique among all judges of the contest")
    parser.add_argument("--lifeline", action="store_true")
    given = parser.parse_args(arguments)
    confinement.hide_process_memory()
    folder = Folder(given.folder)
    private_key = _read_key_from_stdin(folder)
    configure(folder)

    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.judge.worker import JudgeWorker

    working = JudgeWorker(JudgeFiles(folder, private_key), given.name, grace_s=grace_s)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: working.stop())
    if given.lifeline:
        exit_with_parent()
    working.run()


def _read_key_from_stdin(folder: Folder) -> bytes:
    line = sys.stdin.readline().strip()
    with suppress(ValueError, SealError):
        key = bytes.fromhex(line)
        if derive_public_key(key).hex() == folder.read_secrets().judge_public_key:
            return key
    raise SystemExit("the key on standard input is not the judge's key of this contest")


if __name__ == "__main__":
    run_judge()
