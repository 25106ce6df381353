"""The child that scores the arrays of a checked upload: it gets the truth, and nothing of the file."""

from __future__ import annotations

from typing import IO, Any

from numpy.typing import NDArray

from tracearena.contest.file_scores import reidentification_of, trace_inference_of, utility_of
from tracearena.contest.rules import Rules
from tracearena.server.sandbox.checked import Checked
from tracearena.server.sandbox.child_side import read_framed, run
from tracearena.server.sandbox.frames import Frame
from tracearena.server.sandbox.packing import Arrays, pack, unpack
from tracearena.traces import IdTable


def main() -> None:
    """Score one checked upload."""
    run(_work)


def score(checked: Checked, values: dict[str, Any], arrays: Arrays, rules: Rules) -> float:
    """Return the score by the one scorer, from the truth as `truth_parts` gives it."""
    among: NDArray[Any] | None = arrays.get("among")
    if checked.kind == "inferred-table":
        truth = IdTable(arrays["pseudonyms"], arrays["table"])
        return reidentification_of(truth, checked.inferred_table(truth.pseudonyms), among)
    frame = Frame.from_parts(values, arrays)
    original = frame.filled(arrays["cells"])
    if checked.kind == "obfuscated":
        return utility_of(original, checked.obfuscated(original), rules)
    return trace_inference_of(original, checked.inferred_traces(frame), rules, among)


def _work(request: IO[bytes]) -> bytes:
    values, arrays = unpack(read_framed(request))
    checked = Checked.from_bytes(read_framed(request))
    return pack({"value": score(checked, values, arrays, Rules.from_dict(values["rules"]))})


if __name__ == "__main__":
    main()
