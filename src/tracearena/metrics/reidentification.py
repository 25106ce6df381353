"""The contest's re-identification privacy score s_R."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import IdTable
from tracearena.traces._arrays import comparable


@dataclass(frozen=True)
class ReidentificationScore(Result):
    """Privacy against re-identification: 1 is nobody identified, 0 is everybody."""

    reidentification: float
    identified: int
    pseudonyms: int


def reidentification_score(id_table: IdTable, inferred: IdTable) -> ReidentificationScore:
    """Return s_R = 1 - share of pseudonyms whose user was found ([contest] section 3.4).

    Examples
    --------
    The paper's Figure 6:

    >>> truth = IdTable([2001, 2002, 2003], [2, 3, 1])
    >>> reidentification_score(truth, IdTable([2001, 2002, 2003], [2, 2, 1])).identified
    2
    """
    if not np.array_equal(id_table.pseudonyms, inferred.pseudonyms):
        raise DataError(
            f"the inferred table answers {len(inferred):,} pseudonyms that are not "
            f"the {len(id_table):,} of the ID table"
        )
    if not len(id_table):
        raise DataError("there are no pseudonyms to score")
    true, guessed = comparable(id_table.user_ids, inferred.user_ids)
    identified = int((true == guessed).sum())
    missed = len(id_table) - identified
    return ReidentificationScore(missed / len(id_table), identified, len(id_table))
