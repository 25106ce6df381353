"""What [contest] says."""

from __future__ import annotations

from collections.abc import Iterator

from tracearena.figures.ledger.rows import Between, Cell, Drawn, Gap, Key, Near, Row, Stated, cell

_TEAMS = "the releases of the 17 teams, which the organisers have not published with the scores"
_PEOPLE = "figure contest-people --data pwscup2019-osaka"
_FOURSQUARE = "the Foursquare check-ins of six cities (WWW 2019)"
_12, _13 = "figure contest-12", "figure contest-13"
_16, _17 = "figure contest-16", "figure contest-17"
_CITIES = "--data ."
"""The cities of the published data: New York (check-ins of Gowalla) and Tokyo (people flow)."""
_18 = "figure contest-18 --data ppmtf-tokyo"
_RESULTS = "pwscup2019-results/final"
_FINAL = (
    f"contest board --reidentification {_RESULTS}_reidentification.csv "
    f"--trace-inference {_RESULTS}_trace_inference.csv --utility {_RESULTS}_utility.csv"
)
_K = "figure contest-k-anonymity"
_TABLE_2 = "figure contest-table2"
_ALIKE = "SGD is almost as far from people's habits as uniform places (VF-TV)"
_WEIGHTS = "contest-12-weights.csv"


_SPREADS = {
    "s_R": {"No": 0.0095, "MRLH(1,1,0.5)": 0.0068, "RR(1)": 0.00055, "PL(1,1)": 0.0026},
    "s_T": {"No": 0.011, "MRLH(1,1,0.5)": 0.0033, "RR(1)": 0.00015, "PL(1,1)": 0.0010},
}
"""Table 2: standard deviations over the teams."""


def _table_2(command: str, of: str) -> Iterator[Row]:
    """Ask for spreads of the published size: between a third of it and three times as much."""
    yield Row(
        "Table 2, appendix E",
        "whose data a team gets hardly matters: standard deviations over the teams of about 0.01 or less "
        f"(virtual users {of})",
        command,
        (Stated("whose data a team gets"),),
        "0.011 at most",
    )
    for score, column in (("s_R", "reidentification_sd"), ("s_T", "trace_inference_sd")):
        yield Row(
            "Table 2",
            f"standard deviation of {score},min (virtual users {of})",
            command,
            tuple(
                Between(
                    f"{score} {name}",
                    cell("contest-table2.csv", column, defence=name),
                    least=size / 3,
                    most=3 * size,
                )
                for name, size in _SPREADS[score].items()
            ),
            "; ".join(f"{size:.2g}" for size in _SPREADS[score].values()),
        )


def _useful(column: str, group: str) -> Cell:
    return cell("contest-13.csv", column, group=group)


ROWS: tuple[Row, ...] = (
    Row(
        "Figures 4 and 19, appendix D",
        "virtual users keep where people are at each time of day and where they go next",
        _PEOPLE,
        (Stated("virtual users live as the people whom they are learned from"),),
        "pictures",
        note="what they do in the first minutes after home time is inferred, not observed, and their "
        "best-known places get too much: [what is missed](virtual-users.md#beside-the-official-team)",
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
        "Figure 8, section 4",
        "shuffled traces are safe from re-identification, and as open to trace inference as no defence (RQ1)",
        "figure contest-8 --data pwscup2019-osaka",
        (Stated("shuffling whole traces"),),
        "s_R,min 0.9995; s_T,min 0.789 beside 0.781",
    ),
    Row(
        "Figure 8, section 4",
        "the same on virtual users",
        "figure contest-8",
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
        "the same with 17 defences of ours in place of the teams', on virtual users",
        "figure contest-9",
        (Stated("who is safe from trace inference is safe from re-identification", whole=True),),
        "R = 0.895",
    ),
    Row(
        "Figure 9, RQ2",
        "the same on the organisers' sample of Osaka",
        "figure contest-9 --data pwscup2019-osaka",
        (Stated("who is safe from trace inference is safe from re-identification", whole=True),),
        "R = 0.895",
        note="in its two days replaying the reference leaves the same s_T,min of nearly every defence",
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
    *(
        Row(
            "Figure 16, appendix B",
            f"with PPMTF two teams have the same people, with PPMTF+ people of their own: {where}",
            command,
            (Stated("with PPMTF+ every team"), Stated("with PPMTF two teams")),
            "difference of Same-TV and Diff-TV below 0.1 standard deviations with PPMTF+",
        )
        for where, command in (("three simulated cities", _16), ("New York and Tokyo", f"{_16} {_CITIES}"))
    ),
    Row("Figure 16", "the same in the cities of the paper", missing=_FOURSQUARE),
    *(
        Row(
            "Figure 17, appendix B",
            f"PPMTF+ is as useful as PPMTF: {where}",
            command,
            (Stated("virtual users (PPMTF+) are as useful"),),
            "VF-TV of PPMTF+ / PPMTF: New York 0.315 / 0.322, Istanbul 0.132 / 0.130",
            note=f"one metric is just a tenth worse, {which}; the others are at most 9 % worse",
        )
        for where, command, which in (
            ("three simulated cities", _17, "TM-EMD of the town"),
            ("New York and Tokyo", f"{_17} {_CITIES}", "TP-TV-Top50 of New York"),
        )
    ),
    Row(
        "Figure 17, appendix B",
        f"{_ALIKE}: three simulated cities",
        _17,
        (Stated("SGD's people behave alike"),),
        "New York: SGD 0.708, PPMTF 0.322",
    ),
    Row(
        "Figure 17, appendix B",
        f"{_ALIKE}: New York and Tokyo",
        f"{_17} {_CITIES}",
        (Stated("SGD's people behave alike"),),
        "New York: SGD 0.708, PPMTF 0.322",
        note="New York is as published; people flow of Tokyo has one day of each person, not check-ins",
    ),
    Row("Figure 17", "the same in the cities of the paper", missing=_FOURSQUARE),
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
        note="in the morning they are; the day ends at 17:30, when a third of them are back",
    ),
    *_table_2(_TABLE_2, "learned from the simulated city"),
    *_table_2(f"{_TABLE_2} --data pwscup2019-osaka", "learned from the organisers' sample of Osaka"),
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
