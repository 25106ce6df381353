"""What a deniability test has counted so far, on disk, so that a stopped one can go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import ParameterError
from tracearena.files.io import replacing

_FORMAT = "tracearena-deniability-1"


@dataclass
class DeniabilityCheckpoint:
    """The counts of the verifiers that are finished, in a file that is gone when all are.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    depends_on
        A digest of what the counts depend on: a test goes on with the same alone.
    seed
        The seed, if it is a number: a test that was begun without one goes on with it.

    Attributes
    ----------
    done
        Verifiers that are finished, for each kind of day.
    """

    path: Path | None = None
    depends_on: str = ""
    seed: int | None = None
    done: dict[int, int] = field(default_factory=dict, init=False)
    _counts: dict[int, NDArray[np.int32]] = field(default_factory=dict, init=False, repr=False)

    def begin(self, *, resume: bool) -> None:
        """Go on with what a stopped test has left, or see that there is none."""
        if self.path is None:
            return
        check_deniability_resume(self.path, resume=resume)
        if not resume:
            return
        kept = _read_checkpoint(self.path)
        if kept.get("format") != _FORMAT or kept.get("depends_on") != self.depends_on:
            raise ParameterError(
                f"{self.path}: is of another run: other files, options or seed, or another version; remove "
                "it and begin anew"
            )
        for kind, (done, counts) in enumerate(kept["kinds"]):
            self.done[kind], self._counts[kind] = done, np.array(counts, np.int32)

    def counts(self, kind: int, traces: int) -> NDArray[np.int32]:
        """Return what the finished verifiers make of the traces of a kind of day; the own user counts."""
        return self._counts.get(kind, np.ones(traces, np.int32))

    def save_counts(self, kind: int, done: int, counts: NDArray[np.int32]) -> None:
        """Put on disk what the finished verifiers have counted."""
        self.done[kind], self._counts[kind] = done, counts.copy()
        if self.path is None:
            return
        kinds = [(self.done[one], self._counts[one].tolist()) for one in sorted(self.done)]
        header = {"format": _FORMAT, "depends_on": self.depends_on, "seed": self.seed}
        with replacing(self.path) as file:
            file.write(json.dumps(header | {"kinds": kinds}).encode())

    def finish(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def deniability_checkpoint_path(k_prime: Path) -> Path:
    """Return the name of the file with the counts of a test whose k′ go to a file."""
    return k_prime.with_name(f"{k_prime.name}.unfinished")


def read_deniability_seed(path: Path) -> int | None:
    """Return the seed that a stopped test was begun with, if it had one."""
    seed = _read_checkpoint(path).get("seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def check_deniability_resume(path: Path, *, resume: bool) -> None:
    """Say at once that a stopped test is there, or that none is, before anything is read."""
    if resume and not path.is_file():
        raise ParameterError(f"there is no stopped run to go on with ({path})")
    if not resume and path.exists():
        raise ParameterError(
            f"{path}: is what a stopped run has finished; --resume goes on with it, or remove the file to "
            "begin anew"
        )


def _read_checkpoint(path: Path) -> dict[str, Any]:
    """Return what a file holds; nothing if it is not one of these."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
