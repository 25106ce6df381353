"""A simulated contest in memory, with invented teams and virtual users of the embedded city.

The simulation makes the data, runs defences, the utility check, pseudonyms and commitments, lets all teams
attack each other, runs the judge's sample attacks, and computes board and awards, all from one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tracearena.arena.ensemble import AttackScores, Ensemble, make_attacks
from tracearena.arena.pseudonyms import Release
from tracearena.arena.sweep import SweepRow, require_success, run_sweep
from tracearena.contest.board import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    BoardRow,
    Roster,
    UtilityRecord,
    make_awards,
    make_board,
)
from tracearena.contest.commitments import Commitment, release_one
from tracearena.contest.contest_file import PSEUDONYMISED as PSEUDONYMISED_NUMBER
from tracearena.contest.contest_file import simulate_residents
from tracearena.contest.data import ContestPlan, VirtualUserModel, team_traces
from tracearena.contest.report_data import (
    DataSetView,
    ReportData,
    estimate_margin,
)
from tracearena.contest.rules import Rules
from tracearena.contest.simulated_teams import (
    DEFAULT,
    SimulatedTeam,
    plan_hand_ins,
    select_simulated_teams,
)
from tracearena.contest.virtual_days import contest_training
from tracearena.engine import child_seed, seed_sequence, use
from tracearena.metrics import UtilityScore, utility_score
from tracearena.traces import ObfuscatedTraces, Traces

Tell: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

PSEUDONYMISED = "Pseudonyms only"
CHEATING = tuple(f"Cheat({share:g})" for share in np.linspace(0, 1, 6))
SAMPLES = ("No", "MRLH(1,1,0.5)", "RR(1)", "RR(10)", "PL(1,1)", "PL(2,1)", "PL(4,1)", "PL(7,1)")
FEW = 100
"""People on whom the attacks are tried that take long."""
_CITY, _TEAM, _SAMPLE, _AFTERWARDS = range(4)
_DEFENCE, _SHUFFLE, _SALT, _ATTACK = range(4)


@dataclass(frozen=True, eq=False)
class Entrant:
    """One data set of the contest with its release and scores.

    Attributes
    ----------
    name, player
        The team; the pseudonymised team has no player.
    reference, original
        Reference and original traces of its people.
    obfuscated, utility, valid
        The submitted traces, their utility, and whether they are valid.
    release, commitment
        For a valid data set, the release under pseudonyms, and the commitment to its ID table.
    """

    name: str
    player: SimulatedTeam | None
    reference: Traces
    original: Traces
    obfuscated: ObfuscatedTraces
    utility: UtilityScore
    valid: bool
    release: Release[ObfuscatedTraces] | None
    commitment: Commitment | None


@dataclass(frozen=True, eq=False)
class SimulatedContest:
    """The result of a simulated contest.

    Attributes
    ----------
    seed, rules
        Seed and rules, which reproduce the contest.
    entrants
        All teams in the order of `SIMULATED_TEAMS`, then the pseudonymised one.
    practice
        Reference and original traces of the sample teams, which everybody knows.
    samples
        Sample defences on the first sample team, against every attack of the contest.
    cheating
        The cheating anonymization with growing shares of people, under the same attacks.
    board, awards
        The result.
    afterwards
        The teams' defences on some people of the first sample team, under the attacks of the contest and the
        additional `attacks`, with their bounds; empty without additional attacks.
    """

    seed: int
    rules: Rules
    entrants: tuple[Entrant, ...]
    practice: tuple[tuple[Traces, Traces], ...]
    samples: tuple[SweepRow, ...]
    cheating: tuple[SweepRow, ...]
    board: Board
    awards: tuple[Award, ...]
    afterwards: tuple[SweepRow, ...] = ()

    @property
    def teams(self) -> tuple[Entrant, ...]:
        """The competing teams."""
        return tuple(one for one in self.entrants if one.player is not None)

    @property
    def margin(self) -> float:
        """The effect of chance on a score: how much teams of this size with the same defence differ."""
        return estimate_margin(self.rules.users)

    def entrant(self, name: str) -> Entrant:
        """Return one data set by the name of its team."""
        return next(one for one in self.entrants if one.name == name)

    def to_report_data(self, command: str) -> ReportData:
        """Return the data of its report, as for a contest held by files."""
        rules = self.rules
        winners = " and ".join(self.awards[0].winners) or "Nobody"
        places = self.awards[0].places
        kept = f": {places[0].value:.0%} of whereabouts stayed hidden from the best attack" if places else ""
        lead = (
            f"The {rules.challenge}: each of {len(self.teams)} teams published traces of {rules.users:,} "
            f"people over {rules.original_days} days, obfuscated so that they stay useful but "
            f"protect the people; then the teams attacked each other's data. {winners} defended "
            f"best{kept}. The people, the city and the teams are invented; the methods and the rules are "
            "real."
        )

        def look(row: BoardRow) -> DataSetView:
            entrant = self.entrant(row.team)
            return DataSetView(entrant.name, 1, entrant.original, entrant.obfuscated)

        return ReportData(
            "A contest of hide and seek",
            lead,
            self.board,
            self.awards,
            command,
            players={one.name: one.player for one in self.entrants if one.player is not None},
            look=look,
            samples=self.samples,
            cheating=self.cheating,
            afterwards=self.afterwards,
            commitments={one.name: one.commitment for one in self.entrants if one.commitment is not None},
            seed=self.seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "seed": self.seed,
            "teams": len(self.teams),
            "users": self.rules.users,
            "reference_days": self.rules.reference_days,
            "original_days": self.rules.original_days,
            "margin": self.margin,
            "awards": [award.to_dict() for award in self.awards],
            "board": [
                row.to_dict() | {"defence": defence_name(self.entrant(row.team))} for row in self.board.rows
            ],
            "attacks": self.board.to_dict()["attacks"],
            "commitments": {
                one.name: one.commitment.digest for one in self.entrants if one.commitment is not None
            },
            **({"afterwards": [row.to_dict() for row in self.afterwards]} if self.afterwards else {}),
        }


def defence_name(entrant: Entrant) -> str:
    """Return the name of a team's defence in the catalogue."""
    return "No" if entrant.player is None else entrant.player.defence


def simulate_contest(
    *,
    teams: int = DEFAULT,
    users: int = 1_000,
    days: int = 40,
    maker: VirtualUserModel | None = None,
    attacks: Sequence[str] = (),
    seed: int,
    tell: Tell | None = None,
) -> SimulatedContest:
    """Simulate a contest from the data to the awards.

    Parameters
    ----------
    teams
        Number of competing teams, 2 to 21: the first ones of `SIMULATED_TEAMS`.
    users, days
        Virtual users of each team, and their days; the first half is reference, the second original. No
        person belongs to two teams.
    maker
        A trained model for the virtual users; by default PPMTF+, trained on a thousand people of the
        simulated city.
    attacks
        Additional attacks, such as ``("strongest",)``, that the judge runs after the awards on the teams'
        defences for at most 100 people of the first sample team. They do not change the scores.
    seed
        Seed of all randomness, including pseudonyms and salts, which a real contest draws from the operating
        system.
    tell
        Called with the progress.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> from tracearena.synthesis import PPMTF
    >>> model = PPMTF(factors=2, iterations=2).fit(simulate(users=20, days=2, seed=1), seed=1)
    >>> held = simulate_contest(teams=2, users=20, days=4, maker=model, seed=1)
    >>> [entrant.name for entrant in held.entrants]
    ['Paper Cranes', 'Card Sharps', 'Pseudonyms only']
    """
    cast, root = select_simulated_teams(teams), seed_sequence(seed)
    say: Tell = tell or (lambda what, done, total: None)
    plan = ContestPlan(teams=len(cast), users=users, days=days)
    rules = Rules(users=users, reference_days=plan.reference_days, original_days=days - plan.reference_days)
    city = child_seed(root, _CITY)
    if maker is None:
        from tracearena.synthesis import PPMTF

        with use(progress=partial(say, "simulating people in the city")):
            residents = simulate_residents(plan.reference_days, seed=child_seed(city, 0))
        with use(progress=partial(say, "training the model of virtual users")):
            maker = PPMTF().fit(contest_training(residents), seed=child_seed(city, 1))
    data, groups = [], len(plan.roles())
    for group in range(groups):
        say("making people for every team", group, groups)
        data.append(team_traces(maker, plan, child_seed(city, 2, group)))
    practice = tuple(data[len(cast) + 1 :])

    entrants = []
    for number, (player, (reference, original)) in enumerate(zip((*cast, None), data, strict=False)):
        say("teams defend", number, len(cast) + 1)
        own = child_seed(root, _TEAM, number)
        if player is None:
            name, obfuscated = PSEUDONYMISED, ObfuscatedTraces.from_traces(original)
        else:
            name, obfuscated = player.name, player.obfuscate(original, seed=child_seed(own, _DEFENCE))
        rule, limit_km = rules.utility_rule, rules.utility_limit_km
        utility = utility_score(original, obfuscated, rule=rule, limit_km=limit_km)
        valid = rules.is_valid(utility.utility)
        release = commitment = None
        if valid:
            seeds = [child_seed(own, _SHUFFLE), child_seed(own, _SALT), None]
            release, _, commitment = release_one(obfuscated, rules, seeds=seeds)
        entrants.append(
            Entrant(name, player, reference, original, obfuscated, utility, valid, release, commitment)
        )

    # Each different attack runs once on each published data set, and counts for everybody who uses it.
    used = (name for player in cast for name in player.attacks)
    every, hand_ins = list(dict.fromkeys((*rules.sample_attacks, *used))), plan_hand_ins(len(cast))
    records: list[AttackRecord] = []
    for number, target in enumerate(entrants):
        say("everybody attacks", number, len(entrants))
        if target.release is not None:
            known = rules.scoring.attacker_settings
            ensemble = Ensemble(make_attacks(every, **known), **known).fit(target.reference)
            own = child_seed(root, _TEAM, number, _ATTACK)
            scores = ensemble.score(target.original, target.release, seed=own)
            attacked = PSEUDONYMISED_NUMBER if target.player is None else f"{number + 1:03d}"
            attackers = sorted(int(one.team) for one in hand_ins if one.target == attacked)
            records += _credit_attacks(target.name, scores, [cast[one - 1] for one in attackers], rules)

    names = [player.name for player in cast]
    roster = Roster(teams=names, pseudonymised=PSEUDONYMISED, samples=rules.sample_attacks)
    utilities = [UtilityRecord(team=one.name, utility=one.utility.utility) for one in entrants]
    board = make_board(rules, roster, utilities, records)

    # Sample defences meet every attack of the contest, so that they compare with the teams'.
    defences, scoring = (*SAMPLES, *CHEATING), rules.scoring
    with use(progress=partial(say, "judging sample defences")):
        own = child_seed(root, _SAMPLE)
        rows = run_sweep(*practice[0], defences=defences, attacks=every, scoring=scoring, seed=own)
    require_success(rows)
    samples, cheating = tuple(rows[: len(SAMPLES)]), tuple(rows[len(SAMPLES) :])

    after: tuple[SweepRow, ...] = ()
    if attacks:
        reference, original = (traces.take_users(np.arange(min(FEW, users))) for traces in practice[0])
        with use(progress=partial(say, "judging with the strongest attacks")):
            rows = run_sweep(
                reference,
                original,
                defences=list(dict.fromkeys(("No", *(player.defence for player in cast)))),
                attacks=[*every, *attacks],
                scoring=scoring,
                band=True,
                seed=child_seed(root, _AFTERWARDS),
            )
        after = tuple(require_success(rows))
    return SimulatedContest(
        seed, rules, tuple(entrants), practice, samples, cheating, board, make_awards(board), after
    )


def _credit_attacks(
    target: str, scores: AttackScores, players: Sequence[SimulatedTeam], rules: Rules
) -> Iterator[AttackRecord]:
    for kind, by_name in (
        (AttackKind.REIDENTIFICATION, scores.reidentification),
        (AttackKind.TRACE_INFERENCE, scores.trace_inference),
    ):
        attribute = "identification" if kind is AttackKind.REIDENTIFICATION else "inference"
        chosen = {name: name for name in rules.sample_attacks}
        for attacker, attack in (chosen | {one.name: getattr(one, attribute) for one in players}).items():
            if attack in by_name:
                yield AttackRecord(attacker=attacker, target=target, kind=kind, score=by_name[attack])
