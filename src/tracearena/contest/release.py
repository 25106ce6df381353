"""The end of the anonymization phase: every valid data set gets its final pseudonyms.

Then the judge's own attacks run on what was released: in a contest by files (`attack_all`), or in a child
process of a server. Both answer by `attack_one`, so the same files get the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.arena.ensemble import Attack, Ensemble, make_attacks
from tracearena.arena.sweep import digest_code
from tracearena.contest import data
from tracearena.contest.board import AttackKind, Target
from tracearena.contest.commitments import Commitment, release_one, verify
from tracearena.contest.file_judge import ANSWER_KINDS, FileJudge, GroundTruth, read_obfuscated
from tracearena.contest.submissions import ContestFolder, Refusal, answer_path, read_submissions
from tracearena.engine import SeedLike, child_seed, report, seed_sequence, use
from tracearena.errors import FileError
from tracearena.files import read_bytes, replacing, replacing_all
from tracearena.files.atomic import make_folder
from tracearena.io import pwscup
from tracearena.traces import IdTable, ObfuscatedTraces, Traces

SEED = 1
"""Of the judge's own attacks."""


@dataclass(frozen=True)
class ContestRelease:
    """The data sets that were released, now and before.

    Attributes
    ----------
    new, before
        Data sets that got pseudonyms in this call, and those that had them before.
    invalid
        Data sets whose utility is below the threshold, with the utility.
    missing
        Data sets without a readable submission.
    commitments
        Hash and salt of every ID table, by file name.
    refused
        Files of this phase that do not count, with reasons.
    """

    new: tuple[Target, ...]
    before: tuple[Target, ...]
    invalid: tuple[tuple[Target, float], ...]
    missing: tuple[Target, ...]
    commitments: dict[str, Commitment]
    refused: tuple[Refusal, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain values for JSON; salts are for the judge alone."""
        return {
            "released": [list(target) for target in self.new],
            "released_before": [list(target) for target in self.before],
            "invalid": [[*target, utility] for target, utility in self.invalid],
            "missing": [list(target) for target in self.missing],
            "commitments": {name: one.digest for name, one in sorted(self.commitments.items())},
            "refused": [one.to_dict() for one in self.refused],
        }


def release_all(intake: ContestFolder, *, seed: SeedLike = None) -> ContestRelease:
    """Pseudonymise all valid data sets that are not released yet, and publish them with all commitments.

    An existing ID table is never drawn again, so a second call changes no file.

    Parameters
    ----------
    intake
        The folder of a contest, as made by `write_contest_data`.
    seed
        For experiments. None, for a real contest, takes shuffles and salts from the system's
        cryptographic source.
    """
    if intake.judge == intake.submissions:
        problem = "has no folders judge and submissions, which `contest data` makes"
        raise FileError.whole(intake.folder, problem, "no-folder")
    desk = FileJudge(intake)
    root = None if seed is None else seed_sequence(seed)
    new, before, invalid, missing = [], [], [], []
    commitments = data.read_commitments(intake.folder)
    targets = intake.targets()
    with replacing_all():
        for done, target in enumerate(targets):
            report(done, len(targets))
            truth = GroundTruth(desk, target)
            handed_in = desk.select_submission(truth)
            if truth.is_released:
                before.append(target)
                path = truth.file("ptable")
                known = commitments.get(path.name.removesuffix(".gz"))
                if known is None:
                    raise FileError.whole(path, f"has no hash in {data.COMMITMENTS}", "no-commitment")
                if not verify(known.digest, truth.id_table, known.salt, truth.live):
                    problem = f"does not match its hash in {data.COMMITMENTS}"
                    raise FileError.whole(path, problem, "contradiction")
            elif handed_in.path is None or handed_in.utility is None:
                missing.append(target)
            elif not desk.rules.is_valid(handed_in.utility):
                invalid.append((target, handed_in.utility))
            else:
                # A table whose hash is published is lost; another one would not open the hash.
                table = str(data.official_file_name("ptable", int(target[0]), target[1]))
                if table in commitments:
                    problem = (
                        f"it or its pubtraces are missing, but its hash is in {data.COMMITMENTS}: "
                        "restore both from a copy; no other table will be drawn"
                    )
                    raise FileError.whole(intake.judge / table, problem, "missing")
                new.append(target)
                own = None if root is None else child_seed(root, int(target[0]), target[1])
                commitments |= _release_data_set(desk, truth, handed_in.path, own)
        if new:
            data.write_commitments(intake.folder, commitments)
    # What goes out is a copy of what is fixed now: a run stopped here is finished by the next.
    everybody, released = intake.folder / data.EVERYBODY, sorted([*before, *new])
    for team, number in released:
        names = (data.official_file_name(kind, int(team), number) for kind in ("reftraces", "pubtraces"))
        data.copy_files((intake.judge / str(name) for name in names), everybody)
    with replacing(everybody / data.ATTACK_LETTER) as file:
        teams = list(dict.fromkeys(team for team, _ in released))
        file.write(data.format_public_letter(intake.charter, teams).encode())
    report(len(targets), len(targets))
    phase = [one for one in desk.refused if "anotraces" in Path(one.file).name or one.code == "wrong-name"]
    return ContestRelease(
        tuple(new), tuple(before), tuple(invalid), tuple(missing), commitments, tuple(phase)
    )


def _release_data_set(
    desk: FileJudge, truth: GroundTruth, handed_in: Path, seed: Any
) -> dict[str, Commitment]:
    """Shuffle one data set into the judge's folder, and fix its ID table."""
    obfuscated = read_obfuscated(handed_in, truth.original, desk.rules)
    seeds = [None if seed is None else child_seed(seed, number) for number in range(3)]
    release, live, commitment = release_one(obfuscated, desk.rules, seeds=seeds)
    judge = desk.intake.judge
    names = data.write_release(judge, int(truth.target[0]), truth.target[1], obfuscated, release, live)
    # The very bytes that came, so that nobody can say that another file was judged.
    with replacing(judge / names["obfuscated"], private=True) as file:
        file.write(read_bytes(handed_in))
    return {names["id_table"]: commitment}


# The judge's own attacks on everything that was released.


def attack_one(
    attacks: Sequence[Attack],
    reference: Traces,
    released: ObfuscatedTraces,
    *,
    seed: SeedLike,
    target: Target,
) -> Iterator[tuple[Attack, IdTable | Traces]]:
    """Yield what attacks answer about one data set, from what every team sees.

    Parameters
    ----------
    seed
        Of the contest; every data set has a child of it, by the numbers of its team and its own.
    """
    own = child_seed(seed_sequence(seed), int(target[0]), target[1])
    with use(progress=None):
        yield from Ensemble(attacks).fit(reference).answers(released, seed=own)


def write_answer(answer: IdTable | Traces, path: str | PathLike[str]) -> None:
    """Write what an attack answers, as a team hands it in."""
    if isinstance(answer, IdTable):
        pwscup.write_inferred_table(answer, path)
    else:
        pwscup.write_inferred_traces(answer, path)


def attack_all(intake: ContestFolder, *, seed: int = SEED) -> ContestFolder:
    """Run the sample attacks of the rules on every valid release, and read the folder again.

    The attacks use what every team has: reference traces and released traces. Existing answers for the same
    files, attack and seed are kept, so an interrupted run resumes.

    Parameters
    ----------
    intake
        The contest's folder.
    seed
        Seed of attacks that use randomness; answers with another seed are computed again.
    """
    desk = FileJudge(intake)
    targets, names = intake.targets(), desk.rules.sample_attacks
    for done, target in enumerate(targets):
        report(done, len(targets))
        truth = GroundTruth(desk, target)
        if not desk.rules.is_valid(desk.select_submission(truth).utility) or not truth.is_released:
            continue
        made = zip(names, make_attacks(names, **desk.rules.scoring.attacker_settings), strict=True)
        tasks = [_AttackTask(desk, truth, name, attack, seed) for name, attack in made]
        waiting = {id(one.attack): one for one in tasks if not one.is_answered}
        if waiting:
            attacks = [one.attack for one in waiting.values()]
            answers = attack_one(attacks, truth.reference, truth.public, seed=seed, target=target)
            for attack, answer in answers:
                waiting[id(attack)].write(answer)
    report(len(targets), len(targets))
    return read_submissions(intake.folder, intake.rules_file)


class _AttackTask:
    """One attack on one release."""

    def __init__(self, desk: FileJudge, truth: GroundTruth, name: str, attack: Attack, seed: int) -> None:
        kind, team, number = ANSWER_KINDS[AttackKind(attack.kind)], int(truth.target[0]), truth.target[1]
        self.attack, self.ledger = attack, desk.ledger
        official = data.official_file_name(kind, team, number, attacker=0)
        self.path = answer_path(desk.intake.judge, name, official)
        self.files = [truth.file("reftraces"), truth.file("pubtraces"), *desk.frame]
        self.settings = [name, digest_code([attack]), seed, desk.rules.scoring.attacker_settings]

    @property
    def is_answered(self) -> bool:
        """Whether the answer is there that these files, this attack and this seed give."""
        known = self.ledger.lookup("answer", self.files, self.settings)
        return known is not None and self.path.is_file() and self.ledger.digest(self.path) == known

    def write(self, answer: IdTable | Traces) -> None:
        """Put the answer where it belongs, and remember it."""
        make_folder(self.path.parent)
        write_answer(answer, self.path)
        self.ledger.forget(self.path)
        self.ledger.get_or_compute("answer", self.files, self.settings, lambda: self.ledger.digest(self.path))
