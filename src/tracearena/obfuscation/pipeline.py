"""Pipelines: one defence after the other, such as ``PL(1,1)+SwapTimes(1km,month)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import validation
from tracearena.algorithms.base import WORDING, Algorithm, Defence, GpsObfuscator, Kind, Obfuscator, kinds_of
from tracearena.checks import require_kind
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.obfuscation.gps import DIGITS, round_coordinates
from tracearena.traces import GpsTraces, ObfuscatedTraces, PlaceSets, Traces

_ALONE = 1
_KINDS: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator")


@dataclass
class Pipeline(Obfuscator, GpsObfuscator):
    """Apply defences one after the other, each to the release of the previous one.

    In names, stages are joined by ``+``. A pipeline accepts the kinds of traces that all of its stages
    accept, processes a few users at a time if all stages can, and keeps times if all stages do.

    Parameters
    ----------
    stages
        Two defences or more; a pipeline among them is replaced by its stages. A defence of places that is not
        the first needs one place per event, so it cannot follow a defence that deletes events or releases
        sets.

    Examples
    --------
    >>> from tracearena.obfuscation import PlanarLaplace, SwapTimes
    >>> pipeline = Pipeline([PlanarLaplace(l=1, r=1), SwapTimes(cell=1000, period="month")])
    >>> str(pipeline), pipeline.serves, pipeline.by_user, pipeline.keeps_times
    ('PL(1,1)+SwapTimes(1km,month)', ('obfuscator',), False, False)
    """

    name: ClassVar[str] = "Pipeline"
    kind: ClassVar[Kind] = "obfuscator"

    stages: Sequence[Defence[Any, Any]]

    def __post_init__(self) -> None:
        stages: list[Any] = []
        for one in self.stages:
            if not isinstance(one, Defence):
                got = str(one) if isinstance(one, Algorithm) else type(one).__name__
                raise ParameterError(f"a stage of a pipeline is a defence, not {got}")
            stages += one.stages if isinstance(one, Pipeline) else [one]
        if len(stages) < 2:
            raise ParameterError(f"a pipeline has two stages or more, not {len(stages)}")
        served = tuple(kind for kind in _KINDS if all(kind in kinds_of(one) for one in stages))
        if not served:
            sorts = ", ".join(f"{one} is {WORDING[kinds_of(one)[0]].one}" for one in stages)
            raise ParameterError(
                f"the stages of the pipeline do not work on the same kind of traces: {sorts}"
            )
        of_all = {
            "stages": self.stages if self.stages == tuple(stages) else tuple(stages),
            "kind": served[0],
            "serves": served,
            "by_user": all(one.by_user for one in stages),
            "keeps_times": all(one.keeps_times for one in stages),
        }
        for name, value in of_all.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return "+".join(map(str, self.stages))

    @property
    def digits(self) -> int:
        """Decimals of the degrees of GPS points that it releases."""
        return min(getattr(one, "digits", DIGITS) for one in self.stages)

    @overload
    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces: ...
    @overload
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces: ...
    def transform(self, original: Any, *, seed: SeedLike = None) -> Any:
        """Return what the last stage releases; every stage has a seed of its own."""
        allowed = {"obfuscator": Traces, "gps-obfuscator": GpsTraces}
        require_kind(self, original, *(allowed[kind] for kind in self.serves))
        root = seed_sequence(seed)
        if self.by_user:
            return self.transform_part(original, seed=root, first=0, total=len(original))
        released = original
        for number, stage in enumerate(self.stages):
            given = _prepare_stage_input(stage, released)
            released = _run_stage(stage, given, seed=child_seed(root, number))
        return self._round_points(released)

    def transform_part(self, part: Any, *, seed: np.random.SeedSequence, first: int, total: int) -> Any:
        """Return the result of `transform` of all users for some consecutive users."""
        # Stages may leave out rows, and how many of other users' cannot be known here: at every stage the
        # draws of a user go by where the user's rows began among those of all.
        starts = first + part.offsets
        released = part
        for number, stage in enumerate(self.stages):
            given = _prepare_stage_input(stage, released)
            released = _run_stage_by_user(stage, given, starts, seed=child_seed(seed, number), total=total)
        return self._round_points(released)

    def draws(self, part: Any) -> int:
        """Return how many numbered draws some users take: one for each row."""
        return len(part)

    def _round_points(self, released: Any) -> Any:
        # Our own defences round already; a class from elsewhere need not know that it should.
        return round_coordinates(released, self.digits) if isinstance(released, GpsTraces) else released


def place_part(defence: Defence[Any, Any]) -> Defence[Any, Any] | None:
    """Return the stages of a defence that keep times and change places; None if there are none.

    >>> from tracearena.algorithms import create
    >>> str(place_part(create("PL(1,1)+SwapTimes(1km,month)")))
    'PL(1,1)'
    """
    if defence.keeps_times:
        return defence
    left = [one for one in getattr(defence, "stages", ()) if one.keeps_times]
    return Pipeline(left) if len(left) > 1 else left[0] if left else None


def _prepare_stage_input(stage: Defence[Any, Any], released: Any) -> Any:
    """Return what a stage is given: what the one before it released, as traces if it looks at places."""
    return stage.follow(released) if isinstance(released, ObfuscatedTraces) else released


def _run_stage(stage: Any, given: Any, **how: Any) -> Any:
    """Let a stage do its work; `validation` refuses results that do not fit its kind."""
    is_part = "first" in how
    run: Any
    if isinstance(given, GpsTraces):
        run = validation.run_gps_transform_part if is_part else validation.run_gps_transform
    else:
        run = validation.run_transform_part if is_part else validation.run_transform
    return run(stage, given, **how)


def _run_stage_by_user(
    stage: Defence[Any, Any],
    given: Any,
    starts: NDArray[np.int64],
    *,
    seed: np.random.SeedSequence,
    total: int,
) -> Any:
    """Let a stage work on some users; what each draws does not depend on the others.

    Users who still have all their rows are numbered through and are taken together. Each other has a seed
    of its own, by the number of the user's first row.
    """
    counts, before = np.diff(given.offsets), np.diff(starts)
    # A stage that does not draw once a row would number the draws of some users otherwise than those of all.
    alone = counts != before if not stage.counts_draws else np.ones(len(counts), bool)
    cut = np.ones(len(counts) + 1, bool)
    cut[1:-1] = alone[1:] | alone[:-1]
    edges = np.flatnonzero(cut) if len(counts) else np.array([0, 0])
    parts = []
    for begin, end in pairwise(edges.tolist()):
        users, at = given.take_users(slice(begin, end)), int(starts[begin])
        if begin < end and alone[begin]:
            own = {"seed": child_seed(seed, _ALONE, at), "first": 0, "total": stage.draws(users)}
        else:
            own = {"seed": seed, "first": at, "total": total}
        parts.append(_run_stage(stage, users, **own))
    return parts[0] if len(parts) == 1 else _join_users(parts)


def _join_users(parts: list[Any]) -> Any:
    """Return the rows of different users as one table, users in their order."""
    first = parts[0]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    users = {
        "user_ids": np.concatenate([part.user_ids for part in parts]),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]),
    }
    if isinstance(first, GpsTraces):
        shifts = np.cumsum([0, *(part.n_trajectories for part in parts)])
        columns = ("time_ms", "latitude", "longitude", "trajectory_ids")
        return GpsTraces(
            **users,
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns},
            trajectory=np.concatenate(
                [part.trajectory + shift for part, shift in zip(parts, shifts, strict=False)]
            ),
        )
    shifts = np.cumsum([0, *(len(part.sets) for part in parts)])
    ends = np.cumsum([0, *(len(part.sets.members) for part in parts)])
    stamped = first.timestamps is not None
    return ObfuscatedTraces(
        first.places,
        first.clock,
        **users,
        instants=np.concatenate([part.instants for part in parts]),
        codes=np.concatenate(
            [
                np.where(part.is_set, part.codes - shift, part.codes)
                for part, shift in zip(parts, shifts, strict=False)
            ]
        ),
        sets=PlaceSets(
            np.concatenate(
                [*(part.sets.offsets[:-1] + end for part, end in zip(parts, ends, strict=False)), ends[-1:]]
            ),
            np.concatenate([part.sets.members for part in parts]),
        ),
        timestamps=np.concatenate([part.timestamps for part in parts]) if stamped else None,
        span=(min(part.span[0] for part in parts), max(part.span[1] for part in parts)),
    )
