"""Which user stands behind which pseudonym: the secret, or a guess at it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import identifiers
from tracearena.traces.different import different


class IdTable:
    """Pairs of pseudonym and user id, ascending by pseudonym.

    The judge's table is one to one (`is_one_to_one`); an inferred table may name a user twice.

    >>> IdTable([2001, 2002, 2003], [2, 3, 1]).is_one_to_one
    True
    """

    __slots__ = ("pseudonyms", "user_ids")

    pseudonyms: NDArray[Any]
    user_ids: NDArray[Any]

    def __init__(self, pseudonyms: Any, user_ids: Any) -> None:
        self.pseudonyms = identifiers(pseudonyms, "pseudonyms")
        self.user_ids = identifiers(user_ids, "user_ids")
        if len(self.pseudonyms) != len(self.user_ids):
            raise DataError(f"{len(self.pseudonyms)} pseudonyms but {len(self.user_ids)} user ids")
        if len(self.pseudonyms) > 1 and not (self.pseudonyms[:-1] < self.pseudonyms[1:]).all():
            raise DataError("pseudonyms must be ascending and different from each other")

    def __len__(self) -> int:
        return len(self.pseudonyms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdTable):
            return NotImplemented
        return np.array_equal(self.pseudonyms, other.pseudonyms) and np.array_equal(
            self.user_ids, other.user_ids
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<IdTable of {len(self):,} pseudonyms>"

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row a pseudonym: ``pse_id``, ``user_id``.

        The table is secret.

        `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas`` (which is refused:
        there are no points).
        """
        from tracearena.frames import handed_out
        from tracearena.traces.frames import of_id_table

        return handed_out(of_id_table(self), library)

    def _repr_html_(self) -> str:
        from tracearena.showing import view

        html: str = view("id_table_html")(self)
        return html

    @property
    def is_one_to_one(self) -> bool:
        """Whether no user is named twice."""
        return len(different(self.user_ids)) == len(self.user_ids)
