"""How the commands train a synthesizer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.cli._console import note, working
from tracearena.cli._stopping import say_outcome, unhurried

if TYPE_CHECKING:
    from tracearena.algorithms import Synthesizer
    from tracearena.engine import Cluster
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import PartitionedTraces
    from tracearena.traces import Traces


def train(synthesizer: Synthesizer, training: Traces, seed: Any) -> Synthesizer:
    """Train a synthesizer of any class; one from elsewhere is tried on a few users first."""
    from tracearena.algorithms import validation

    validation.try_synthesizer(synthesizer, training)
    with working("training"):
        return validation.fitted(synthesizer, training, seed=seed)


def train_ppmtf(
    training: Traces | PartitionedTraces,
    parameters: dict[str, Any],
    path: Path | None,
    seed: Any,
    *,
    cluster: Cluster | None = None,
    lean: bool = False,
) -> PPMTF:
    """Train PPMTF, go on, or take what is there."""
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf.training import SETTLED_BELOW

    if path is not None and path.is_dir():
        iteration = parameters.get("iterations", 100)
        others = {name: value for name, value in parameters.items() if name != "iterations"}
        return PPMTF.import_parameters(path, training, iteration=iteration, **others)
    model = PPMTF(**parameters)
    with _going_on_from(path), working("training", cluster=cluster):
        known = path is not None and path.exists()
        model.fit(training, seed=None if known else seed, lean=lean, checkpoint=path)
    report = model.convergence()
    if abs(report.drift) >= SETTLED_BELOW:
        note(
            f"the error still changes by {report.drift:+.1%} from one quarter of the iterations to the next: "
            "more iterations would settle it"
        )
    return model


@contextmanager
def _going_on_from(path: Path | None) -> Iterator[None]:
    """Let training that is stopped save its state, and say how to go on."""
    if path is None:
        try:
            yield
        except KeyboardInterrupt:
            note("nothing of the training is kept; with --model FILE it could have been gone on with")
            raise
        return
    with unhurried():
        try:
            yield
        except KeyboardInterrupt:
            if path.exists():
                say_outcome(f"{path}: holds the training so far; the same command goes on from it")
            raise
