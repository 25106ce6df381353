"""The table of the papers' findings: every figure is in it, and no number is typed by hand."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import TypeVar

import pytest
from scipy.stats import f, norm
from tests.docs.pages import DOCS
from typer.testing import CliRunner

from tracearena.cli import build
from tracearena.errors import DataError
from tracearena.papers import claim_rows, list_figures, published_claims
from tracearena.papers.claims_table import format_claims_page, iterate_claims, select_commands
from tracearena.papers.published_claims import (
    HOLDS,
    HOLDS_NOT,
    SHOWN,
    UNMEASURED,
    UNTRIED,
    ClaimRow,
    CommandRun,
    JsonNumber,
    NearCheck,
    NumberGap,
    NumberRatio,
    PictureCheck,
    RangeCheck,
    RoundedCheck,
    StatementCheck,
    file_name,
    read_run,
    run_command,
    table_number,
    write_run,
)

C = TypeVar("C")
UNMEASURED_YET = {"figure arena-defences"}
"""Commands whose rows say "not measured": all attacks on every defence, twenty minutes or so."""
PAGE = DOCS / "measurements" / "findings.md"
TABLE = "defence,s_T\nNo,0.25\nPL(4,1),0.5\nNo,0.75\n".replace("PL(4,1)", '"PL(4,1)"')
RUN = CommandRun(
    "figure contest-8",
    "1",
    1,
    2.0,
    {
        "figure": "contest-8",
        "files": ["figures/contest-8.svg"],
        "findings": [{"statement": "it holds", "holds": False, "measured": "R = 0.3", "number": 0.3}],
        "deep": [{"number": 4}],
    },
    {"contest-8.csv": TABLE},
)


def test_the_page_is_what_the_command_writes() -> None:
    assert PAGE.read_text() == format_claims_page()


def test_every_figure_is_in_the_table() -> None:
    commands = [row.command or "" for _, row, _ in iterate_claims()]
    tried = {name for command in commands for name in re.findall(r"figure (\S+)", command)}
    made = {list_figures()[name].compute for name in tried}
    assert [name for name, one in list_figures().items() if one.compute not in made] == []


def test_only_long_runs_are_left_unmeasured() -> None:
    left = {row.command for _, row, run in iterate_claims() if row.command and run is None}
    assert left <= UNMEASURED_YET


def test_what_does_not_hold_says_why() -> None:
    assert [
        row.states for _, row, run in iterate_claims() if row.verdict(run) == HOLDS_NOT and not row.note
    ] == []


def list_tests_of_papers(kind: type[C]) -> list[tuple[ClaimRow, C]]:
    return [
        (row, check)
        for paper, row, _ in iterate_claims()
        for check in row.checks
        if paper != "ours" and isinstance(check, kind)
    ]


def is_written(limit: float, row: ClaimRow) -> bool:
    """Whether a limit stands in a row as of the paper, is the end of what rounds to it, or compares two."""
    words = re.findall(r"-?\d[\d,]*(?:\.\d+)?", f"{row.states} {row.published}")
    words = [word.rstrip(",").replace(",", "") for word in words]
    numbers = [float(word) for word in words]
    halves = [0.5 * 10.0 ** -len(word.partition(".")[2]) for word in words]
    ends = [number + sign * half for number, half in zip(numbers, halves, strict=True) for sign in (-1, 0, 1)]
    pairs = [pair for a in numbers for b in numbers if b for pair in (a / b, a - b)]
    return any(math.isclose(limit, one, rel_tol=1e-9, abs_tol=1e-12) for one in ends + pairs)


def test_every_number_that_limits_a_row_is_written_in_it() -> None:
    """What the paper says stands in the row; the limits of standard deviations have a test of their own."""
    assert [
        (row.states, limit)
        for row, check in list_tests_of_papers(RangeCheck)
        for limit in (check.least, check.most)
        if isinstance(limit, float | int) and not is_written(limit, row)
        if not row.states.startswith("standard deviation of s_")
    ] == []


def test_a_limit_that_is_not_written_is_noticed() -> None:
    row = ClaimRow("Figure 1", "at most 0.4 of 18", "figure contest-8", (StatementCheck("it"),))
    assert all(is_written(limit, row) for limit in (0.4, 0.35, 0.45, 18, 17.6))
    assert not any(is_written(limit, row) for limit in (0.3, 0.5, 0.1, 17, 0.36))


def test_a_distance_from_a_published_number_names_its_spread() -> None:
    words = ("spread", "standard error", "standard deviation")
    near = list_tests_of_papers(NearCheck)
    assert near
    assert [row.states for row, _ in near if not any(word in row.published for word in words)] == []


OF_THE_RUN = "two numbers of the run are compared"
OF_A_SPREAD = "a multiple of a standard deviation or of a distance between halves"
LIMITS_OF_STATEMENTS = {
    "virtual users live as the people whom they are learned from": OF_A_SPREAD,
    "k-anonymity lets at most one in k": OF_A_SPREAD,
    "the release with the highest score has the largest expected error": OF_THE_RUN,
    "with PPMTF+ every team": "[contest] B.1: less than 0.1 standard deviations",
    "with PPMTF two teams": "[contest] B.1: the same bound",
    "SGD's people behave alike": OF_THE_RUN,
    "re-identification of a virtual user is a guess": OF_A_SPREAD,
    "sharing factors between the tensors makes traces more useful (TP-TV)": OF_THE_RUN,
    "sharing factors between the tensors makes traces more useful (TM-EMD": OF_THE_RUN,
    "PPMTF comes near the training data": "[ppmtf] 4.4: below 0.02 and 0.055; near is nearer than uniform",
    "PPMTF keeps people's moves better than uniform places": OF_THE_RUN,
    "synthetic people of a cluster": OF_THE_RUN,
    "PPMTF keeps how often people come back better than SGD (VF-TV)": OF_THE_RUN,
    "PPMTF's people come back": OF_THE_RUN,
    "deniable synthetic traces keep": OF_THE_RUN,
    "parameters are useful only where": "[ppmtf] F: 20,000; useful is nearer to the best than to the worst",
    "profiles of places and of time": OF_A_SPREAD,
    "an attacker with the training traces": OF_A_SPREAD,
    "the update wins back part": OF_THE_RUN,
    "heaping what leaves the area on its border": OF_THE_RUN,
    "noise blurs the map": OF_THE_RUN,
    "independent noise makes people meet": OF_THE_RUN,
    "100 m of noise do not hide": OF_A_SPREAD,
    "fakes keep visits and people's time": OF_THE_RUN,
    "fakes that mean something hide a person better": OF_THE_RUN,
}
"""Statement of a figure that decides a row → where the limit in its `check_…_claims` is from."""


def test_every_statement_that_decides_a_row_says_where_its_limit_is_from() -> None:
    decide = {check.statement for _, check in list_tests_of_papers(StatementCheck) if check.tested}
    assert decide == set(LIMITS_OF_STATEMENTS)
    assert [
        row.states
        for paper, row, run in iterate_claims()
        if paper != "ours" and row.verdict(run) in (HOLDS, HOLDS_NOT) and "it takes" in row.ours(run)
    ] == []


def test_the_page_counts_every_verdict() -> None:
    found = Counter(row.verdict(run) for paper, row, run in iterate_claims() if paper != "ours")
    (line,) = [line for line in PAGE.read_text().splitlines() if line.startswith("Of the ")]
    counts = [found[verdict] for verdict in (HOLDS, HOLDS_NOT, SHOWN, UNTRIED, UNMEASURED)]
    assert [int(number) for number in re.findall(r"\d+", line)] == [found.total(), *filter(None, counts)]


def test_every_kept_run_belongs_to_a_row() -> None:
    shelf = Path(published_claims.__file__).parent / "measured"
    names = {file_name(row.command) for _, row, _ in iterate_claims() if row.command}
    assert {path.name for path in shelf.iterdir()} - names == set()


def test_a_row_looks_at_what_a_command_printed() -> None:
    at = table_number("contest-8.csv", "s_T", defence="No")
    assert at.of(RUN) == 0.5
    assert NearCheck("s_T", at, 0.6, 0.2).check_run(RUN) == ("s_T 0.5 (± 0.2)", True)
    assert not NearCheck("s_T", at, 0.8, 0.2).check_run(RUN).holds
    assert RoundedCheck("s_T", at, "0.50").check_run(RUN) == ("s_T 0.5 (required: rounds to 0.50)", True)
    assert RoundedCheck("s_T", at, "0.5").within == 0.05
    assert not RoundedCheck("s_T", at, "0.51").check_run(RUN).holds
    limit = table_number("contest-8.csv", "s_T", defence="PL(4,1)")
    assert RangeCheck("s_T", at, most=limit).check_run(RUN) == ("s_T 0.5 (required: at most 0.5)", True)
    assert not RangeCheck("s_T", at, least=0.6).check_run(RUN).holds
    assert NumberGap(at, limit).of(RUN) == 0
    assert NumberRatio(table_number("contest-8.csv", "s_T"), at).of(RUN) == 1
    assert StatementCheck("it").check_run(RUN) == ("R = 0.3", False)
    with pytest.raises(DataError, match="has no statement"):
        StatementCheck("it", whole=True).check_run(RUN)
    assert PictureCheck("contest").check_run(RUN) == ("contest-8.svg", None)
    assert RangeCheck("s_T", at).check_run(RUN) == ("s_T 0.5", None)
    assert StatementCheck("it", tested=False).check_run(RUN) == ("R = 0.3", None)
    assert JsonNumber("deep.0.number").of(RUN) == JsonNumber("deep.number=4.number").of(RUN) == 4


def test_what_is_not_there_is_named() -> None:
    for check, words in (
        (StatementCheck("else"), "has no statement"),
        (NearCheck("s", table_number("contest-8.csv", "s_T", defence="RR(1)"), 0, 0), "in a row with"),
        (NearCheck("s", table_number("other.csv", "s_T"), 0, 0), "wrote no other.csv"),
    ):
        with pytest.raises(DataError, match=words):
            check.check_run(RUN)


def test_a_row_has_a_command_or_says_what_is_missing() -> None:
    for wrong in ({}, {"command": "figure contest-8"}, {"command": "x", "checks": (), "missing": "data"}):
        with pytest.raises(DataError, match="names the missing data"):
            ClaimRow("Figure 1", "something", **wrong)
    row = ClaimRow("Figure 8", "something", "figure contest-8", (StatementCheck("it"),))
    assert (row.verdict(RUN), row.verdict(None), row.ours(RUN)) == (HOLDS_NOT, UNMEASURED, "R = 0.3")
    assert ClaimRow("Figure 8", "else", missing="data").verdict(None) == UNTRIED


def test_a_row_without_a_test_is_only_shown() -> None:
    shown, at = PictureCheck("contest"), table_number("contest-8.csv", "s_T", defence="No")
    for checks, verdict in (
        ((shown,), SHOWN),
        ((shown, RangeCheck("s_T", at)), SHOWN),
        ((shown, RangeCheck("s_T", at, least=0.5)), HOLDS),
        ((shown, RangeCheck("s_T", at, least=0.51)), HOLDS_NOT),
    ):
        row = ClaimRow("Figure 8", "something", "figure contest-8", checks)
        assert (row.verdict(RUN), row.verdict(None)) == (verdict, UNMEASURED)


def test_the_limit_of_a_guess_is_one_that_few_permutations_exceed() -> None:
    more_than_four = 1 - sum(math.exp(-1) / math.factorial(right) for right in range(5))
    assert round(100 * more_than_four, 1) == 0.4
    (check,) = (check for check in claim_rows._SHUFFLING if isinstance(check, RangeCheck))
    assert check.least == 1 - 4 / 2000


def test_limits_of_standard_deviations_are_quantiles_of_f() -> None:
    most = float(f.ppf(1 - 0.05 / 4 / 2, 16, 16)) ** 0.5
    assert (round(1 / most, 3), round(most, 3)) == (claim_rows._FEWEST_TIMES, claim_rows._MOST_TIMES)


@pytest.mark.parametrize(("published", "releases", "least"), [(0.895, 18, 0.735), (0.937, 18, 0.836)])
def test_limits_of_correlations_are_ends_of_their_intervals(
    published: float, releases: int, least: float
) -> None:
    assert round(math.tanh(math.atanh(published) - norm.ppf(0.975) / math.sqrt(releases - 3)), 3) == least
    checks = [check for row in claim_rows.CONTEST_CLAIMS for check in row.checks]
    limits = [check.least for check in checks if isinstance(check, RangeCheck) and check.label == "R"]
    assert least in limits


@pytest.mark.slow
def test_a_run_is_kept_with_its_command_version_and_seed(tmp_path: Path) -> None:
    run = run_command("algorithms synthesizer")
    assert (run.command, run.seed) == ("algorithms synthesizer", 1)
    path = write_run(run, tmp_path)
    assert path.name == file_name(run.command)
    assert read_run(run.command, tmp_path) == run
    assert read_run("algorithms attack", tmp_path) is None


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no figure 'nothing'"):
        run_command("figure nothing")


def test_commands_are_chosen_by_a_text_or_if_never_run(tmp_path: Path) -> None:
    assert set(select_commands(["table2 --data"])) == {
        "figure contest-table2 --data pwscup2019-osaka --zeros all"
    }
    assert len(select_commands(["missing"], tmp_path)) == len(
        {row.command for _, row, _ in iterate_claims()} - {None}
    )


def test_the_command_prints_the_rows_of_a_paper() -> None:
    result = CliRunner().invoke(build(["findings"]), ["findings", "--paper", "geo", "--json"])
    found = json.loads(result.stdout)["findings"]
    assert {row["paper"] for row in found} == {"geo"}
    assert {row["verdict"] for row in found} <= {HOLDS, HOLDS_NOT, SHOWN, UNTRIED}
    assert all(row["command"] or row["missing"] for row in found)
