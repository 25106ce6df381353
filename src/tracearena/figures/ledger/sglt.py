"""What [sglt] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Between, Cell, Near, Row, Stated, cell

_LAUSANNE = "the 30 people of Lausanne (Nokia collection)"
_TABLE = "figure sglt-published --data ppmtf-tokyo"
_TABLES, _LBS = "figure sglt-tables", "figure sglt-lbs"


_UNIFORM = 0.534933
_PILED = "[pile up at few places](sglt.md#what-a-publisher-keeps)"


def _program(classes: int, column: str = "reidentification_rate", but: str = "") -> Cell:
    where = {"rules": f"program{but}", "classes": str(classes), "par_l": "1"}
    return cell("sglt-published.csv", column, **where)


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
        note="half is our limit, the paper has no number; two others in five remain",
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
        note=f"the most probable ways {_PILED}",
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
        note=f"the most probable ways {_PILED}",
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
        note="an own walk has [two or three places to show](sglt.md#hiding-from-a-service), and the attacker "
        "finds the real one among them every second time",
    ),
    Row(
        "[ppmtf] Figure 7, published table",
        "levels of SGLT with 50 to 200 classes, over par_l: by the program's rules",
        _TABLE,
        (Stated("the program's rules give the published TP-TV"),),
        "40 rows, TP-TV from 0.41 to 0.60",
    ),
    Row(
        "[ppmtf] Figure 7, published table",
        "by the program's rules as many are re-identified, par_l = 1",
        _TABLE,
        tuple(
            Near(f"{classes} classes:", _program(classes), rate, 0.02)
            for classes, rate in ((50, 0.0112), (100, 0.0446), (150, 0.1176), (200, 0.1138))
        ),
        "0.011; 0.045; 0.118; 0.114",
        note="the program's classes hold places of the same person "
        "[far more often than ours](sglt.md#what-is-left-classes); with those of its file it is 0.048 at 100",
    ),
    Row(
        "[ppmtf] Figure 7, published table",
        "at 200 classes and par_l = 1 the population is worse than that of uniform places (TP-TV)",
        _TABLE,
        (
            Between("the program's rules", _program(200, "tp_tv"), least=_UNIFORM),
            Between("with its decoder mended", _program(200, "tp_tv", ", decoder mended"), least=_UNIFORM),
        ),
        "0.602 against 0.535",
        note="it is [a failure of the decoder](sglt.md#the-published-table-under-the-programs-rules) that "
        "makes it worse",
    ),
    Row("all", "the same numbers on the people of the paper", missing=_LAUSANNE),
)
