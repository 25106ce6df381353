"""The judge's own attacks on everything that was released."""

from __future__ import annotations

from tracearena.arena.ensemble import Attack, Ensemble, make_attacks
from tracearena.arena.journal import code_of
from tracearena.contest.desk import Desk
from tracearena.contest.handout import official
from tracearena.contest.intake import Intake, answer_path, read_submissions
from tracearena.contest.truth import Truth
from tracearena.engine import child_seed, report, seed_sequence, use
from tracearena.files.staging import make_folder
from tracearena.formats import pwscup
from tracearena.traces import IdTable, Traces

SEED = 1


def attack_all(intake: Intake, *, seed: int = SEED) -> Intake:
    """Run the sample attacks of the rules on every valid release, and look through the folder again.

    They see what every team sees: reference traces and released traces. Answers that are there from
    the same files, attack and seed are kept, so a run that was stopped goes on.

    Parameters
    ----------
    intake
        The contest's folder.
    seed
        Seed of attacks that draw; it is part of what an answer is kept by.
    """
    desk = Desk(intake)
    targets = intake.targets()
    for done, target in enumerate(targets):
        report(done, len(targets))
        truth = Truth(desk, target)
        if desk.handed_in(truth).is_valid(desk.rules) and truth.is_released:
            _attack(desk, truth, seed)
    report(len(targets), len(targets))
    return read_submissions(intake.folder, intake.rules_file)


def _attack(desk: Desk, truth: Truth, seed: int) -> None:
    """Run the attacks that have no answer yet."""
    names = desk.rules.sample_attacks
    asked = [
        _Question(desk, truth, name, attack, seed)
        for name, attack in zip(names, make_attacks(names, **desk.rules.scoring.of_attackers), strict=True)
    ]
    open_ = {id(one.attack): one for one in asked if not one.is_answered}
    if not open_:
        return
    own = child_seed(seed_sequence(seed), int(truth.target[0]), truth.target[1])
    with use(progress=None):
        ensemble = Ensemble([one.attack for one in open_.values()]).fit(truth.reference)
        for attack, answer in ensemble.answers(truth.public, seed=own):
            open_[id(attack)].write(answer)


class _Question:
    """One attack on one release."""

    def __init__(self, desk: Desk, truth: Truth, name: str, attack: Attack, seed: int) -> None:
        kind = "etable" if attack.kind == "reidentification" else "etraces"
        team, number = int(truth.target[0]), truth.target[1]
        self.attack, self.ledger = attack, desk.ledger
        self.path = answer_path(desk.intake.judge, name, official(kind, team, number, attacker=0))
        self.files = [truth.file("reftraces"), truth.file("pubtraces"), *desk.frame]
        self.settings = [name, code_of([attack]), seed, desk.rules.scoring.of_attackers]

    @property
    def is_answered(self) -> bool:
        """Whether the answer is there that these files, this attack and this seed give."""
        known = self.ledger.known("answer", self.files, self.settings)
        return known is not None and self.path.is_file() and self.ledger.digest(self.path) == known

    def write(self, answer: IdTable | Traces) -> None:
        """Put the answer where it belongs, and remember it."""
        make_folder(self.path.parent)
        if isinstance(answer, IdTable):
            pwscup.write_inferred_table(answer, self.path)
        else:
            pwscup.write_inferred_traces(answer, self.path)
        self.ledger.forget(self.path)
        self.ledger.found("answer", self.files, self.settings, lambda: self.ledger.digest(self.path))
