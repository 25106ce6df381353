"""What [sglt] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Between, Cell, Near, Row, Stated, cell

_LAUSANNE = "the 30 people of Lausanne (Nokia collection)"
_TABLE = "figure sglt-published --data ppmtf-tokyo"
_TABLES, _LBS = "figure sglt-tables", "figure sglt-lbs"


def _divergence(table: str, row: str = "fakes") -> Cell:
    return cell("sglt-tables.csv", "mean", table=table, row=row)


def _hidden(method: str, column: str = "privacy") -> Cell:
    return cell("sglt-lbs.csv", column, method=method, fakes="10", attacker="population")


ROWS: tuple[Row, ...] = (
    Row(
        "similarity of real people",
        "people visit different places in the same way",
        "figure sglt-similarity",
        (Stated("people visit different places"),),
        "histograms: near 0 in place, high in kind",
    ),
    Row(
        "differential similarity",
        "it is not difficult to find other people who could be the seed of a fake",
        "figure sglt-similarity",
        (Stated("every second person could be the seed"),),
        "a histogram",
    ),
    Row(
        "map of classes",
        "places of one class lie in different parts of the city",
        "figure sglt-classes",
        (Stated("places that mean the same"),),
        "a map",
    ),
    Row(
        "tables of divergences",
        "fakes keep visits and people's time better than the baselines",
        _TABLES,
        (Stated("fakes keep visits and people's time"),),
        "all five tables",
    ),
    Row(
        "table of visits",
        "KL divergence of visits",
        _TABLES,
        (Near("fakes", _divergence("visits"), 0.3841, 0.1),),
        "0.384 ± 0.043, of Lausanne",
    ),
    Row(
        "table of visits, 50 most popular",
        "among the most popular places fakes are almost as near as a testing day",
        _TABLES,
        (Near("fakes", _divergence("visits, top 50"), 0.0289, 0.03),),
        "0.029 ± 0.009, of Lausanne",
    ),
    Row(
        "Q-Q plot",
        "two fakes are as alike as two people: the quantiles lie on a line",
        "figure sglt-qq",
        (Stated("two fakes are as alike as two people"),),
        "strongly linearly related",
    ),
    Row(
        "privacy against overhead",
        "fakes that mean something hide a person better than all others",
        _LBS,
        (Stated("fakes that mean something hide a person better"),),
        "close to the maximum",
    ),
    Row(
        "privacy against overhead",
        "and need fewer places and classes than random ones",
        _LBS,
        (
            Between("places", _hidden("sglt", "distinct_places"), most=_hidden("uniform", "distinct_places")),
            Between(
                "classes", _hidden("sglt", "distinct_classes"), most=_hidden("uniform", "distinct_classes")
            ),
        ),
        "lower overhead in both",
    ),
    Row(
        "privacy against overhead",
        "a walk on the user's own profile comes close to them",
        _LBS,
        (Stated("a walk by one's own profile"),),
        "close to SGLT's",
    ),
    Row(
        "[ppmtf] Figure 7, published table",
        "levels of SGLT with 50 to 200 classes, over par_l: by the program's rules",
        _TABLE,
        (Stated("the program's rules give the published TP-TV"),),
        "40 rows, TP-TV from 0.41 to 0.60",
    ),
    Row("all", "the same numbers on the people of the paper", missing=_LAUSANNE),
)
