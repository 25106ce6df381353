"""Attackers who know other days of the people, and attackers who know the very days that are released."""

from pathlib import Path

import pytest

from tracearena.arena import run_sweep
from tracearena.cities import simulate
from tracearena.errors import ParameterError
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def people() -> tuple[Traces, Traces]:
    reference, original = simulate(users=80, days=4, seed=1).split_days(2)
    return reference, original


@pytest.mark.slow
def test_who_knows_the_originals_identifies_at_least_as_many(people: tuple[Traces, Traces]) -> None:
    chosen = {"defences": ["PL(1,1)", "MRLH(3,3,0.5)"], "attacks": ["samples"], "seed": 1}
    partial, maximum = (run_sweep(*people, knowledge=known, **chosen) for known in ("partial", "maximum"))  # type: ignore[arg-type]
    for some, everything in zip(partial, maximum, strict=True):
        assert some.scores.s_R_min is not None
        assert everything.scores.s_R_min is not None
        assert everything.scores.s_R_min < some.scores.s_R_min


def test_who_knows_the_originals_finds_everybody_in_bare_traces(people: tuple[Traces, Traces]) -> None:
    (row,) = run_sweep(*people, defences=["No"], attacks=["VisitProb-R"], knowledge="maximum", seed=1)
    assert row.scores.s_R_min == 0


def test_who_knows_the_originals_is_not_asked_to_infer_them(people: tuple[Traces, Traces]) -> None:
    (row,) = run_sweep(*people, defences=["No"], attacks=["samples"], knowledge="maximum", seed=1)
    assert row.scores.trace_inference == {}
    assert row.scores.s_T_min is None
    with pytest.raises(ParameterError, match="nothing to infer"):
        run_sweep(*people, defences=["No"], attacks=["VisitProb-T"], knowledge="maximum")
    for asked in ({"band": True}, {"tune": True}):
        with pytest.raises(ParameterError, match="infers nothing"):
            run_sweep(*people, defences=["No"], knowledge="maximum", **asked)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="partial"):
        run_sweep(*people, defences=["No"], knowledge="all")  # type: ignore[arg-type]


def test_partial_knowledge_is_the_default(people: tuple[Traces, Traces]) -> None:
    chosen = {"defences": ["PL(1,1)"], "attacks": ["VisitProb-R"], "seed": 1}
    assert run_sweep(*people, **chosen) == run_sweep(*people, knowledge="partial", **chosen)  # type: ignore[arg-type]


def test_a_sweep_begun_with_other_knowledge_is_begun_anew(
    people: tuple[Traces, Traces], tmp_path: Path
) -> None:
    kept = tmp_path / "table.csv.unfinished"
    chosen = {"defences": ["PL(1,1)"], "attacks": ["VisitProb-R"], "seed": 1, "unfinished": kept}
    (partial,) = run_sweep(*people, **chosen)  # type: ignore[arg-type]
    (maximum,) = run_sweep(*people, knowledge="maximum", **chosen)  # type: ignore[arg-type]
    assert partial != maximum
