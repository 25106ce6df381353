"""How the commands train PPMTF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.cli._console import note, progress_bar

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import PartitionedTraces
    from tracearena.traces import Traces


def train_ppmtf(
    training: Traces | PartitionedTraces,
    parameters: dict[str, Any],
    path: Path | None,
    seed: Any,
    *,
    cluster: Cluster | None = None,
    lean: bool = False,
) -> PPMTF:
    """Train, go on, or take what is there."""
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf.convergence import SETTLED_BELOW

    if path is not None and path.is_dir():
        iteration = parameters.get("iterations", 100)
        others = {name: value for name, value in parameters.items() if name != "iterations"}
        return PPMTF.import_parameters(path, training, iteration=iteration, **others)
    with progress_bar("training") as progress:
        known = path is not None and path.exists()
        model = PPMTF(**parameters).fit(
            training,
            seed=None if known else seed,
            cluster=cluster,
            lean=lean,
            progress=progress,
            checkpoint=path,
        )
    report = model.convergence()
    if abs(report.drift) >= SETTLED_BELOW:
        note(
            f"the error still changes by {report.drift:+.1%} from one quarter of the iterations to the next: "
            "more --iterations would settle it"
        )
    return model
