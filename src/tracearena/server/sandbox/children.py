"""Uploads are read, and scored, in processes of their own that can be killed without harm.

`check_upload` takes the bytes of a file and gives its arrays or the verdict on it, `score_checked` takes
the arrays and the truth and gives the score, `run_attacks` runs the judge's own attacks. What a child
answers is not trusted: a verdict is cut to size, arrays are handed on unread.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from tracearena.contest.rules import Rules
from tracearena.errors import DataError
from tracearena.server.sandbox.attack_child import request_of
from tracearena.server.sandbox.checked import Checked, Kind, Verdict, shown_name
from tracearena.server.sandbox.child_processes import ChildDied, ForkServer, Limits
from tracearena.server.sandbox.child_side import framed, read_framed
from tracearena.server.sandbox.frames import Frame, truth_of, truth_parts
from tracearena.server.sandbox.packing import pack, unpack, unpack_values
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

__all__ = [
    "FORK_SERVER",
    "Checked",
    "ChildDied",
    "Frame",
    "Limits",
    "Verdict",
    "check_upload",
    "run_attacks",
    "score_checked",
]

FORK_SERVER = ForkServer()


def check_upload(
    data: Iterable[bytes] | bytes,
    frame: Frame,
    kind: Kind,
    rules: Rules,
    *,
    file_name: str,
    limits: Limits | None = None,
) -> Checked | Verdict:
    """Check an upload in a child, by the one checker.

    Parameters
    ----------
    data
        The bytes of the file, or pieces of them.
    frame
        What it is held against.
    file_name
        The uploader's, to be shown.
    limits
        Of the child; by default `Limits.of` the rules.

    Raises
    ------
    ChildDied
        If the child does not survive the file. After some tries `Verdict.too_costly` is the answer.
    """
    values, arrays = frame.parts()
    asked = {
        "kind": kind,
        "file_name": shown_name(file_name),
        "max_bytes": rules.largest_file_mb * 2**20,
        "max_listed_ids": rules.largest_listed_ids,
    }
    head = framed(pack(values | {"check": asked}, arrays))
    pieces = [data] if isinstance(data, bytes) else data
    answer = FORK_SERVER.run("check", _chained(head, pieces), limits=limits or Limits.of(rules))
    try:
        said = unpack_values(answer)
        return Verdict.from_dict(said["verdict"]) if "verdict" in said else _of_kind(answer, kind)
    except (DataError, TypeError) as error:
        raise ChildDied("exit", str(error)) from None


def score_checked(
    checked: Checked,
    truth: Traces | IdTable,
    rules: Rules,
    among: Any = None,
    *,
    limits: Limits | None = None,
) -> float:
    """Score a checked upload in a child, by the one scorer.

    Parameters
    ----------
    truth
        The original traces; for an inferred ID table, the ID table.
    among
        Ids of the users who count; by default all.
    """
    values, arrays = truth_parts(truth)
    if among is not None:
        arrays = arrays | {"among": np.asarray(among)}
    request = framed(pack(values | {"rules": rules.to_dict()}, arrays)) + framed(checked.arrays)
    answer = FORK_SERVER.run("score", [request], limits=limits or Limits.of(rules))
    try:
        value = unpack_values(answer).get("value")
    except DataError as error:
        raise ChildDied("exit", str(error)) from None
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ChildDied("exit", f"the score is {value!r}")
    return float(value)


def run_attacks(
    names: Sequence[str],
    reference: Traces,
    released: ObfuscatedTraces,
    *,
    options: Mapping[str, Any],
    seed: Sequence[int],
    limits: Limits | None = None,
) -> list[Traces | IdTable]:
    """Run attacks in a child and return their answers, in the order of the names.

    Parameters
    ----------
    options
        Settings of the attacks.
    seed
        A seed, and the numbers of its child that the attacks draw from.
    """
    request = request_of(reference, released, names=names, options=dict(options), seed=seed)
    # In a server of its own: what attacks load would make every child that checks an upload larger.
    with closing(ForkServer()) as server:
        answer = io.BytesIO(server.run("attack", [request], *names, limits=limits or Limits.of_attacks()))
    try:
        return [truth_of(*unpack(read_framed(answer))) for _ in names]
    except DataError as error:
        raise ChildDied("exit", str(error)) from None


def _of_kind(answer: bytes, kind: Kind) -> Checked:
    checked = Checked.from_bytes(answer)
    if checked.kind != kind:
        raise DataError(f"the child answers {checked.kind}")
    return checked


def _chained(head: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield head
    yield from pieces
