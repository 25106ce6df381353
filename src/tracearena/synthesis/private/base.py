"""What private synthesizers share: one release of tables, virtual people under training ids, a model file."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from tracearena.algorithms.base import Given, TrainedSynthesizer
from tracearena.checks import LARGEST_COUNT, require_fitted, require_whole
from tracearena.engine import SeedLike, is_secret, seed_sequence, stream
from tracearena.errors import DataError, FileError, TracearenaError
from tracearena.files.io import read_bytes, replacing
from tracearena.synthesis.private.tables import Budget, Ints, Noise, OpenDPNoise, SeededNoise, release

VERSION = 1


class PrivateModel(TrainedSynthesizer[Given]):
    """A synthesizer that keeps noisy tables of its training data, and nothing else.

    A subclass counts its tables in `fit` and hands them to `_release`.
    """

    file_format: ClassVar[str]
    """How a model file says what it is."""
    budget_: Budget
    noisy_: Mapping[str, Ints]
    seeded_: bool

    @abstractmethod
    def sample_users(self, users: int, traces_per_user: int = 1, *, seed: SeedLike = None) -> Given:
        """Return traces of virtual people, numbered from 1; how many must not depend on the data."""

    @abstractmethod
    def _estimate(self) -> None:
        """Estimate the model from the noisy tables."""

    @abstractmethod
    def _read_tables(self, tables: Mapping[str, Any]) -> dict[str, Ints]:
        """Return the noisy tables of a model file."""

    def _list_public(self) -> dict[str, Any]:
        """Return the public inputs that a model file needs, as plain values."""
        return {}

    def _read_public(self, content: Mapping[str, Any]) -> None:
        """Read what `_list_public` returned."""

    def _release(self, budget: Budget, counted: Mapping[str, Ints], traces: Given, seed: SeedLike) -> Self:
        """Add noise to the counted tables, and estimate the model from what comes out."""
        self.budget_ = budget
        self.seeded_ = not is_secret(seed)
        noise: Noise = SeededNoise(stream(seed_sequence(seed))) if self.seeded_ else OpenDPNoise()
        self.noisy_ = release(budget, counted, noise)
        self.user_ids_ = traces.user_ids
        self._estimate()
        return self

    @property
    def guarantee(self) -> str:
        """The privacy guarantee of a fitted model."""
        require_fitted(self, "noisy_")
        return self.budget_.describe_guarantee(seeded=self.seeded_)

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Given:
        """Return one virtual person under the id of each training user, to be compared with that user.

        The ids and their number are the data's: release what `sample_users` returns instead.
        """
        require_fitted(self, "noisy_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        if not hasattr(self, "user_ids_"):
            raise DataError(
                f"{self}: a model file does not contain its training users; generate virtual users instead"
            )
        made = self.sample_users(max(len(self.user_ids_), 1), traces_per_user, seed=seed)
        return made.take_users(np.arange(len(self.user_ids_))).with_user_ids(self.user_ids_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the noisy tables, the budget and the public inputs, as JSON; nothing else is in the file."""
        require_fitted(self, "noisy_")
        content = {
            "format": self.file_format,
            "version": VERSION,
            "parameters": self.get_params(deep=False),
            "guarantee": self.guarantee,
            "seeded": self.seeded_,
            "budget": self.budget_.to_dict(),
            **self._list_public(),
            "tables": {name: values.tolist() for name, values in self.noisy_.items()},
        }
        with replacing(path) as out:
            out.write(json.dumps(content, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model file, from which virtual people can be drawn."""
        try:
            content = json.loads(read_bytes(path, line_end=None))
            if content["format"] != cls.file_format or content["version"] != VERSION:
                raise DataError(f"it is not a {cls.file_format} of version {VERSION}")
            model = cls(**content["parameters"])
            model._read_public(content)
            model.budget_ = Budget.from_dict(content["budget"])
            model.noisy_ = model._read_tables(content["tables"])
            model.seeded_ = bool(content["seeded"])
            model._estimate()
        except FileError:
            raise
        except (TracearenaError, ValueError, LookupError, TypeError, AttributeError) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise FileError.whole(path, f"is not a model file of {cls.name}: {said}", "bad-model") from None
        return model
