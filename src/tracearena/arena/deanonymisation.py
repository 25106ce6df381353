"""De-anonymise released trajectories: who of the targets, or somebody else [geo-ind]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.deanonymisation import Windows, cut_windows
from tracearena.checks import require_number, require_whole
from tracearena.engine import SeedLike, seed_sequence, stream
from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import GpsTraces

OTHERS = 0


class Classifier(Protocol):
    """Learns classes of windows."""

    def fit(self, windows: Windows, labels: NDArray[np.int64], classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""

    def predict(self, windows: Windows) -> NDArray[np.int64]:
        """Return a class for each window."""


@dataclass(frozen=True)
class Deanonymisation(Result):
    """How well a classifier tells people apart.

    Attributes
    ----------
    accuracy
        Share of test windows given to the right class.
    most_frequent
        Accuracy of always answering the class that is most frequent in training.
    confusion
        Classes × classes: counts of test windows, true class by answered class; class 0 is
        everybody who is not a target.
    targets
        Ids of the target users, classes 1, 2, …
    train_windows, test_windows
        How many windows were learned from, and how many were asked about.
    """

    accuracy: float
    most_frequent: float
    confusion: NDArray[np.int64]
    targets: NDArray[Any]
    train_windows: int
    test_windows: int

    @property
    def balanced_accuracy(self) -> float:
        """Mean over the classes that were asked about of the share given to them: each counts alike."""
        asked = self.confusion.sum(axis=1)
        return float((np.diag(self.confusion)[asked > 0] / asked[asked > 0]).mean())

    @property
    def balanced_guess(self) -> float:
        """Balanced accuracy of one answer for all."""
        return 1 / int((self.confusion.sum(axis=1) > 0).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "accuracy": self.accuracy,
            "most_frequent": self.most_frequent,
            "balanced_accuracy": self.balanced_accuracy,
            "balanced_guess": self.balanced_guess,
            "confusion": self.confusion.tolist(),
            "targets": self.targets.tolist(),
            "train_windows": self.train_windows,
            "test_windows": self.test_windows,
        }


def deanonymise(
    released: GpsTraces,
    classifier: Classifier,
    *,
    targets: int = 10,
    length: int = 100,
    test_share: float = 0.3,
    seed: SeedLike = None,
) -> Deanonymisation:
    """Train a classifier on some released trajectories of everybody and ask it about the others.

    Parameters
    ----------
    targets
        Number of target users, drawn among those with at least two trajectories; all other users
        are one class.
    length
        Points of a window.
    test_share
        Share of each user's trajectories that are asked about; a trajectory is never in both.

    References
    ----------
    [geo-ind] section 6.
    """
    require_whole("targets", targets, at_least=1)
    require_number("test_share", test_share, above=0, below=1)
    root = seed_sequence(seed)
    windows = cut_windows(released, length)
    able = _users_with_two_trajectories(windows)
    if len(able) < targets:
        raise DataError(f"{targets} targets need as many users with two trajectories; there are {len(able)}")
    chosen = np.sort(stream(root, 0).choice(able, targets, replace=False))
    asked = _asked(windows, test_share, stream(root, 1))
    labels = np.where(np.isin(windows.user, chosen), np.searchsorted(chosen, windows.user) + 1, OTHERS)
    train, test = windows.take(~asked), windows.take(asked)
    classifier.fit(train, labels[~asked], targets + 1, seed=int(stream(root, 2).integers(2**31)))
    truth, answer = labels[asked], classifier.predict(test)
    confusion = np.zeros((targets + 1, targets + 1), np.int64)
    np.add.at(confusion, (truth, answer), 1)
    favourite = int(np.argmax(np.bincount(labels[~asked], minlength=targets + 1)))
    return Deanonymisation(
        accuracy=float((truth == answer).mean()),
        most_frequent=float((truth == favourite).mean()),
        confusion=confusion,
        targets=released.user_ids[chosen],
        train_windows=len(train),
        test_windows=len(test),
    )


def _users_with_two_trajectories(windows: Windows) -> NDArray[np.int64]:
    pairs = np.unique(np.column_stack([windows.user, windows.trajectory]), axis=0)
    users, counts = np.unique(pairs[:, 0], return_counts=True)
    return users[counts >= 2].astype(np.int64)


def _asked(windows: Windows, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the test trajectories, user by user: at least one of two, none of one."""
    test: list[int] = []
    for user in np.unique(windows.user):
        own = rng.permutation(np.unique(windows.trajectory[windows.user == user]))
        if len(own) >= 2:
            test.extend(own[: max(1, round(share * len(own)))].tolist())
    return np.isin(windows.trajectory, test)
