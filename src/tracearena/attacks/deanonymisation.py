"""Classifiers that recognise the user of a window of a GPS trajectory [geo-ind].

They are a random forest on a few features of each window, and a recurrent network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import Floats, Ints
from tracearena.checks import require_fitted, require_whole
from tracearena.engine import report, thread_count
from tracearena.errors import ParameterError
from tracearena.traces import GpsTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.time import solar_seconds


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

    def fit(self, windows: Windows, labels: Ints, classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""
        from sklearn.ensemble import ExtraTreesClassifier

        self.model_ = ExtraTreesClassifier(
            self.trees, min_samples_leaf=2, class_weight="balanced", random_state=seed, n_jobs=thread_count()
        ).fit(_compute_features(windows), labels)

    def predict(self, windows: Windows) -> Ints:
        """Return a class for each window."""
        require_fitted(self, "model_")
        return np.asarray(self.model_.predict(_compute_features(windows)), np.int64)


def _compute_features(windows: Windows) -> Floats:
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


# The recurrent network of [geo-ind] section 6 (extra ``neural``: PyTorch).


@dataclass
class LstmClassifier:
    """Three LSTM layers and one fully connected layer with ReLU, all with dropout 0.1.

    A last linear layer turns the fully connected one into classes; the loss weighs classes by the
    inverse of their frequency.

    Parameters
    ----------
    hidden
        Units of each layer.
    epochs, batch, learning_rate
        Of training by Adam.
    dropout
        Share of units left out in training.

    Notes
    -----
    The paper gives neither the width nor the training; these are ours. Training uses one thread,
    so that runs repeat for one seed and one version of PyTorch.
    """

    hidden: int = 64
    epochs: int = 25
    batch: int = 64
    learning_rate: float = 3e-3
    dropout: float = 0.1
    model_: Any = field(init=False, repr=False, compare=False)
    scale_: Any = field(init=False, repr=False, compare=False)

    def fit(self, windows: Windows, labels: Ints, classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""
        torch = _import_torch()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # steps this small lose by threads, and sums must not depend on them
        try:
            self._train(torch, windows, labels, classes, seed)
        finally:
            torch.set_num_threads(threads)

    def _train(self, torch: Any, windows: Windows, labels: Ints, classes: int, seed: int) -> None:
        mean, spread = windows.values.mean(axis=(0, 1)), windows.values.std(axis=(0, 1)) + 1e-6
        self.scale_ = mean, spread
        counts = np.maximum(np.bincount(labels, minlength=classes), 1)
        weights = torch.tensor(len(labels) / (classes * counts), dtype=torch.float32)
        inputs, wanted = self._to_tensor(windows), torch.from_numpy(labels.astype(np.int64))
        # Dropout and initial weights draw from PyTorch's own state, which is put back afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model_ = self._build_network(torch, inputs.shape[2], classes)
            optimiser = torch.optim.Adam(self.model_.parameters(), lr=self.learning_rate)
            loss = torch.nn.CrossEntropyLoss(weight=weights)
            self.model_.train()
            for epoch in range(self.epochs):
                for chosen in torch.randperm(len(inputs)).split(self.batch):
                    optimiser.zero_grad()
                    loss(self.model_(inputs[chosen]), wanted[chosen]).backward()
                    torch.nn.utils.clip_grad_norm_(self.model_.parameters(), 1.0)
                    optimiser.step()
                report(epoch + 1, self.epochs)

    def predict(self, windows: Windows) -> Ints:
        """Return a class for each window."""
        require_fitted(self, "model_")
        torch = _import_torch()
        self.model_.eval()
        with torch.no_grad():
            answers = [self.model_(part).argmax(dim=1) for part in self._to_tensor(windows).split(1024)]
        return np.asarray(torch.cat(answers).numpy() if answers else np.empty(0), np.int64)

    def _to_tensor(self, windows: Windows) -> Any:
        mean, spread = self.scale_
        return _import_torch().from_numpy(((windows.values - mean) / spread).astype(np.float32))

    def _build_network(self, torch: Any, channels: int, classes: int) -> Any:
        nn = torch.nn
        recurrent = nn.LSTM(channels, self.hidden, num_layers=3, batch_first=True, dropout=self.dropout)
        head = nn.Sequential(
            nn.Dropout(self.dropout),
            nn.Linear(self.hidden, self.hidden),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.hidden, classes),
        )

        class Network(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.recurrent, self.head = recurrent, head

            def forward(self, inputs: Any) -> Any:
                return self.head(self.recurrent(inputs)[0].mean(dim=1))

        return Network()


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ParameterError("the neural attack needs PyTorch: pip install 'tracearena[neural]'") from None
    return torch


# Trajectories cut into windows of equal length.

CHANNELS = ("east_km", "north_km", "log_step_s", "sin_hour", "cos_hour", "weekend")
SHORTEST = 10


@dataclass(frozen=True)
class Windows:
    """Windows of consecutive points of trajectories.

    Attributes
    ----------
    values
        Windows × points × channels (`CHANNELS`); positions are in km from the median point.
    user, trajectory
        User and trajectory of each window.
    """

    values: NDArray[np.float32]
    user: NDArray[np.int32]
    trajectory: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.user)

    def take(self, chosen: NDArray[np.bool_]) -> Windows:
        """Return some of the windows."""
        return Windows(self.values[chosen], self.user[chosen], self.trajectory[chosen])


def cut_windows(traces: GpsTraces, length: int = 100) -> Windows:
    """Cut every trajectory into windows of `length` points.

    The last window of a trajectory repeats its last point; windows of fewer than 10 points are
    left out.
    """
    require_whole("length", length, at_least=SHORTEST)
    order = traces.trajectory_order
    channels = _compute_channels(traces)[order]
    starts, sizes, owner = [], [], []
    for trajectory in range(traces.n_trajectories):
        first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
        begin = np.arange(first, stop, length)
        size = np.minimum(begin + length, stop) - begin
        kept = size >= SHORTEST
        starts.append(begin[kept])
        sizes.append(size[kept])
        owner.append(np.full(int(kept.sum()), trajectory, np.int32))
    begin, size = np.concatenate([*starts, []]).astype(np.int64), np.concatenate([*sizes, []])
    trajectory_of = np.concatenate([*owner, np.empty(0, np.int32)]).astype(np.int32)
    index = begin[:, None] + np.minimum(np.arange(length), size.astype(np.int64)[:, None] - 1)
    return Windows(channels[index], traces.trajectory_user[trajectory_of], trajectory_of)


def _compute_channels(traces: GpsTraces) -> NDArray[np.float32]:
    latitude, longitude = traces.latitude, traces.longitude
    middle = (float(np.median(latitude)), float(np.median(longitude))) if len(traces) else (0.0, 0.0)
    north, east = metres_per_degree(middle[0])
    order = traces.trajectory_order
    step = np.zeros(len(traces))
    same = np.diff(traces.trajectory[order]) == 0
    step[order[1:]] = np.where(same, np.diff(traces.time_ms[order]) / 1000, 0.0)
    local = solar_seconds(traces.time_ms, longitude)
    angle = local % DAY_S * (2 * np.pi / DAY_S)
    weekend = (local // DAY_S + 3) % 7 >= 5
    columns = [
        (longitude - middle[1]) * float(east) / 1000,
        (latitude - middle[0]) * float(north) / 1000,
        np.log1p(np.maximum(step, 0)),
        np.sin(angle),
        np.cos(angle),
        weekend,
    ]
    return np.column_stack(columns).astype(np.float32)
