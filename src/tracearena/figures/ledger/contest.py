"""What [contest] says."""

from __future__ import annotations

from tracearena.figures.ledger.rows import Between, Cell, Drawn, Gap, Key, Near, Row, Stated, cell

_TEAMS = "the releases of the 17 teams, which the organisers have not published with the scores"
_PEOPLE = "figure contest-people --data pwscup2019-osaka"
_12, _13, _17 = "figure contest-12", "figure contest-13", "figure contest-17"
_18 = "figure contest-18 --data ppmtf-tokyo"
_RESULTS = "pwscup2019-results/final"
_FINAL = (
    f"contest board --reidentification {_RESULTS}_reidentification.csv "
    f"--trace-inference {_RESULTS}_trace_inference.csv --utility {_RESULTS}_utility.csv"
)
_K = "figure contest-k-anonymity"
_TABLE_2 = "figure contest-table2"
_WEIGHTS = "contest-12-weights.csv"
_K_ANONYMITY = "figure contest-k-anonymity"


def _spread(score: str, defence: str, published: float) -> Between:
    """Ask for a spread of the published size: between a third of it and three times as much."""
    column = {"s_R": "reidentification_sd", "s_T": "trace_inference_sd"}[score]
    at = cell("contest-table2.csv", column, defence=defence)
    return Between(f"{score} {defence}", at, least=published / 3, most=3 * published)


def _useful(column: str, group: str) -> Cell:
    return cell("contest-13.csv", column, group=group)


ROWS: tuple[Row, ...] = (
    Row(
        "Figures 4 and 19, appendix D",
        "virtual users keep where people are at each time of day and where they go next",
        _PEOPLE,
        (Stated("virtual users live as the people whom they are learned from"),),
        "pictures",
    ),
    Row(
        "Figure 4",
        "the regions, and where virtual users are at noon",
        "figure contest-4",
        (Drawn("contest-4"),),
        "a map",
    ),
    Row(
        "Figure 4",
        "the crowded regions at noon are crowded among virtual users too",
        _PEOPLE,
        (
            Between(
                "spreads between halves of the people",
                cell("contest-people.csv", "apart", number="population at noon", kind="5-minute walk"),
                most=2.0,
            ),
        ),
        "a picture",
    ),
    Row(
        "Figure 7, section 3.4",
        "utility falls, and privacy rises, in proportion to the distance up to 2 km",
        "figure contest-7",
        (Stated("both scores are straight lines"),),
        "a picture",
    ),
    Row(
        "Sections 1 and 4.2",
        "k-anonymity lets at most one in k be re-identified",
        _K_ANONYMITY,
        (Stated("k-anonymity lets at most one in k"),),
        "1/k",
    ),
    Row(
        "Sections 1 and 4.2",
        "k-anonymity is open to trace inference where the k are alike (the homogeneity attack)",
        _K_ANONYMITY,
        (Stated("it does not prevent trace inference"),),
        "stated without a number",
    ),
    Row(
        "Section 5.2",
        "k-anonymity takes too much noise for long traces",
        _K_ANONYMITY,
        (Stated("long traces lose their use"),),
        "stated without a number",
    ),
    Row(
        "Figure 8, section 4",
        "shuffled traces are safe from re-identification, and as open to trace inference as no defence (RQ1)",
        "figure contest-8 --data pwscup2019-osaka",
        (Stated("shuffling whole traces"),),
        "s_R,min 0.9995; s_T,min 0.789 beside 0.781",
    ),
    Row(
        "section 1",
        "k-anonymity lets at most one in k be re-identified",
        _K,
        (Stated("k-anonymity lets at most one in k"),),
        "1/k",
    ),
    Row(
        "section 4.2",
        "k-anonymity is vulnerable to inference of places, where people are alike",
        _K,
        (Stated("it does not prevent trace inference"),),
        "stated without a number",
    ),
    Row(
        "section 5.2",
        "k-anonymity requires too much noise for long traces",
        _K,
        (Stated("long traces lose their use"),),
        "stated without a number",
    ),
    Row(
        "section 5.1",
        "17 of the teams are valid, and their two kinds of privacy go together (from the published scores)",
        _FINAL,
        (
            Near("valid", Key("valid"), 17, 0),
            Near("R", Key("correlation"), 0.895, 0.001),
        ),
        "17; R = 0.895",
    ),
    Row(
        "section 5.1",
        "the pseudonymised traces are completely violated",
        _FINAL,
        (
            Near("s_R,min", Key("board.team=000.s_R_min"), 0.003, 0.001),
            Near("s_T,min", Key("board.team=000.s_T_min"), 0.0475, 0.001),
        ),
        "0.003; 0.048",
    ),
    Row(
        "appendix E",
        "the best, second and third privacy against trace inference",
        _FINAL,
        tuple(
            Near(f"place {place + 1}:", Key(f"awards.0.places.{place}.value"), value, 0.001)
            for place, value in enumerate((0.720, 0.709, 0.637))
        ),
        "0.720; 0.709; 0.637",
    ),
    Row(
        "Figure 9, RQ2",
        "over the valid releases of the contest the two kinds of privacy go together",
        "figure contest-9 --data pwscup2019-osaka",
        (Stated("who is safe from trace inference is safe from re-identification, in the published final"),),
        "R = 0.895",
    ),
    Row(
        "Figure 9, RQ2",
        "the same with 17 defences of ours in place of the teams', on the organisers' sample of Osaka",
        "figure contest-9 --data pwscup2019-osaka",
        (Stated("who is safe from trace inference is safe from re-identification", whole=True),),
        "R = 0.895",
    ),
    Row(
        "Figure 12, left",
        "the score of the contest goes with the plain expected error",
        _12,
        (Stated("the trace-inference score goes with the plain mean error"),),
        "R = 0.937 at weight 10",
    ),
    Row(
        "Figure 12, right",
        "with larger weights of hospitals it goes with it less",
        _12,
        (
            Between(
                "R at weight 1,000",
                cell(_WEIGHTS, "correlation", hospital_weight="1000"),
                most=cell(_WEIGHTS, "correlation", hospital_weight="10"),
            ),
        ),
        "0.811 at weight 1,000, 0.846 at 100, 0.937 at 10",
    ),
    Row(
        "Figure 13",
        "valid releases are useful for recommending places: POI accuracy of PL(4,1) is 0.9 or more",
        _13,
        (Between("PL(4,1)", _useful("poi_accuracy", "PL(4,1)"), least=0.9),),
        "median 0.9 or more",
    ),
    Row(
        "Figure 13",
        "reference traces are not: statistics alone do not recommend places",
        _13,
        (
            Between(
                "reference",
                _useful("poi_accuracy", "Reference"),
                most=_useful("poi_accuracy", "PL(4,1)"),
            ),
        ),
        "low",
    ),
    Row(
        "Figure 13",
        "PL(4,1) keeps populations and transitions almost as reference traces do",
        _13,
        (
            Between(
                "TP-TV-Top50 above that of the reference by",
                Gap(_useful("tp_tv_top50", "PL(4,1)"), _useful("tp_tv_top50", "Reference")),
                most=0.1,
            ),
            Between(
                "TM-EMD by",
                Gap(_useful("tm_emd", "PL(4,1)"), _useful("tm_emd", "Reference")),
                most=Gap(_useful("tm_emd", "PL(1,1)"), _useful("tm_emd", "Reference")),
            ),
        ),
        "about those of Reference; PL(1,1) is worse",
    ),
    Row(
        "Figure 16, appendix B",
        "with PPMTF two teams have the same people, with PPMTF+ people of their own",
        "figure contest-16",
        (Stated("with PPMTF+ every team"), Stated("with PPMTF two teams")),
        "difference of Same-TV and Diff-TV below 0.1 standard deviations with PPMTF+",
    ),
    Row(
        "Figure 17, appendix B",
        "PPMTF+ is as useful as PPMTF",
        _17,
        (Stated("virtual users (PPMTF+) are as useful"),),
        "VF-TV of PPMTF+ / PPMTF: New York 0.315 / 0.322, Istanbul 0.132 / 0.130",
    ),
    Row(
        "Figure 17, appendix B",
        "SGD is almost as far from people's habits as uniform places (VF-TV)",
        _17,
        (Stated("SGD's people behave alike"),),
        "New York: SGD 0.708, PPMTF 0.322",
    ),
    Row(
        "Figure 17",
        "the same in the cities of the paper",
        missing="the Foursquare check-ins of six cities (WWW 2019)",
    ),
    Row(
        "Figure 18, appendix C",
        "a virtual user is re-identified no better than by a guess",
        _18,
        (Stated("re-identification of a virtual user is a guess"),),
        "0.002",
    ),
    Row(
        "Figure 18, appendix C",
        "membership advantage of PPMTF+ is about that of PPMTF",
        _18,
        (
            Between(
                "PPMTF+",
                cell("contest-18.csv", "membership_advantage", method="PPMTF+"),
                most=0.1,
            ),
            Between("PPMTF", cell("contest-18.csv", "membership_advantage", method="PPMTF"), most=0.1),
        ),
        "almost the same",
    ),
    Row(
        "Figure 18, appendix C",
        "TM-EMD of PPMTF+ is worse than that of SGLT and much better than that of uniform places",
        _18,
        (
            Between(
                "PPMTF+",
                cell("contest-18.csv", "tm_emd_sliced", method="PPMTF+"),
                least=cell("contest-18.csv", "tm_emd_sliced", method="SGLT"),
                most=cell("contest-18.csv", "tm_emd_sliced", method="uniform"),
            ),
        ),
        "a picture",
    ),
    Row(
        "Figure 19",
        "people are at home in the morning and in the evening",
        "figure contest-4",
        (Stated("people leave home in the morning"),),
        "a curve, near 1 from 6:00 to 8:00",
    ),
    Row(
        "Table 2, appendix E",
        "whose data a team gets hardly matters: standard deviations over the teams of about 0.01 or less",
        _TABLE_2,
        (Stated("whose data a team gets"),),
        "0.011 at most",
    ),
    Row(
        "Table 2",
        "standard deviation of s_R,min",
        _TABLE_2,
        (
            _spread("s_R", "No", 0.0095),
            _spread("s_R", "MRLH(1,1,0.5)", 0.0068),
            _spread("s_R", "RR(1)", 0.00055),
            _spread("s_R", "PL(1,1)", 0.0026),
        ),
        "0.0095; 0.0068; 0.00055; 0.0026",
    ),
    Row(
        "Table 2",
        "standard deviation of s_T,min",
        _TABLE_2,
        (
            _spread("s_T", "No", 0.011),
            _spread("s_T", "MRLH(1,1,0.5)", 0.0033),
            _spread("s_T", "RR(1)", 0.00015),
            _spread("s_T", "PL(1,1)", 0.0010),
        ),
        "0.011; 0.0033; 0.00015; 0.0010",
    ),
    Row(
        "Figures 10 and 13, section 5",
        "the teams' own releases: clusters of visit counts, and what they are useful for",
        missing=_TEAMS,
    ),
    Row(
        "Appendix E",
        "more virtual users make the spread of the scores over the teams smaller",
        "figure contest-spread",
        (Stated("the more users a team has"),),
        "stated without a number",
    ),
)
