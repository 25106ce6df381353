"""What [ppmtf] and [sglt] claim, row by row."""

from __future__ import annotations

from functools import partial

from tracearena.papers.published_claims import (
    FOURSQUARE,
    ClaimRow,
    JsonNumber,
    NearCheck,
    NumberGap,
    NumberRatio,
    RangeCheck,
    RoundedCheck,
    StatementCheck,
    TableNumber,
    table_number,
)

# What [ppmtf] says.
_PPMTF_7, _PPMTF_9 = (f"figure ppmtf-{number} --data ppmtf-tokyo" for number in (7, 9))
_PPMTF_10, _PPMTF_13 = "figure ppmtf-10", "figure ppmtf-13"
_EVALUATE = (
    "evaluate --format ppmtf --places ppmtf-tokyo/POI_TK.csv --train ppmtf-tokyo/traintraces_TK.csv "
    "--test ppmtf-tokyo/testtraces_TK.csv --synthetic ppmtf-tokyo/syntraces_ppmtf_Itr100.csv.gz "
    "--legacy-ppmtf"
)
_CHAINS = "figure ppmtf-chains --data ppmtf-tokyo"
_PARAMETERS = "figure ppmtf-parameters --data ppmtf-tokyo"
_TUNE = (
    "tune ppmtf-tokyo/traintraces_TK.csv 'PPMTF(16,1)' 'PPMTF(16,20)' 'PPMTF(16,200)' 'PPMTF(16,1000)' "
    "'PPMTF(8,200)' 'PPMTF(32,200)' --places ppmtf-tokyo/POI_TK.csv --folds 3 --traces-per-user 3 --seed 1"
)


_LOWEST_BIN = str(1 / 24)
_CATEGORIES = {
    "parks": "parks_outdoors/Park",
    "bars": "nightlife/Bar",
    "offices": "building/Office",
    "universities": "education/University",
}
"""Categories of Figure 11 → their names in the simulated city."""
_SMALL_SPEC = "PPMTF(16,200,kept_transitions=1,kept_visits=1,largest_transition=1,largest_visit=1)"
_SMALL_COUNTS = (
    f"tune ppmtf-tokyo/traintraces_TK.csv 'PPMTF(16,200)' '{_SMALL_SPEC}' --places ppmtf-tokyo/POI_TK.csv "
    "--folds 2 --traces-per-user 3 --seed 1"
)


def _figure_7(column: str, series: str, setting: str = "") -> TableNumber:
    return table_number("ppmtf-7.csv", column, series=series, setting=setting)


def _validation(name: str) -> JsonNumber:
    return JsonNumber(f"tried.name={name}.mean.tp_tv")


def _figure_10(column: str, method: str) -> TableNumber:
    return table_number("ppmtf-10.csv", column, method=method)


def _pass_rate(k: int) -> TableNumber:
    return table_number("ppmtf-14.csv", "pass_rate", zeros="sampled", users="2000", k=str(k))


def _finding(statement: str) -> JsonNumber:
    """Return the place of the number behind a finding of a figure."""
    return JsonNumber(f"findings.statement={statement}.number")


def _check_rate(label: str, at: TableNumber, published: float, runs: int = 2) -> NearCheck:
    """Ask for a share of 5,000 traces within three standard errors of one run, or of two runs' difference."""
    return NearCheck(label, at, published, 3 * (runs * published * (1 - published) / 5_000) ** 0.5)


def _growth(series: str) -> NumberRatio:
    seconds = partial(table_number, "ppmtf-9.csv", "seconds", series=series, varied="places")
    return NumberRatio(seconds(places="1000"), seconds(places="100"))


def _parameters(released: str) -> TableNumber:
    return table_number("ppmtf-parameters.csv", "reidentification_rate", alpha="200.0", released=released)


def _alpha_200(column: str) -> TableNumber:
    return _figure_7(column, "PPMTF", "α=200")


_row_of_figure_7 = partial(ClaimRow, "Figure 7", command=_PPMTF_7)
_row_of_figure_10 = partial(ClaimRow, "Figure 10, right", command=_PPMTF_10)
_row_of_factors = partial(ClaimRow, "section 3.1", command="figure ppmtf-factors --data ppmtf-tokyo")
_row_of_figure_9 = partial(ClaimRow, "Figure 9", command=_PPMTF_9)
_row_of_knowledge = partial(ClaimRow, "section 4.3", command="figure ppmtf-knowledge --data pwscup2019-osaka")
_RISE = {50: 27.25, 100: 15.57, 150: 7.224, 200: 7.787}
"""Classes → how many times more are re-identified in the published table at par_l = 0 than at par_l = 1."""
PPMTF_CLAIMS: tuple[ClaimRow, ...] = (
    _row_of_factors(
        "sharing the factors of users and places between the tensors improves utility: where people are",
        checks=(StatementCheck("sharing factors between the tensors makes traces more useful (TP-TV)"),),
        published="stated without a number",
        note="the reason is [not known](ppmtf.md#factors-shared-or-apart)",
    ),
    _row_of_factors(
        "the same: where they go next",
        checks=(StatementCheck("sharing factors between the tensors makes traces more useful (TM-EMD"),),
        published="stated without a number",
        note="[factors apart](ppmtf.md#factors-shared-or-apart) keep moves better, at equal privacy",
    ),
    ClaimRow(
        "section 3.1",
        "the same, especially where a tensor is sparse: how often people come back, on check-ins",
        _PPMTF_10,
        (
            RangeCheck(
                "VF-TV shared", _figure_10("vf_tv", "PPMTF"), most=_figure_10("vf_tv", "PPMTF, factors apart")
            ),
        ),
        "stated without a number",
    ),
    ClaimRow(
        "Figure 7, section 4.4",
        "where people are is kept almost as by the training data, with less than 0.02 re-identified and a "
        "membership advantage below 0.055",
        _PPMTF_7,
        (StatementCheck("PPMTF comes near the training data"),),
        "TP-TV 0.43 against 0.39",
    ),
    ClaimRow(
        "Figure 7, α = 200",
        "levels of PPMTF",
        _PPMTF_7,
        (
            NearCheck("TP-TV", _alpha_200("tp_tv"), 0.4274, 0.015),
            NearCheck("Top50", _alpha_200("tp_tv_top50"), 0.1286, 0.006),
            NearCheck("TM-EMD-X", _alpha_200("tm_emd_x"), 1.8325, 0.3),
            NearCheck("TM-EMD-Y", _alpha_200("tm_emd_y"), 1.8326, 0.3),
            _check_rate("re-identified", _alpha_200("reidentification_rate"), 0.016),
            RangeCheck("advantage", _alpha_200("membership_advantage"), most=0.055),
        ),
        "0.427; 0.129; 1.83; 1.83; 0.016; below 0.055; the limits are three times the spread over seeds, "
        "0.005, 0.002 and 0.1, or three standard errors",
    ),
    ClaimRow(
        "Figure 7, α = 200",
        "the published row, from the published synthetic traces",
        _EVALUATE,
        (
            RoundedCheck("TP-TV", JsonNumber("tp_tv"), "0.427360"),
            RoundedCheck("TM-EMD-X", JsonNumber("tm_emd_x"), "1.832517"),
            RoundedCheck("TM-EMD-Y", JsonNumber("tm_emd_y"), "1.832609"),
            RoundedCheck("re-identified", JsonNumber("reidentification_rate"), "0.016000"),
            RoundedCheck("advantage", JsonNumber("membership_advantage"), "0.023000"),
        ),
        "0.427360; 1.832517; 1.832609; 0.016; 0.023",
        note="to the last published digit",
    ),
    _row_of_figure_7(
        "training data and uniform places",
        checks=(
            RoundedCheck("training TP-TV", _figure_7("tp_tv", "training"), "0.385533"),
            RoundedCheck("TM-EMD-X", _figure_7("tm_emd_x", "training"), "0.626699"),
            RoundedCheck("uniform TP-TV", _figure_7("tp_tv", "uniform"), "0.534933"),
            RoundedCheck("TM-EMD-X", _figure_7("tm_emd_x", "uniform"), "6.255796"),
        ),
        published="0.386; 0.627; 0.535; 6.26",
    ),
    _row_of_figure_7(
        "moves are kept much better than by uniform places",
        checks=(StatementCheck("PPMTF keeps people's moves better than uniform places"),),
        published="TM-EMD 1.65 to 2.39 against 6.26",
    ),
    _row_of_figure_7(
        "moves are kept worse than by SGD and SGLT",
        checks=(
            RangeCheck("TM-EMD-X", _alpha_200("tm_emd_x"), least=_figure_7("tm_emd_x", "SGD", "ξ=0")),
            RangeCheck("", _alpha_200("tm_emd_x"), least=_figure_7("tm_emd_x", "SGLT, c=100", "par_l=1")),
        ),
        published="1.83 against 0.66 and 1.02",
    ),
    _row_of_figure_7(
        "with more copied events SGD is more useful and privacy gets rapidly worse",
        checks=(
            _check_rate("re-identified, ξ = 0", _figure_7("reidentification_rate", "SGD", "ξ=0"), 0.0010),
            _check_rate("ξ = 5", _figure_7("reidentification_rate", "SGD", "ξ=5"), 0.1536),
            NearCheck("TP-TV, ξ = 0", _figure_7("tp_tv", "SGD", "ξ=0"), 0.457, 3 * 2**0.5 * 0.0017),
            NearCheck("ξ = 5", _figure_7("tp_tv", "SGD", "ξ=5"), 0.433, 3 * 2**0.5 * 0.0010),
        ),
        published="0.001; 0.154; 0.457; 0.433; the limits are three standard errors of both runs, of TP-TV "
        "from the spread over eight seeds, 0.0017 and 0.0010",
    ),
    ClaimRow(
        "section 4.4",
        "SGD with ξ = 0 always passes the test of deniability: its traces do not depend on the input user, "
        "and re-identification is a guess",
        _PPMTF_7,
        (_check_rate("re-identified", _figure_7("reidentification_rate", "SGD", "ξ=0"), 1 / 500, runs=1),),
        "stated without a number; a guess among 500 users has 0.002, the limits are three standard errors",
    ),
    _row_of_figure_7(
        "with fewer dropped places SGLT is more useful",
        checks=tuple(
            RangeCheck(
                f"TP-TV, c = {classes}, par_l = 0:",
                _figure_7("tp_tv", f"SGLT, c={classes}", "par_l=0"),
                most=_figure_7("tp_tv", f"SGLT, c={classes}", "par_l=1"),
            )
            for classes in _RISE
        ),
        published="0.513; 0.440; 0.424; 0.414, and 0.543; 0.493; 0.525; 0.602 at par_l = 1",
    ),
    _row_of_figure_7(
        "with fewer dropped places SGLT's privacy gets rapidly worse: re-identified at par_l = 0, divided by "
        "re-identified at par_l = 1",
        checks=tuple(
            RangeCheck(
                f"c = {classes}:",
                NumberRatio(
                    _figure_7("reidentification_rate", f"SGLT, c={classes}", "par_l=0"),
                    _figure_7("reidentification_rate", f"SGLT, c={classes}", "par_l=1"),
                ),
                least=times,
            )
            for classes, times in _RISE.items()
        ),
        published="27.25; 15.57; 7.224; 7.787 times, from 0.011; 0.045; 0.118; 0.114",
    ),
    ClaimRow(
        "Figure 8",
        "synthetic traces of a cluster are where its people are",
        "figure ppmtf-8 --data ppmtf-tokyo",
        (StatementCheck("synthetic people of a cluster"),),
        "maps",
    ),
    _row_of_figure_9(
        "PPMTF's time is linear in the users",
        checks=tuple(
            RangeCheck(f"twice the users take {part}, times", JsonNumber(f"findings.{number}.number"), most=2)
            for number, part in enumerate(("training", "synthesis"))
        ),
        published="synthesis 0.23 s and 2.1 s for 100 and 1,000 users; linear is at most 2 times",
    ),
    _row_of_figure_9(
        "SGLT takes far longer: 47 hours of training for 1,000 users",
        checks=(
            RangeCheck(
                "seconds, 1,000 users",
                table_number("ppmtf-9.csv", "seconds", series="SGLT training", users="1000"),
                least=table_number("ppmtf-9.csv", "seconds", series="PPMTF training", users="1000"),
            ),
        ),
        published="169,200 s",
        note="the best mapping of two users is a sort, so that clustering is no longer the slow part",
    ),
    _row_of_figure_9(
        "time grows with the square of the places for PPMTF, and with their cube for SGLT: for 1,000 against "
        "100 places 100 and 1,000 times the seconds",
        checks=(
            RangeCheck("PPMTF synthesis, times", _growth("PPMTF synthesis"), least=10**2),
            RangeCheck("SGLT training, times", _growth("SGLT training"), least=10**3),
        ),
        published="103 and 1,037 times",
        note="both grow more slowly here",
    ),
    _row_of_figure_10(
        "people come back to their places as real ones do; SGD's do not (VF-TV)",
        checks=(StatementCheck("PPMTF keeps how often people come back better than SGD (VF-TV)"),),
        published="New York 0.444 against 0.704, Istanbul 0.160 against 0.476",
        note="of 2,000 people too few traces pass the test",
    ),
    ClaimRow(
        "Figure 10, left",
        "the test with k = 10 hardly costs utility",
        _PPMTF_10,
        (
            RangeCheck("TP-TV without the test", _figure_10("tp_tv", "PPMTF")),
            RangeCheck(
                "more with k = 10 by",
                NumberGap(_figure_10("tp_tv", "PPMTF, k = 10"), _figure_10("tp_tv", "PPMTF")),
                most=0.01,
            ),
        ),
        "differences of 0.01 in Istanbul, with 219,793 users",
        note="310 traces pass here, and so few fill no distribution",
    ),
    _row_of_figure_10(
        "the same without the test",
        checks=(RangeCheck("VF-TV", _figure_10("vf_tv", "PPMTF"), most=_figure_10("vf_tv", "SGD")),),
        published="New York: SGD 0.704",
    ),
    _row_of_figure_10(
        "moves are kept better than by SGD, where transitions are few",
        checks=(RangeCheck("TM-EMD-Y", _figure_10("tm_emd_y", "PPMTF"), most=_figure_10("tm_emd_y", "SGD")),),
        published="New York 0.66 against 1.67",
    ),
    _row_of_figure_10(
        "where people are is kept about as by SGD",
        checks=(
            RangeCheck("TP-TV", _figure_10("tp_tv", "PPMTF")),
            RangeCheck(
                "more than SGD by",
                NumberGap(_figure_10("tp_tv", "PPMTF"), _figure_10("tp_tv", "SGD")),
                most=0.083,
            ),
        ),
        published="New York 0.488 against 0.486, Istanbul 0.375 against 0.292",
    ),
    ClaimRow("Figure 10", "the same in Istanbul, New York, Tokyo and three more cities", missing=FOURSQUARE),
    ClaimRow(
        "Figure 11",
        "the distribution of visit fractions is similar to that of the testing traces, and SGD's is at 1/24 "
        "(all zeros)",
        "figure ppmtf-11 --zeros all",
        (
            StatementCheck("PPMTF's people come back"),
            *(
                RangeCheck(
                    f"SGD's at {category}, below 1/24",
                    table_number("ppmtf-11.csv", "share", category=name, method="SGD", up_to=_LOWEST_BIN),
                    least=table_number(
                        "ppmtf-11.csv", "share", category=name, method="testing", up_to=_LOWEST_BIN
                    ),
                )
                for category, name in _CATEGORIES.items()
            ),
        ),
        "30 to 35 % below 1/24 at parks and bars, 20 % at offices and universities",
    ),
    ClaimRow("Figure 11", "the shares of New York", missing=FOURSQUARE),
    ClaimRow(
        "Figure 12",
        "synthetic traces keep what is special about a cluster of check-in users (all zeros)",
        "figure ppmtf-12 --zeros all",
        (StatementCheck("deniable synthetic traces keep"),),
        "maps",
    ),
    ClaimRow(
        "Figure 12",
        "clusters of Istanbul like certain kinds of places, at hours of their own",
        missing=FOURSQUARE,
    ),
    ClaimRow(
        "Figure 13",
        "training and synthesis are linear in the users, SGD takes no time to speak of",
        _PPMTF_13,
        (
            *(
                RangeCheck(
                    f"twice the users take {part}, times", JsonNumber(f"findings.{number}.number"), most=2
                )
                for number, part in enumerate(("training", "synthesis"))
            ),
            RangeCheck(
                "seconds of SGD, 8,000 users",
                table_number("ppmtf-13.csv", "seconds", series="SGD (T)", users="8000"),
                most=table_number("ppmtf-13.csv", "seconds", series="PPMTF (T)", users="8000"),
            ),
        ),
        "a picture; linear is at most 2 times",
    ),
    ClaimRow(
        "Figure 14, appendix E",
        "the pass rate falls with k",
        "figure ppmtf-14",
        (StatementCheck("the more others a trace must be plausible for", tested=False),),
        "a picture",
        note="it cannot fail: who passes with k passes with every smaller k",
    ),
    ClaimRow(
        "Figure 14, appendix E",
        "pass rates at k = 10 and k = 200",
        "figure ppmtf-14",
        (
            RoundedCheck("k = 10:", _pass_rate(10), "0.7"),
            RangeCheck("k = 200:", _pass_rate(200), least=0.179, most=0.269),
        ),
        "about 0.7 at k = 10; 0.179 in Istanbul and 0.269 in New York at k = 200; 32,000 users verify",
        note="2,000 people verify here",
    ),
    ClaimRow("Figure 14", "pass rates of six cities", missing=FOURSQUARE),
    ClaimRow(
        "Figure 15, appendix F",
        "parameters are useful only with an ε above 20,000",
        "figure ppmtf-15",
        (StatementCheck("parameters are useful only where"),),
        "α ≥ 0.4; useful is nearer to the best setting than to the worst",
    ),
    ClaimRow(
        "section 4.4",
        "α = 200 provides almost the best utility (cross-validated here, over α and z)",
        _TUNE,
        (
            RangeCheck("TP-TV of α = 200, z = 16:", _validation("PPMTF(16,200)")),
            RangeCheck(
                "above the best of six settings by",
                NumberGap(_validation("PPMTF(16,200)"), JsonNumber("tried.0.mean.tp_tv")),
                most=0.005,
            ),
        ),
        "stated without a number; the limit is the spread over seeds, 0.005",
    ),
    ClaimRow(
        "section 3.2",
        "λ = r_max = 1 for both tensors loses much utility (cross-validated here)",
        _SMALL_COUNTS,
        (
            RangeCheck("TP-TV", _validation(_SMALL_SPEC), least=_validation("PPMTF(16,200)")),
            RangeCheck(
                "TM-EMD-X",
                JsonNumber(f"tried.name={_SMALL_SPEC}.mean.tm_emd_x"),
                least=JsonNumber("tried.name=PPMTF(16,200).mean.tm_emd_x"),
            ),
        ),
        "a significant loss, without a number",
    ),
    ClaimRow(
        "section 3.3",
        "with 32 factors instead of 16 the utility does not change much (cross-validated here)",
        _TUNE,
        (
            RangeCheck("TP-TV of 16:", _validation("PPMTF(16,200)")),
            RangeCheck("of 32:", _validation("PPMTF(32,200)")),
            RangeCheck("TM-EMD-X of 16:", JsonNumber("tried.name=PPMTF(16,200).mean.tm_emd_x")),
            RangeCheck("of 32:", JsonNumber("tried.name=PPMTF(32,200).mean.tm_emd_x")),
        ),
        "stated without a number",
    ),
    ClaimRow(
        "section 3.3",
        "the state after 100 iterations is the model: chains from different starts say the same",
        _CHAINS,
        tuple(
            RangeCheck(
                f"median R̂, {words}",
                table_number("ppmtf-chains.csv", "r_hat_median", kind=kind, iterations="100"),
            )
            for kind, words in (("population", "populations"), ("visit", "visits of a user"))
        ),
        "not tried in the paper; chains that agree have 1",
        note="the error settles, [the chains do not mix](ppmtf.md#do-chains-agree)",
    ),
    ClaimRow(
        "section 3.5",
        "it is hard to infer training traces from (B, C, D)",
        _PARAMETERS,
        (StatementCheck("profiles of places and of time"),),
        "assumed; how much it protects is left for future work",
        note="membership shows in [(B, C, D)](ppmtf.md#what-the-parameters-betray)",
    ),
    ClaimRow(
        "section 5",
        "A, the profiles of users, must be kept secret",
        _PARAMETERS,
        (
            RangeCheck(
                "rows of A whose user is found, α = 200",
                _parameters("(A, B, C, D)"),
                least=_parameters("synthetic traces"),
            ),
        ),
        "ε of the parameters is no protection; the limit is what synthetic traces betray",
    ),
    _row_of_knowledge(
        "an attacker who knows the training traces is the worst case",
        checks=(StatementCheck("an attacker with the training traces"),),
        published="partial knowledge is not tried in the paper",
    ),
    _row_of_knowledge(
        "to an attacker who knows other days only, traces of PPMTF betray almost nobody",
        checks=(
            RangeCheck(
                "re-identified",
                _finding("PPMTF's traces betray almost nobody to an attacker who knows other days"),
                most=0.02,
            ),
        ),
        published="not tried in the paper; below 0.02 where the training traces are known",
    ),
)


# What [sglt] says.
_LAUSANNE = "the 30 people of Lausanne (Nokia collection)"
_TABLES, _LBS = "figure sglt-tables", "figure sglt-lbs"


PROGRAM_LEVELS = {
    50: (0.54298, 0.0073),
    100: (0.49348, 0.0042),
    150: (0.52517, 0.0146),
    200: (0.60178, 0.0186),
}
"""Classes → TP-TV of the published table at par_l = 1, and the spread of ours over three seeds."""
_UNIFORM = 0.534933
_PILED = "[pile up at few places](sglt.md#what-a-publisher-keeps)"


def _program(classes: int, column: str = "reidentification_rate", but: str = "") -> TableNumber:
    where = {"rules": f"program{but}", "classes": str(classes), "par_l": "1"}
    return table_number("sglt-published.csv", column, **where)


def _divergence(table: str, row: str = "fakes") -> TableNumber:
    return table_number("sglt-tables.csv", "mean", table=table, row=row)


def _service(method: str, column: str = "privacy") -> TableNumber:
    return table_number("sglt-lbs.csv", column, method=method, fakes="10", attacker="population")


_row_of_service = partial(ClaimRow, "privacy against overhead", command=_LBS)
_row_of_table = partial(
    ClaimRow, "[ppmtf] Figure 7, published table", command="figure sglt-published --data ppmtf-tokyo"
)
SGLT_CLAIMS: tuple[ClaimRow, ...] = (
    ClaimRow(
        "similarity of real people",
        "people visit different places in the same way",
        "figure sglt-similarity",
        (StatementCheck("people visit different places", tested=False),),
        "histograms: near 0 in place, high in kind; in kind is a maximum, which is never below",
    ),
    ClaimRow(
        "differential similarity",
        "it is not difficult to find other people who could be the seed of a fake",
        "figure sglt-similarity",
        (
            RangeCheck(
                "pairs that differ by at most 0.1",
                _finding("every second person could be the seed of a fake"),
            ),
        ),
        "a histogram",
    ),
    ClaimRow(
        "map of classes",
        "places of one class lie in different parts of the city",
        "figure sglt-classes",
        (
            RangeCheck(
                "spread of a class, times that of all places",
                _finding("places that mean the same lie all over the city"),
            ),
        ),
        "a map",
    ),
    ClaimRow(
        "tables of divergences",
        "fakes keep visits and people's time better than the baselines",
        _TABLES,
        (StatementCheck("fakes keep visits and people's time"),),
        "all five tables",
        note=f"the most probable ways {_PILED}",
    ),
    ClaimRow(
        "table of visits",
        "KL divergence of visits",
        _TABLES,
        (NearCheck("fakes", _divergence("visits"), 0.3841, 0.0432),),
        "0.3841 ± 0.0432, of Lausanne: mean and standard deviation",
    ),
    ClaimRow(
        "table of visits, 50 most popular",
        "among the most popular places fakes are almost as near as a testing day",
        _TABLES,
        (NearCheck("fakes", _divergence("visits, top 50"), 0.0289, 0.0086),),
        "0.0289 ± 0.0086, of Lausanne: mean and standard deviation",
        note=f"the most probable ways {_PILED}",
    ),
    ClaimRow(
        "privacy tests",
        "it is not difficult to generate fakes that pass the geographic and intersection tests",
        _TABLES,
        (
            RangeCheck("geographic", _divergence("privacy tests", "geographic")),
            RangeCheck("intersection", _divergence("privacy tests", "intersection")),
        ),
        "a share that our text of the paper does not have",
    ),
    ClaimRow(
        "aggregate mobility",
        "the aggregate of fakes is similar to that of real people",
        _TABLES,
        (
            RangeCheck("transitions", _divergence("aggregate transitions", "similarity")),
            RangeCheck("visits", _divergence("aggregate visits", "similarity")),
        ),
        "a number that our text of the paper does not have",
    ),
    ClaimRow(
        "Q-Q plot",
        "two fakes are as alike as two people: the quantiles lie on a line",
        "figure sglt-qq",
        (RangeCheck("percentiles differ by up to", _finding("two fakes are as alike as two people")),),
        "strongly linearly related; that of two sorted lists always is",
    ),
    _row_of_service(
        "fakes that mean something hide a person better than all others",
        checks=(StatementCheck("fakes that mean something hide a person better"),),
        published="close to the maximum",
    ),
    _row_of_service(
        "and need fewer places and classes than random ones",
        checks=(
            RangeCheck(
                "places", _service("sglt", "distinct_places"), most=_service("uniform", "distinct_places")
            ),
            RangeCheck(
                "classes", _service("sglt", "distinct_classes"), most=_service("uniform", "distinct_classes")
            ),
        ),
        published="lower overhead in both",
    ),
    _row_of_service(
        "a walk on the user's own profile comes close to them: nearer than to the best of the others",
        checks=(
            RangeCheck("own walk", _service("own-walk")),
            RangeCheck(
                "below SGLT by",
                NumberGap(_service("sglt"), _service("own-walk")),
                most=NumberGap(_service("own-walk"), _service("aggregate")),
            ),
        ),
        published="close to SGLT's",
        note="an own walk has [two or three places to show](sglt.md#hiding-from-a-service), and the attacker "
        "finds the real one among them every second time",
    ),
    _row_of_table(
        "TP-TV of SGLT with 50 to 200 classes, par_l = 1: by the program's rules",
        checks=tuple(
            NearCheck(
                f"{classes} classes:", _program(classes, "tp_tv"), published, 3 * (4 / 3) ** 0.5 * spread
            )
            for classes, (published, spread) in PROGRAM_LEVELS.items()
        ),
        published="0.543; 0.493; 0.525; 0.602; the limits are three times the spread over seeds, of one run "
        "against the mean of three",
    ),
    _row_of_table(
        "by the program's rules as many are re-identified, par_l = 1",
        checks=tuple(
            _check_rate(f"{classes} classes:", _program(classes), rate)
            for classes, rate in ((50, 0.0112), (100, 0.0446), (150, 0.1176), (200, 0.1138))
        ),
        published="0.011; 0.045; 0.118; 0.114; the limits are three standard errors of both runs",
        note="the program's classes hold places of the same person "
        "[far more often than ours](sglt.md#what-is-left-classes); with those of its file it is 0.048 at 100",
    ),
    _row_of_table(
        "at 200 classes and par_l = 1 the population is worse than that of uniform places (TP-TV)",
        checks=(
            RangeCheck("the program's rules", _program(200, "tp_tv"), least=_UNIFORM),
            RangeCheck("with its decoder mended", _program(200, "tp_tv", ", decoder mended"), least=_UNIFORM),
        ),
        published="0.602 against 0.534933",
        note="it is [a failure of the decoder](sglt.md#the-published-table-under-the-programs-rules) that "
        "makes it worse",
    ),
    ClaimRow("all", "the same numbers on the people of the paper", missing=_LAUSANNE),
)
