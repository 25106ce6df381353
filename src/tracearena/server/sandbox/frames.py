"""What an upload is held against, without a secret: who there is, when, and where one can be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.errors import DataError, ParameterError
from tracearena.server.sandbox.packing import Arrays, pack, unpack
from tracearena.traces import Clock, Grid, IdTable, Places, Traces
from tracearena.traces._arrays import identifiers
from tracearena.traces.row_table import EventTable

_MOST_INSTANTS = 1_000_000
_MOST_CELLS = 2**30
_OF_PLACES = ("latitude", "longitude", "ids", "sensitive", "categories")


@dataclass(frozen=True)
class Frame:
    """Users and instants of traces without gaps, and the places; where everybody was is not in it.

    Attributes
    ----------
    users
        Ids of the users, ascending, as the rows of original traces are.
    first_instant, n_instants
        The instants of every user.
    pseudonyms
        What an inferred ID table must answer, ascending; None where nothing is released yet.
    """

    places: Places
    clock: Clock
    users: NDArray[Any]
    first_instant: int
    n_instants: int
    pseudonyms: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        require_whole("first_instant", self.first_instant, at_least=0, at_most=_MOST_INSTANTS)
        require_whole("n_instants", self.n_instants, at_least=1, at_most=_MOST_INSTANTS)
        object.__setattr__(self, "users", identifiers(self.users, "users"))
        if self.pseudonyms is not None:
            object.__setattr__(self, "pseudonyms", identifiers(self.pseudonyms, "pseudonyms"))
        if len(self.users) * self.n_instants > _MOST_CELLS:
            raise DataError(f"a frame of {len(self.users)} users × {self.n_instants} instants is too large")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, traces: EventTable, *, users: Any = None, pseudonyms: Any = None) -> Self:
        """Return the frame of traces.

        Parameters
        ----------
        users
            Whom an answer may name, where the traces are those of pseudonyms; by default their users.
        pseudonyms
            What an inferred ID table must answer.
        """
        named = traces.user_ids if users is None else users
        first, stop = traces.span
        return cls(traces.places, traces.clock, named, first, stop - first, pseudonyms)

    def traces(self) -> Traces:
        """Return traces of the users, in which everybody is at the first place all the time."""
        return self.filled(np.zeros(len(self.users) * self.n_instants, np.int32))

    def filled(self, cells: NDArray[np.int32]) -> Traces:
        """Return the traces whose places these are, user by user, -1 where there is no event."""
        dense = cells.reshape(len(self.users), self.n_instants)
        return Traces.from_dense(
            dense, self.places, self.clock, user_ids=self.users, first_instant=self.first_instant
        )

    def to_bytes(self) -> bytes:
        """Return the frame as bytes."""
        return pack(*self.parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the frame that `to_bytes` wrote, or raise `DataError`."""
        return cls.from_parts(*unpack(data))

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the frame as plain values and arrays, to be packed with others."""
        places, grid = self.places, self.places.grid
        clock = dataclasses.asdict(self.clock)
        clock["first_day"] = None if self.clock.first_day is None else self.clock.first_day.isoformat()
        values = {
            "clock": clock,
            "grid": None if grid is None else dataclasses.asdict(grid),
            "km_per_degree": places.km_per_degree,
            "first_instant": self.first_instant,
            "n_instants": self.n_instants,
        }
        arrays = {name: getattr(places, name) for name in _OF_PLACES} | {"users": self.users}
        arrays["pseudonyms"] = self.pseudonyms
        return values, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_parts(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the frame whose `parts` these are; others among them do not matter."""
        try:
            first_day = values["clock"]["first_day"]
            day = None if first_day is None else date.fromisoformat(first_day)
            clock = Clock(**{**values["clock"], "first_day": day})
            grid = None if values["grid"] is None else Grid(**values["grid"])
            named = {name: arrays.get(name) for name in _OF_PLACES[2:]}
            places = Places(
                arrays["latitude"],
                arrays["longitude"],
                **named,
                grid=grid,
                km_per_degree=values["km_per_degree"],
            )
            first, number = values["first_instant"], values["n_instants"]
            return cls(places, clock, arrays["users"], first, number, arrays.get("pseudonyms"))
        except (KeyError, TypeError, ValueError, IndexError, ParameterError) as error:
            raise DataError(f"this is no frame: {error}") from None


def truth_parts(truth: Traces | IdTable) -> tuple[dict[str, Any], Arrays]:
    """Return what a score is computed from, as plain values and arrays."""
    if isinstance(truth, IdTable):
        return {}, {"pseudonyms": truth.pseudonyms, "table": truth.user_ids}
    values, arrays = Frame.of(truth).parts()
    return values, arrays | {"cells": truth.dense().ravel()}


def truth_of(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Traces | IdTable:
    """Return the traces or the ID table whose `truth_parts` these are."""
    if "table" in arrays:
        return IdTable(arrays["pseudonyms"], arrays["table"])
    return Frame.from_parts(values, arrays).filled(arrays["cells"])
