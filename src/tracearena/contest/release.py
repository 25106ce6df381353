"""The end of the anonymization phase: every valid data set gets its pseudonyms, once and for all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracearena.arena.pseudonyms import pseudonymise
from tracearena.contest import data
from tracearena.contest.board import Target
from tracearena.contest.commitments import Commitment, commit, live_users, verify
from tracearena.contest.file_judge import FileJudge, GroundTruth, read_obfuscated
from tracearena.contest.submissions import ContestFolder, Refusal
from tracearena.engine import SeedLike, child_seed, report, seed_sequence
from tracearena.errors import FileError
from tracearena.files import read_bytes, replacing, replacing_all


@dataclass(frozen=True)
class ContestRelease:
    """What was released, now and before.

    Attributes
    ----------
    new, before
        Data sets that got their pseudonyms now, and those that have them already and keep them.
    invalid
        Data sets whose utility is below the threshold, with the utility.
    missing
        Data sets of which nothing was handed in that can be read.
    commitments
        Hash and salt of every ID table, by the name of its file.
    refused
        Files of this phase that do not count, and why.
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
    """Pseudonymise what is valid and not released yet, and hand it out with all commitments.

    An ID table that is there is never drawn again: a second call changes no file.

    Parameters
    ----------
    intake
        A contest's folder, as `tracearena.contest.data` lays it out.
    seed
        For experiments. None, for a real contest, takes shuffles and salts from the system's
        cryptographic source.
    """
    if intake.judge == intake.submissions:
        problem = "has no folders judge and submissions, as `contest data` makes them"
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
                    problem = f"is not the table whose hash stands in {data.COMMITMENTS}"
                    raise FileError.whole(path, problem, "contradiction")
            elif handed_in.path is None or handed_in.utility is None:
                missing.append(target)
            elif not handed_in.is_valid(desk.rules):
                invalid.append((target, handed_in.utility))
            else:
                # A table whose hash is published is lost; another one would not open the hash.
                table = str(data.official_file_name("ptable", int(target[0]), target[1]))
                if table in commitments:
                    problem = (
                        f"it or its pubtraces are gone, and its hash stands in {data.COMMITMENTS}: put both "
                        "back from a copy; another table will not be drawn"
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
    with replacing(everybody / data.LETTER) as file:
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
    release = pseudonymise(obfuscated, seed=None if seed is None else child_seed(seed, 0))
    team, number = int(truth.target[0]), truth.target[1]
    judge = desk.intake.judge
    drawn = None if seed is None else child_seed(seed, 2)
    live = live_users(desk.rules, release.id_table.user_ids, seed=drawn)
    names = data.write_release(judge, team, number, obfuscated, release, live)
    # The very bytes that came, so that nobody can say that another file was judged.
    with replacing(judge / names["obfuscated"], private=True) as file:
        file.write(read_bytes(handed_in))
    salt = None if seed is None else child_seed(seed, 1)
    return {names["id_table"]: commit(release.id_table, live=live, seed=salt)}
