"""What [contest] and [samples] claim, and what our own figures show, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tracearena.papers.published_claims import (
    FOURSQUARE,
    ClaimRow,
    JsonNumber,
    NearCheck,
    NumberGap,
    NumberRatio,
    PictureCheck,
    RangeCheck,
    RoundedCheck,
    StatementCheck,
    TableNumber,
    table_number,
)

_TEAMS = "the releases of the 17 teams, which the organisers have not published with the scores"
_ALL_ZEROS = "--zeros all"
_PEOPLE = f"figure contest-people --data pwscup2019-osaka {_ALL_ZEROS}"
_CONTEST_12 = "figure contest-12"
_CONTEST_16, _CONTEST_17 = "figure contest-16", "figure contest-17"
_CITIES = "--data ."
"""The cities of the published data: New York (check-ins of Gowalla) and Tokyo (people flow)."""
_GOES = "who is safe from trace inference is safe from re-identification"
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
_FEWEST_TIMES, _MOST_TIMES = 0.519, 1.926
"""Between these lies the ratio of two standard deviations of the same size, each over 17 teams.

They are the roots of quantiles of the F distribution with 16 and 16 degrees of freedom; the four comparisons
of a row share 5 % of error.
"""


SAMPLED_TOO = ("figure contest-9", "figure contest-16 --data .", "figure contest-17 --data .")
"""Commands that were run both with sampled zeros, as in the papers, and with all of them."""


def _iterate_zeros(command: str) -> Iterator[tuple[str, str]]:
    """Yield which zeros PPMTF is trained with, and the command."""
    if command in SAMPLED_TOO:
        yield "sampled zeros", command
    yield "all zeros", f"{command} {_ALL_ZEROS}"


def _compare_with_ppmtf(cities: tuple[str, ...]) -> tuple[RangeCheck, ...]:
    """Ask for a VF-TV of PPMTF+ that is no worse, against PPMTF's, than the worst published one."""

    def value(city: str, method: str) -> TableNumber:
        return table_number("contest-17.csv", "vf_tv", city=city, method=method)

    return tuple(
        RangeCheck(
            f"{city}: VF-TV of PPMTF+ over PPMTF's",
            NumberRatio(value(city, "PPMTF+"), value(city, "PPMTF")),
            most=0.132 / 0.130,
        )
        for city in cities
    )


def _finding(statement: str) -> JsonNumber:
    """Return the place of the number behind a finding of a figure."""
    return JsonNumber(f"findings.statement={statement}.number")


def _iterate_spread_rows(command: str, of: str) -> Iterator[ClaimRow]:
    """Ask for spreads that are as large as the published ones, as far as 17 teams can tell."""
    yield ClaimRow(
        "Table 2, appendix E",
        "whose data a team gets hardly matters: standard deviations over the teams of about 0.01 or less "
        f"(virtual users {of})",
        command,
        (RangeCheck("largest", _finding("whose data a team gets hardly matters"), most=0.015),),
        "0.011 at most; 0.015 is the largest that rounds to 0.01",
    )
    for score, column in (("s_R", "reidentification_sd"), ("s_T", "trace_inference_sd")):
        yield ClaimRow(
            "Table 2",
            f"standard deviation of {score},min (virtual users {of})",
            command,
            tuple(
                RangeCheck(
                    f"{score} {name}",
                    table_number("contest-table2.csv", column, defence=name),
                    least=_FEWEST_TIMES * size,
                    most=_MOST_TIMES * size,
                )
                for name, size in _SPREADS[score].items()
            ),
            "; ".join(f"{size:.2g}" for size in _SPREADS[score].values()),
            note="17 teams can tell standard deviations apart that differ by more than a factor of 1.93",
        )
    yield ClaimRow(
        "Table 2, appendix E",
        f"the spread is the largest without a defence (virtual users {of})",
        command,
        tuple(
            RangeCheck(
                f"{score} No",
                table_number("contest-table2.csv", column, defence="No"),
                least=table_number("contest-table2.csv", column, defence="MRLH(1,1,0.5)"),
            )
            for score, column in (("s_R", "reidentification_sd"), ("s_T", "trace_inference_sd"))
        ),
        "s_R 0.0095, next 0.0068; s_T 0.011, next 0.0033",
        note="of re-identification, merged and thinned releases spread more",
    )


def _build_shuffling_checks() -> tuple[NearCheck | RangeCheck, ...]:
    """Ask whether shuffled traces are guesses, and are inferred as well as undefended ones.

    A random permutation has more than four users right in 0.4 % of all cases, whatever their number; 0.022 is
    twice the spread of s_T,min over undefended teams in Table 2.
    """
    score = partial(table_number, "contest-8.csv")
    return (
        RangeCheck("s_R,min", score("s_R_min", defence="Cheat(1)"), least=1 - 4 / 2000),
        NearCheck(
            "s_T,min more than without a defence by",
            NumberGap(score("s_T_min", defence="Cheat(1)"), score("s_T_min", defence="No")),
            0,
            0.022,
        ),
    )


def _figure_13(column: str, group: str) -> TableNumber:
    return table_number("contest-13.csv", column, group=group)


def _figure_18(column: str, method: str) -> TableNumber:
    return table_number("contest-18.csv", column, method=method)


def _correlation(statement: str, least: float) -> RangeCheck:
    """Ask for a correlation above the lower end of the published one's interval (Fisher's z, 95 %)."""
    return RangeCheck("R", _finding(statement), least=least)


_SHUFFLING = _build_shuffling_checks()
_SHUFFLED = (
    "s_R,min 0.9995; s_T,min 0.789 against 0.781; the limits are a guess, 0.998, and twice the spread in "
    "Table 2, 0.011"
)
_row_of_figure_13 = partial(ClaimRow, "Figure 13", command="figure contest-13")
_row_of_figure_18 = partial(ClaimRow, "Figure 18, appendix C", command="figure contest-18 --data ppmtf-tokyo")
_row_of_final = partial(ClaimRow, "section 5.1", command=_FINAL)
CONTEST_CLAIMS: tuple[ClaimRow, ...] = (
    ClaimRow(
        "Figures 4 and 19, appendix D",
        "virtual users keep where people are at each time of day and where they go next (all zeros)",
        _PEOPLE,
        (StatementCheck("virtual users live as the people whom they are learned from"),),
        "pictures",
        note="what they do in the first minutes after home time is inferred, not observed, and their "
        "best-known places get too much: [what is missed](virtual-users.md#compared-with-the-official-team)",
    ),
    ClaimRow(
        "Figure 4",
        "the regions, and where virtual users are at noon (all zeros)",
        f"figure contest-4 {_ALL_ZEROS}",
        (PictureCheck("contest-4"),),
        "a map",
    ),
    ClaimRow(
        "Figure 4",
        "the crowded regions at noon are crowded among virtual users too (all zeros)",
        _PEOPLE,
        (
            RangeCheck(
                "spreads between halves of the people",
                table_number(
                    "contest-people.csv", "apart", number="population at noon", kind="5-minute walk"
                ),
                most=2.0,
            ),
        ),
        "a picture; the limit is 2 spreads",
    ),
    ClaimRow(
        "Figure 7, section 3.4",
        "utility falls, and privacy rises, in proportion to the distance up to 2 km",
        "figure contest-7",
        (
            RangeCheck(
                "largest difference from the formula",
                _finding("both scores are straight lines up to 2 km and flat beyond"),
                most=1e-9,
            ),
        ),
        "a picture, and a formula; the limit, 0.000000001, is what rounding may leave",
    ),
    ClaimRow(
        "Figure 8, section 4",
        "shuffled traces are safe from re-identification, and as open to trace inference as no defence (RQ1)",
        "figure contest-8 --data pwscup2019-osaka",
        _SHUFFLING,
        _SHUFFLED,
    ),
    *(
        ClaimRow(
            "Figure 8, section 4",
            f"the same on virtual users ({zeros})",
            command,
            _SHUFFLING,
            _SHUFFLED,
        )
        for zeros, command in _iterate_zeros("figure contest-8")
    ),
    ClaimRow(
        "section 1",
        "k-anonymity lets at most one in k be re-identified",
        _K,
        (StatementCheck("k-anonymity lets at most one in k"),),
        "1/k",
    ),
    ClaimRow(
        "section 4.2",
        "k-anonymity is vulnerable to inference of places, where people are alike",
        _K,
        (
            RangeCheck(
                "s_T,min of people who are alike",
                table_number("contest-k-anonymity.csv", "s_T", together="1.0"),
                most=table_number("contest-k-anonymity.csv", "s_T", together="0.0", k="10"),
            ),
        ),
        "stated without a number; the limit is s_T,min of people as they are",
    ),
    ClaimRow(
        "section 5.2",
        "k-anonymity requires too much noise for long traces",
        _K,
        (RangeCheck("s_U at best", _finding("long traces lose their use to it"), most=0.7),),
        "stated without a number; a valid release has a utility of 0.7",
    ),
    _row_of_final(
        "17 of the teams are valid, and their two kinds of privacy go together (from the published scores)",
        checks=(
            RoundedCheck("valid", JsonNumber("valid"), "17"),
            RoundedCheck("R", JsonNumber("correlation"), "0.895"),
        ),
        published="17; R = 0.895",
    ),
    _row_of_final(
        "the pseudonymised traces are completely violated",
        checks=(
            RoundedCheck("s_R,min", JsonNumber("board.team=000.s_R_min"), "0.003"),
            RoundedCheck("s_T,min", JsonNumber("board.team=000.s_T_min"), "0.048"),
        ),
        published="0.003; 0.048",
    ),
    _row_of_final(
        "attacks by the teams are much stronger than the sample attacks, on the pseudonymised traces",
        checks=tuple(
            RangeCheck(label, JsonNumber(at))
            for label, at in (
                ("s_R,min", "board.team=000.s_R_min"),
                ("the strongest sample, I2, leaves", "attacks.attacker=I2.score"),
                ("s_T,min", "board.team=000.s_T_min"),
                ("the strongest sample, T2, leaves", "attacks.attacker=T2.score"),
            )
        ),
        published="much stronger, without a number; the minimum over all attacks is never above a sample's",
    ),
    ClaimRow(
        "appendix E",
        "the best, second and third privacy against trace inference",
        _FINAL,
        tuple(
            RoundedCheck(f"place {place + 1}:", JsonNumber(f"awards.0.places.{place}.value"), value)
            for place, value in enumerate(("0.720", "0.709", "0.637"))
        ),
        "0.720; 0.709; 0.637",
    ),
    ClaimRow(
        "Figure 9, RQ2",
        "over the valid releases of the contest the two kinds of privacy go together",
        "figure contest-9 --data pwscup2019-osaka",
        (
            RoundedCheck(
                "R", JsonNumber(f"findings.statement={_GOES}, in the published final.number"), "0.895"
            ),
        ),
        "R = 0.895",
    ),
    *(
        ClaimRow(
            "Figure 9, RQ2",
            f"the same with 17 defences of ours in place of the teams', on virtual users ({zeros})",
            command,
            (_correlation(_GOES, 0.735),),
            "R = 0.895 of 18 releases, 95 % interval from 0.735",
        )
        for zeros, command in _iterate_zeros("figure contest-9")
    ),
    ClaimRow(
        "Figure 9, RQ2",
        "the same on the organisers' sample of Osaka",
        "figure contest-9 --data pwscup2019-osaka",
        (_correlation(_GOES, 0.735),),
        "R = 0.895 of 18 releases, 95 % interval from 0.735",
        note="in its two days replaying the reference leaves the same s_T,min of nearly every defence",
    ),
    ClaimRow(
        "Figure 12, left",
        "the score of the contest goes with the plain expected error",
        _CONTEST_12,
        (_correlation("the trace-inference score goes with the plain mean error", 0.836),),
        "R = 0.937 at weight 10, of 18 releases: 95 % interval from 0.836",
    ),
    ClaimRow(
        "Figure 12, left",
        "the best anonymization also has the largest expected error, with our defences",
        _CONTEST_12,
        (StatementCheck("the release with the highest score has the largest expected error"),),
        "stated without a number",
    ),
    ClaimRow("Figure 12, left", "the same with the teams' releases", missing=_TEAMS),
    ClaimRow(
        "Figure 12, right",
        "with larger weights of hospitals it goes with it less",
        _CONTEST_12,
        (
            RangeCheck(
                "R at weight 1,000",
                table_number(_WEIGHTS, "correlation", hospital_weight="1000"),
                most=table_number(_WEIGHTS, "correlation", hospital_weight="10"),
            ),
        ),
        "0.811 at weight 1,000, 0.846 at 100, 0.937 at 10",
    ),
    _row_of_figure_13(
        "valid releases are useful for recommending places: POI accuracy of PL(4,1) is 0.9 or more",
        checks=(RangeCheck("PL(4,1)", _figure_13("poi_accuracy", "PL(4,1)"), least=0.9),),
        published="median 0.9 or more",
    ),
    _row_of_figure_13(
        "reference traces are not: statistics alone do not recommend places",
        checks=(
            RangeCheck("reference", _figure_13("poi_accuracy", "Reference")),
            RangeCheck("PL(1,1)", _figure_13("poi_accuracy", "PL(1,1)")),
            RangeCheck("uniform", _figure_13("poi_accuracy", "Uniform")),
        ),
        published="low, without a number",
    ),
    _row_of_figure_13(
        "PL(4,1) keeps populations and transitions almost as reference traces do",
        checks=(
            RangeCheck(
                "TP-TV-Top50 above that of the reference by",
                NumberGap(_figure_13("tp_tv_top50", "PL(4,1)"), _figure_13("tp_tv_top50", "Reference")),
                most=NumberGap(_figure_13("tp_tv_top50", "PL(1,1)"), _figure_13("tp_tv_top50", "PL(4,1)")),
            ),
            RangeCheck(
                "TM-EMD by",
                NumberGap(_figure_13("tm_emd", "PL(4,1)"), _figure_13("tm_emd", "Reference")),
                most=NumberGap(_figure_13("tm_emd", "PL(1,1)"), _figure_13("tm_emd", "PL(4,1)")),
            ),
        ),
        published="almost the same as Reference: nearer to it than to PL(1,1)",
        note="transitions are; the population of the 50 most crowded regions is nearer to that of PL(1,1)",
    ),
    *(
        ClaimRow(
            "Figure 16, appendix B",
            f"with PPMTF two teams have the same people, with PPMTF+ people of their own: {where} ({zeros})",
            command,
            (StatementCheck("with PPMTF+ every team"), StatementCheck("with PPMTF two teams")),
            "difference of Same-TV and Diff-TV below 0.1 standard deviations with PPMTF+",
        )
        for where, usual in (
            ("three simulated cities", _CONTEST_16),
            ("New York and Tokyo", f"{_CONTEST_16} {_CITIES}"),
        )
        for zeros, command in _iterate_zeros(usual)
    ),
    ClaimRow("Figure 16", "the same in the cities of the paper", missing=FOURSQUARE),
    *(
        ClaimRow(
            "Figure 17, appendix B",
            f"PPMTF+ is as useful as PPMTF: {where} ({zeros})",
            command,
            _compare_with_ppmtf(cities),
            "New York 0.315 / 0.322, Istanbul 0.132 / 0.130",
            note="every metric is better than that of uniform places, but VF-TV is up to 9 % worse than "
            "PPMTF's, and TP-TV-Top50 of New York 15 % with sampled zeros",
        )
        for where, usual, cities in (
            ("three simulated cities", _CONTEST_17, ("city", "quiet city", "town")),
            ("New York and Tokyo", f"{_CONTEST_17} {_CITIES}", ("gowalla-nyc", "ppmtf-tokyo")),
        )
        for zeros, command in _iterate_zeros(usual)
    ),
    *(
        ClaimRow(
            "Figure 17, appendix B",
            f"{_ALIKE}: three simulated cities ({zeros})",
            command,
            (StatementCheck("SGD's people behave alike"),),
            "New York: SGD 0.708, PPMTF 0.322",
        )
        for zeros, command in _iterate_zeros(_CONTEST_17)
    ),
    *(
        ClaimRow(
            "Figure 17, appendix B",
            f"{_ALIKE}: New York and Tokyo ({zeros})",
            command,
            (StatementCheck("SGD's people behave alike"),),
            "New York: SGD 0.708, PPMTF 0.322",
            note="New York is as published; people flow of Tokyo has one day of each person, not check-ins",
        )
        for zeros, command in _iterate_zeros(f"{_CONTEST_17} {_CITIES}")
    ),
    ClaimRow("Figure 17", "the same in the cities of the paper", missing=FOURSQUARE),
    _row_of_figure_18(
        "a virtual user is re-identified no better than by a guess",
        checks=(StatementCheck("re-identification of a virtual user is a guess"),),
        published="0.002",
    ),
    _row_of_figure_18(
        "membership advantage of PPMTF+ is about that of PPMTF",
        checks=tuple(
            RangeCheck(method, _figure_18("membership_advantage", method), most=0.055)
            for method in ("PPMTF+", "PPMTF")
        ),
        published="almost the same; PPMTF of this data is below 0.055 in [ppmtf]",
    ),
    _row_of_figure_18(
        "TM-EMD of PPMTF+ is worse than that of SGLT and much better than that of uniform places",
        checks=(
            RangeCheck(
                "PPMTF+",
                _figure_18("tm_emd_sliced", "PPMTF+"),
                least=_figure_18("tm_emd_sliced", "SGLT"),
                most=_figure_18("tm_emd_sliced", "uniform"),
            ),
        ),
        published="a picture",
    ),
    *(
        ClaimRow(
            "Figure 19",
            f"people are at home in the morning and in the evening, with high probability ({zeros})",
            command,
            tuple(
                RangeCheck(f"at {time}", table_number("contest-19.csv", "at_home", time=time))
                for time in ("06:00", "08:00", "15:30", "17:30")
            ),
            "a curve, near 1 from 6:00 to 8:00",
            note="in the morning they are; the day ends at 17:30, when a third of them are back",
        )
        for zeros, command in _iterate_zeros("figure contest-4")
    ),
    *_iterate_spread_rows(f"{_TABLE_2} {_ALL_ZEROS}", "learned from the simulated city with all zeros"),
    *_iterate_spread_rows(
        f"{_TABLE_2} --data pwscup2019-osaka {_ALL_ZEROS}",
        "learned from the organisers' sample of Osaka with all zeros",
    ),
    ClaimRow(
        "Figures 10 and 13, section 5",
        "the teams' own releases: clusters of visit counts, and what they are useful for",
        missing=_TEAMS,
    ),
    ClaimRow(
        "Appendix E",
        "more virtual users make the spread of the scores over the teams smaller (all zeros)",
        f"figure contest-spread {_ALL_ZEROS}",
        (
            RangeCheck(
                "users to the power of",
                _finding("the more users a team has, the smaller is the spread over the teams"),
                most=0.0,
            ),
        ),
        "stated without a number; of a spread that falls it is below 0, of independent people -0.5",
    ),
)


# What no paper says, and the figures of our own show.
OWN_CLAIMS: tuple[ClaimRow, ...] = (
    ClaimRow(
        "arena-attacks",
        "the attacks of today are at least as strong as those of 2019 on every defence",
        "figure arena-attacks",
        (
            StatementCheck("in re-identification the new attacks"),
            StatementCheck("in trace inference the new attacks"),
        ),
        note="the one is Cheat(1), which shuffles everybody: a random guess finds 3 of 200 by luck, the new "
        "attacks nobody",
    ),
    ClaimRow(
        "arena-attacks",
        "the attacks of 2019 make some defences look better than any can be",
        "figure arena-attacks",
        (StatementCheck("the attacks of 2019 make"),),
    ),
    ClaimRow(
        "arena-defences",
        "one of the valid defences is the best against both kinds of attack",
        "figure arena-defences",
        (StatementCheck("of the valid defences one is the best"),),
    ),
    ClaimRow("city-map", "the embedded city on a map", "figure city-map", (PictureCheck("city-map"),)),
    ClaimRow(
        "city-laws",
        "how its people move, next to published laws",
        "figure city-laws",
        (PictureCheck("city-"),),
    ),
    ClaimRow(
        "contest-people",
        "virtual users live as people of the same team who were held out (all zeros)",
        _PEOPLE,
        (StatementCheck("virtual users live as the people of the same team"),),
        note="of 1,000 people too few moves are known: "
        "[what is missed](virtual-users.md#compared-with-the-official-team)",
    ),
)


# What [samples] says.
_OSAKA = "figure samples-4 --data pwscup2019-osaka"


_WITHIN = {"s_R_min": 2 * _SPREADS["s_R"]["No"], "s_T_min": 2 * _SPREADS["s_T"]["No"]}
"""Twice the largest spread over teams in Table 2 of [contest]."""
_OF_TABLE_2 = "the limits are twice the largest spread in Table 2 of [contest]"


def _near_sample(label: str, column: str, defence: str, published: float) -> NearCheck:
    return NearCheck(
        label, table_number("samples-4.csv", column, defence=defence), published, _WITHIN[column]
    )


_row_of_figure_4 = partial(ClaimRow, "Figure 4 (i)", command=_OSAKA)
SAMPLES_CLAIMS: tuple[ClaimRow, ...] = (
    _row_of_figure_4(
        "what is strong against re-identification need not be strong against trace inference: shuffling",
        checks=(
            _near_sample("Cheat(1): s_I,min", "s_R_min", "Cheat(1)", 0.9995),
            _near_sample("s_T,min", "s_T_min", "Cheat(1)", 0.7893),
            _near_sample("no defence: s_T,min", "s_T_min", "No", 0.7810),
        ),
        published=f"0.9995; 0.789; 0.781; {_OF_TABLE_2}",
    ),
    _row_of_figure_4(
        "levels of a merged, a randomised and a noisy release",
        checks=(
            _near_sample("MRLH(1,1,0.2): s_I,min", "s_R_min", "MRLH(1,1,0.2)", 0.934),
            _near_sample("s_T,min", "s_T_min", "MRLH(1,1,0.2)", 0.854),
            _near_sample("RR(8): s_I,min", "s_R_min", "RR(8)", 0.9035),
            _near_sample("s_T,min", "s_T_min", "RR(8)", 0.849),
            _near_sample("PL(4,1): s_I,min", "s_R_min", "PL(4,1)", 0.9635),
            _near_sample("s_T,min", "s_T_min", "PL(4,1)", 0.858),
        ),
        published=f"0.934; 0.854; 0.904; 0.849; 0.964; 0.858; {_OF_TABLE_2}",
    ),
    ClaimRow(
        "Figure 4 (ii)",
        "with a threshold of 0.7 the strongest releases drop out: PL(4,1) stays, PL(3,1) does not",
        _OSAKA,
        tuple(
            RoundedCheck(f"{defence}: s_U", table_number("samples-4.csv", "utility", defence=defence), value)
            for defence, value in (("PL(4,1)", "0.7546"), ("PL(3,1)", "0.6746"))
        ),
        "0.7546; 0.6746",
    ),
)
