"""The judge's own attacks on what was released; they see what every team sees."""

from __future__ import annotations

import logging

from tracearena.arena.ensemble import make_attacks
from tracearena.contest import AttackKind
from tracearena.contest.simulation import SEED
from tracearena.files import replacing
from tracearena.formats import pwscup
from tracearena.server.judging.scoring import ANSWERS, sample_score
from tracearena.server.judging.truths import Bench, file_name
from tracearena.server.models import Contest, DataSet
from tracearena.server.operations.creation import out_of_sight
from tracearena.server.results import boards
from tracearena.server.sandbox.children import ChildDied, run_attacks
from tracearena.server.store import jobs, scores
from tracearena.server.store.grids import grid_of
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

_log = logging.getLogger(__name__)


def attack(taken: jobs.Taken, bench: Bench) -> None:
    """Run the sample attacks on a data set and seal the answers; a live board gets their scores at once."""
    data_set = _data_set(taken)
    rules = Contest.now_held().rules
    kinds = kinds_of(rules.sample_attacks)
    if kinds:
        try:
            answers = run_attacks(
                rules.sample_attacks,
                bench.reference(data_set),
                _public(data_set, bench),
                options=rules.scoring.of_attackers,
                seed=(SEED, int(data_set.team.number), data_set.number),
            )
        except ChildDied as death:
            _log.warning("the judge's attacks on %s ended: %s", data_set, death.said)
            raise
        for (name, kind), answer in zip(kinds.items(), answers, strict=True):
            with replacing(bench.answer_path(name, data_set, ANSWERS[kind]), private=True) as file:
                file.write(bench.sealed(_text(answer)))
    _write(taken, data_set, bench, on_live_users=True)


def score(taken: jobs.Taken, bench: Bench) -> None:
    """Score the answers of the sample attacks on a data set, when the attack phase is over."""
    _write(taken, _data_set(taken), bench, on_live_users=False)


def kinds_of(names: tuple[str, ...]) -> dict[str, AttackKind]:
    """Return what the sample attacks answer, by their names."""
    return {name: AttackKind(one.kind) for name, one in zip(names, make_attacks(names), strict=True)}


def _write(taken: jobs.Taken, data_set: DataSet, bench: Bench, *, on_live_users: bool) -> None:
    rules = Contest.now_held().rules
    found = {}
    if rules.mode == "live" or not on_live_users:
        for name, kind in kinds_of(rules.sample_attacks).items():
            value = sample_score(name, kind, data_set, bench, on_live_users=on_live_users)
            key = scores.sample_key(name, data_set)
            found[f"{scores.LIVE}/{key}" if on_live_users else key] = (value, (name, kind.value, data_set))
    with jobs.finishing(taken):
        for key, (value, sample) in found.items():
            scores.write(key, value, sample=sample)
        boards.forget()


def _data_set(taken: jobs.Taken) -> DataSet:
    return DataSet.objects.select_related("team").get(pk=taken.about["data_set"])


def _public(data_set: DataSet, bench: Bench) -> ObfuscatedTraces:
    """Return the released traces, read from the file that everybody has."""
    repeated = Contest.now_held().rules.utility_rule == "2019"
    path = bench.folder.everybody / file_name("pubtraces", data_set)
    return pwscup.read_anonymized(path, *grid_of(bench.folder), allow_repetition=repeated)


def _text(answer: IdTable | Traces) -> bytes:
    """Return an answer as its file."""
    with out_of_sight() as folder:
        path = folder / "answer.csv"
        if isinstance(answer, IdTable):
            pwscup.write_inferred_table(answer, path)
        else:
            pwscup.write_inferred_traces(answer, path)
        return path.read_bytes()
