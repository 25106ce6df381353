"""From a file as owners have it to the scores of its release, in files that every command reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.command_line import tracearena
from tests.made_files import check_ins, commuters, travellers

from tracearena import io
from tracearena.io.places import read_pseudonyms


def answer(*arguments: object) -> dict[str, Any]:
    done = tracearena(*arguments, "--json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_check_ins_are_released_attacked_and_scored(tmp_path: Path, suffix: str) -> None:
    source = check_ins(tmp_path / "checkins.csv")
    original, reference, obfuscated, public, guess, traces = (
        tmp_path / f"{name}.{suffix}"
        for name in ("original", "reference", "obfuscated", "public", "guess", "traces")
    )
    secret = tmp_path / "secret.csv"
    halves = answer("convert", source, original, "--split-at", "2012-04-09", "--reference", reference)
    assert (halves["events"], halves["reference_events"], halves["users"]) == (12 * 6 * 4, 12 * 6 * 4, 12)
    assert halves["users_in_one_half"] == 0
    released = answer("obfuscate", "RR(1)", original, obfuscated, "--seed", 1)
    assert (released["users"], released["cells"]) == (12, 288)
    utility = answer("score", "utility", "--original", original, "--obfuscated", obfuscated)
    assert 0 < utility["utility"] < 1
    assert answer("pseudonymise", obfuscated, public, "--id-table", secret, "--seed", 2)["pseudonyms"] == 12
    attack = ("--reference", reference, "--anonymized", public, "--seed", 3)
    assert answer("attack", "VisitProb-R", guess, *attack)["kind"] == "inferred ID table"
    score = answer("score", "reidentification", "--id-table", secret, "--inferred", guess)
    assert (score["pseudonyms"], 0 <= score["reidentification"] <= 1) == (12, True)
    assert answer("attack", "VisitProb-T", traces, *attack)["kind"] == "inferred traces"
    missed = answer("score", "trace-inference", "--original", original, "--inferred", traces)
    assert (missed["cells"], 0 < missed["trace_inference"] <= 1) == (288, True)
    # Users keep their ids to the end: who was found was found under the id of the owner's file.
    who = read_pseudonyms(secret)
    assert set(who.values()) == {f"user{user:02d}" for user in range(12)}


def test_what_is_not_obfuscated_is_all_found(tmp_path: Path) -> None:
    source = check_ins(tmp_path / "checkins.csv")
    original, reference = tmp_path / "original.csv", tmp_path / "reference.csv"
    answer("convert", source, original, "--reference-days", 6, "--reference", reference)
    answer("obfuscate", "No", original, tmp_path / "same.csv")
    answer("pseudonymise", tmp_path / "same.csv", tmp_path / "pub.csv", "--id-table", tmp_path / "s.csv")
    known = ("--reference", reference, "--anonymized", tmp_path / "pub.csv", "--seed", 1)
    answer("attack", "VisitProb-R", tmp_path / "guess.csv", *known)
    score = answer(
        "score", "reidentification", "--id-table", tmp_path / "s.csv", "--inferred", tmp_path / "guess.csv"
    )
    assert score["identified"] == 12
    utility = answer("score", "utility", "--original", original, "--obfuscated", tmp_path / "same.csv")
    assert utility["utility"] == 1
    # The check-ins themselves under pseudonyms are anonymized traces as well.
    answer("pseudonymise", original, tmp_path / "plain.csv", "--id-table", tmp_path / "s2.csv")
    plain = ("--reference", reference, "--anonymized", tmp_path / "plain.csv", "--seed", 1)
    answer("attack", "VisitProb-R", tmp_path / "guess2.csv", *plain)
    again = answer(
        "score", "reidentification", "--id-table", tmp_path / "s2.csv", "--inferred", tmp_path / "guess2.csv"
    )
    assert again["identified"] == 12


def test_gps_points_are_released_attacked_and_scored(tmp_path: Path) -> None:
    source = commuters(tmp_path / "gps.csv")
    original, reference, released, public, recovered = (
        tmp_path / f"{name}.parquet" for name in ("original", "reference", "released", "public", "recovered")
    )
    guess, secret = tmp_path / "guess.csv", tmp_path / "secret.csv"
    halves = answer("convert", source, original, "--split-at", "2008-11-07", "--reference", reference)
    # The days are those of Beijing, where the points lie, though the file's times are UTC.
    assert (halves["points"], halves["reference_points"]) == (8 * 4 * 48, 8 * 4 * 48)
    assert answer("obfuscate", "GeoInd(200m)", original, released, "--seed", 1)["points"] == halves["points"]
    assert answer("pseudonymise", released, public, "--id-table", secret)["pseudonyms"] == 8
    known = ("--reference", reference, "--anonymized", public, "--seed", 1)
    answer("attack", "VisitProb-R", guess, *known, "--grid", "16x16")
    score = answer("score", "reidentification", "--id-table", secret, "--inferred", guess)
    assert score["identified"] > 4
    answer("attack", "Smooth(9)", recovered, "--anonymized", public)
    off = answer(
        "applications", "error", "--original", original, "--released", recovered, "--id-table", secret
    )
    assert (off["points"], off["unmatched"]) == (halves["points"], 0)


def test_gps_points_on_a_grid_are_events_to_every_command(tmp_path: Path) -> None:
    source = commuters(tmp_path / "gps.csv", users=4, days=4)
    grid = ("--grid", "8x8", "--resample", "last")
    released = tmp_path / "released.parquet"
    made = answer("obfuscate", "MRLH(1,1,0.2)", source, released, *grid, "--seed", 1)
    described = answer("describe", source, *grid)
    assert made["cells"] == described["events"]
    utility = answer("score", "utility", "--original", source, "--obfuscated", released, *grid)
    assert (utility["cells"], utility["deleted"]) == (made["cells"], made["deleted"])
    compared = answer("describe", released, "--original", source, *grid)
    counts = [compared[name] for name in ("kept", "moved", "sets", "deleted")]
    assert (sum(counts), compared["deleted"]) == (made["cells"], made["deleted"])
    table = tmp_path / "table.csv"
    options = ("--defences", "No", "--attacks", "VisitProb-R", "--seed", 1)
    swept = answer("sweep", table, "--original", source, "--split-at", "2008-11-05", *grid, *options)
    assert (swept["defences"], swept["failed"]) == (1, 0)


def test_every_command_counts_the_same_users_and_points_abroad(tmp_path: Path) -> None:
    """Nobody is lost who is in another country, and none of the points."""
    source = travellers(tmp_path / "world.parquet")
    everything = (10, 600)
    described = answer("describe", source)
    converted = answer("convert", source, tmp_path / "again.csv")
    released = answer("obfuscate", "GeoInd(100m)", source, tmp_path / "r.parquet", "--seed", 1)
    renamed = answer("pseudonymise", source, tmp_path / "p.csv", "--id-table", tmp_path / "t.csv")
    error = answer("applications", "error", "--original", source, "--released", tmp_path / "r.parquet")
    hidden = io.read(tmp_path / "p.csv").traces
    assert (described["users"], described["events"]) == everything
    assert (converted["users"], converted["points"]) == everything
    assert (released["users"], released["points"]) == everything
    assert (renamed["pseudonyms"], hidden.n_users, len(hidden)) == (10, *everything)
    assert error["points"] == 600
    assert pl.read_csv(tmp_path / "again.csv")["user_id"].n_unique() == 10


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.long)])
def test_a_release_of_single_places_is_converted_and_scored(tmp_path: Path, suffix: str) -> None:
    original = check_ins(tmp_path / "checkins.csv")
    obfuscated, public, plain = (tmp_path / f"{name}.{suffix}" for name in ("obfuscated", "public", "plain"))
    secret = tmp_path / "secret.csv"
    answer("obfuscate", "RR(1)", original, obfuscated, "--seed", 1)
    answer("pseudonymise", obfuscated, public, "--id-table", secret, "--seed", 2)
    for release in (obfuscated, public):
        converted = answer("convert", release, plain)
        assert (converted["format"], converted["users"], converted["dropped_rows"]) == ("released", 12, 0)
        assert io.read(plain).traces.n_events == io.read(release).traces.n_events == 576
    kept = answer("score", "utility", "--original", original, "--obfuscated", obfuscated)
    named = answer("score", "utility", "--original", original, "--obfuscated", public, "--id-table", secret)
    assert kept["utility"] == named["utility"]
    found = answer("score", "trace-inference", "--original", original, "--inferred", obfuscated)
    assert found["cells"] == 576


def test_a_folder_of_released_parts_is_converted(tmp_path: Path) -> None:
    original = check_ins(tmp_path / "checkins.csv")
    answer("obfuscate", "RR(1)", original, tmp_path / "parts", "--to", "partitions")
    done = tracearena("convert", tmp_path / "parts", tmp_path / "plain.csv", "--json")
    assert (done.json["events"], done.json["noticed"].get("other files")) == (576, None)


def test_a_release_with_sets_and_deleted_events_is_refused_by_a_sentence(tmp_path: Path) -> None:
    original = check_ins(tmp_path / "checkins.csv")
    release = tmp_path / "release.csv"
    made = answer("obfuscate", "MRLH(1,1,0.5)", original, release, "--grid", "8x8", "--seed", 1)
    done = tracearena("convert", release, tmp_path / "plain.csv")
    assert done.status == 2
    assert f"{made['generalised']} events at several places and {made['deleted']} deleted" in done.err
    assert "describe and score utility" in done.err
    assert not (tmp_path / "plain.csv").exists()


def test_pseudonyms_that_the_id_table_does_not_name_are_refused(tmp_path: Path) -> None:
    original = check_ins(tmp_path / "checkins.csv")
    answer("pseudonymise", original, tmp_path / "public.csv", "--id-table", tmp_path / "secret.csv")
    lines = (tmp_path / "secret.csv").read_text().splitlines(keepends=True)
    (tmp_path / "fewer.csv").write_text("".join(lines[:-1]))
    done = tracearena(
        "score", "utility", "--original", original, "--obfuscated", tmp_path / "public.csv",
        "--id-table", tmp_path / "fewer.csv",
    )  # fmt: skip
    assert (done.status, "who is not in the id table" in done.err) == (2, True)
