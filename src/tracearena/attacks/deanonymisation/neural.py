"""The recurrent network of [geo-ind] section 6 (extra ``neural``: PyTorch)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.deanonymisation.windows import Windows
from tracearena.checks import require_fitted
from tracearena.engine import report
from tracearena.errors import ParameterError


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

    def fit(self, windows: Windows, labels: NDArray[np.int64], classes: int, *, seed: int) -> None:
        """Learn from windows and their classes."""
        torch = _torch()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # steps this small lose by threads, and sums must not depend on them
        try:
            self._train(torch, windows, labels, classes, seed)
        finally:
            torch.set_num_threads(threads)

    def _train(
        self, torch: Any, windows: Windows, labels: NDArray[np.int64], classes: int, seed: int
    ) -> None:
        mean, spread = windows.values.mean(axis=(0, 1)), windows.values.std(axis=(0, 1)) + 1e-6
        self.scale_ = mean, spread
        counts = np.maximum(np.bincount(labels, minlength=classes), 1)
        weights = torch.tensor(len(labels) / (classes * counts), dtype=torch.float32)
        inputs, wanted = self._tensor(windows), torch.from_numpy(labels.astype(np.int64))
        # Dropout and initial weights draw from PyTorch's own state, which is put back afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.model_ = self._network(torch, inputs.shape[2], classes)
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

    def predict(self, windows: Windows) -> NDArray[np.int64]:
        """Return a class for each window."""
        require_fitted(self, "model_")
        torch = _torch()
        self.model_.eval()
        with torch.no_grad():
            answers = [self.model_(part).argmax(dim=1) for part in self._tensor(windows).split(1024)]
        return np.asarray(torch.cat(answers).numpy() if answers else np.empty(0), np.int64)

    def _tensor(self, windows: Windows) -> Any:
        mean, spread = self.scale_
        return _torch().from_numpy(((windows.values - mean) / spread).astype(np.float32))

    def _network(self, torch: Any, channels: int, classes: int) -> Any:
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


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ParameterError("the neural attack needs PyTorch: pip install 'tracearena[neural]'") from None
    return torch
