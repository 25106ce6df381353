"""``tracearena applications deanonymise``: whether released trajectories tell who moved."""

from __future__ import annotations

import importlib.util
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, SeedOption, chosen_seed, note, print_result
from tracearena.cli._declaring import reads_traces
from tracearena.cli._gps import EVENTS_ONLY, read_traces
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions
from tracearena.errors import ParameterError


class Method(StrEnum):
    """Who answers."""

    forest = "forest"
    lstm = "lstm"


@reads_traces(without=EVENTS_ONLY)
def deanonymise(
    reading: ReadingOptions,
    released: Annotated[Path, typer.Option("--released", help="Released GPS traces under their true ids.")],
    method: Annotated[
        Method,
        typer.Option("--method", help="forest, or the paper's network lstm (needs tracearena[neural])."),
    ] = Method.forest,
    targets: Annotated[
        int, typer.Option("--targets", min=1, help="Users to tell apart; all others are one class.")
    ] = 10,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn some trajectories of everybody, and ask who moved on the others.

    Beside the share of right answers stand that of always answering the largest class, and the balanced
    accuracy, in which every class counts alike: 1 / classes is what one answer for all gets.
    """
    from tracearena import arena
    from tracearena.attacks import deanonymisation

    if method is Method.lstm and importlib.util.find_spec("torch") is None:
        raise ParameterError("--method lstm needs PyTorch: install tracearena[neural], or take the forest")
    classifier: arena.Classifier = (
        deanonymisation.LstmClassifier() if method is Method.lstm else deanonymisation.WindowForest()
    )
    used = chosen_seed(seed)
    traces = read_traces(reading, released)
    with shown("windows"):
        result = arena.deanonymise(traces, classifier, targets=targets, seed=used)
    note(
        f"{method.value}: {result.accuracy:.1%} of {result.test_windows:,} windows right, always the largest "
        f"class {result.most_frequent:.1%}; balanced {result.balanced_accuracy:.1%}, one answer for all "
        f"{result.balanced_guess:.1%}"
    )
    print_result({"method": method.value} | result.to_dict(), as_json)
