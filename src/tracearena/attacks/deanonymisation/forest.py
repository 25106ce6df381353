"""The strong non-neural baseline: a forest over a handful of numbers for each window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.deanonymisation.windows import Windows
from tracearena.checks import require_fitted
from tracearena.engine import thread_count


@dataclass
class WindowForest:
    """Extremely randomised trees on where, when and how fast a window is.

    For each window: median position (robust against the noise), its spread, positions of the two
    halves' means, distance between them, time between points, hour and weekend. Classes weigh
    the same whatever their number of windows.

    Parameters
    ----------
    trees
        Number of trees.
    """

    trees: int = 400
    model_: Any = field(init=False, repr=False, compare=False)

    def fit(self, windows: Windows, labels: NDArray[np.int64], classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""
        from sklearn.ensemble import ExtraTreesClassifier

        self.model_ = ExtraTreesClassifier(
            self.trees,
            min_samples_leaf=2,
            class_weight="balanced",
            random_state=seed,
            n_jobs=thread_count(),
        ).fit(_features(windows), labels)

    def predict(self, windows: Windows) -> NDArray[np.int64]:
        """Return a class for each window."""
        require_fitted(self, "model_")
        return np.asarray(self.model_.predict(_features(windows)), np.int64)


def _features(windows: Windows) -> NDArray[np.float64]:
    values = windows.values.astype(np.float64)
    half = values.shape[1] // 2
    position = values[:, :, :2]
    before, after = position[:, :half].mean(axis=1), position[:, half:].mean(axis=1)
    middle = np.median(position, axis=1)
    return np.column_stack(
        [
            middle,
            middle.sum(axis=1),
            middle[:, 0] - middle[:, 1],
            position.std(axis=1),
            before,
            after,
            np.linalg.norm(after - before, axis=1),
            values[:, :, 2:].mean(axis=1),
            np.median(values[:, :, 2], axis=1),
        ]
    )
