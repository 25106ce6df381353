"""Score a release against its original: read both, whole or in chunks of users, and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tracearena.algorithms import GpsAttack, catalogue, validation
from tracearena.engine import Cluster
from tracearena.files.atomic import scratch_folder
from tracearena.io import Input
from tracearena.io.places import read_id_pairs
from tracearena.jobs import chunking
from tracearena.jobs.comparison import open_release_beside
from tracearena.jobs.feedback import join_cluster, show_progress
from tracearena.jobs.outputs import File, check_outputs, refuse_options
from tracearena.jobs.reading import ReadingOptions, note_problems
from tracearena.metrics import UtilityScore, utility_score
from tracearena.metrics.contest_scores import UtilitySum


def score_utility(
    original: File | Input,
    obfuscated: File | Input,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    id_table: File | None = None,
    rule: Literal["paper", "2019"] = "paper",
    cluster: Cluster | str | None = None,
) -> UtilityScore:
    """Score how close the released places are to the original ones (s_U; 1 means unchanged).

    Parameters
    ----------
    id_table
        Table of true identities, if the release has pseudonyms.
    rule
        How a generalised cell is scored: ``paper`` or ``2019``.
    cluster
        A Dask cluster, or the address of one.
    """
    before, after = reading.open(original), reading.open(obfuscated)
    # Original and release are read together, a few users at a time, where both are tables.
    if (
        rule == "paper"
        and id_table is None
        and after.is_chunked_release
        and chunking.can_be_processed_in_chunks(chunking.EVENTS, reading, before)
        and chunking.is_processed_in_chunks(chunking.EVENTS, reading, before, cluster=cluster)
    ):
        reading.refuse_limits()
        with join_cluster(cluster) as workers:
            return score_event_utility(reading, before, after.path, workers)
    refuse_options(
        "files that are read at once: with the rule of 2019, with pseudonyms, and in "
        "formats other than Parquet tables",
        cluster=cluster,
    )
    truth = reading.read_events(before)
    released, _ = reading.read_obfuscated(
        after,
        truth,
        allow_repetition=rule == "2019",
        id_table=None if id_table is None else read_id_pairs(id_table),
    )
    return utility_score(truth.traces, released, rule=rule)


def score_event_utility(
    reading: ReadingOptions, original: Input, obfuscated: Path, cluster: Cluster | None
) -> UtilityScore:
    """Score the utility of a released table against the table it was made from."""
    if cluster is not None:  # workers may have been started elsewhere
        original, obfuscated = original.resolve(), obfuscated.resolve()
    with scratch_folder() as scratch:
        with show_progress(f"reading {original.path.name}", cluster):
            table, found = chunking.open_event_table(reading, original, scratch, is_shared=False)
        note_problems(found)
        below = scratch / "released"
        below.mkdir()
        with show_progress(f"reading {obfuscated.name}", cluster):
            both = open_release_beside(table, found, obfuscated, below)
        with show_progress("scoring", cluster):
            return both.fold(UtilitySum.of).score


def attack_points(
    reading: ReadingOptions, name: str, out: Path, anonymized: Path, to: str | None
) -> dict[str, Any]:
    """Run an attack on GPS traces from file to file."""
    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = validation.run_recover(attacker, chunking.read_gps_traces(reading, anonymized, name))
    chunking.write_gps_traces(recovered, out, "points" if to == "table" else to)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    return result | {"users": recovered.n_users, "points": recovered.n_points}
