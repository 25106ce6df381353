"""The rules of a contest as data: what is configured, checked, stored and shown on the rules page."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeVar, get_args

from tracearena.algorithms import catalogue, parse
from tracearena.arena.ensemble import Scoring
from tracearena.checks import require_choice, require_number, require_switch, require_whole
from tracearena.errors import ParameterError
from tracearena.i18n import translate, translate_count
from tracearena.metrics.contest_scores import UtilityRule

Mode = Literal["sealed", "live"]
U = TypeVar("U")
STRONGEST = "strongest"
"""Stands among sample attacks for every attack that weighs all evidence without knowing the defence."""


def _with_check(check: Callable[..., None], **limits: Any) -> dict[str, Any]:
    """Return the metadata of a rule that `check` takes or refuses, by its name and value."""
    return {"check": partial(check, **limits)}


def _check_hours(name: str, value: Any) -> None:
    for hour in value if isinstance(value, tuple) else ():
        require_whole(name, hour, at_least=0, at_most=23)
    if not isinstance(value, tuple) or not value or any(a >= b for a, b in pairwise(value)):
        raise ParameterError.of(name, value, "rising hours from 0 to 23")


def _check_attacks(name: str, value: Any) -> None:
    if not isinstance(value, tuple) or not all(map(_is_attack, value)) or len(set(value)) < len(value):
        allowed = "different names of attacks in the catalogue that are ready, import paths, or strongest"
        raise ParameterError.of(name, value, allowed)


def _is_attack(spec: Any) -> bool:
    try:
        name, positional, named = parse(spec)
    except (ParameterError, TypeError):
        return False
    entry = catalogue.entries().get(name)
    if "adaptive" in (*positional, *named.values()):
        # A judge who runs sample attacks does not know how the teams defend.
        return False
    return ":" in name if entry is None else entry.kind in ("reidentification", "trace-inference")


_COUNT = _with_check(require_whole, at_least=1)
_POSITIVE = _with_check(require_number, above=0)
_SHARE = _with_check(require_number, at_least=0, at_most=1)
_PROPER_SHARE = _with_check(require_number, above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Every rule of a contest; the defaults are those of the 2019 contest.

    Parameters
    ----------
    users
        Virtual users of each team and data set.
    reference_days, original_days
        Days known to every attacker, and days to be defended.
    data_sets
        Data sets per team: 1, or 2 as in 2019, where the first is defended against re-identification and the
        second against trace inference.
    sample_teams
        Teams whose traces everybody gets, originals included, to practise on.
    pseudonymised_team
        Whether one more team's traces, only pseudonymised, are a target for all.
    sample_attacks
        Attacks that the judge runs on every target, by their names in the catalogue. Adaptive attacks are not
        allowed, because they need the defence. ``"strongest"`` stands for all attacks in
        `UNINFORMED_ATTACKS`.
    utility_threshold
        Lowest utility of a valid data set (equality is valid), from 0 to 1.
    utility_rule
        How a set of places is scored: ``"paper"`` caps the mean distance, ``"2019"`` averages
        the capped distances.
    utility_limit_km, inference_limit_km
        Distances from which a place is useless, or an inference has failed.
    sensitive_weight
        Weight of a sensitive place in the trace-inference score; other places weigh 1.
    overall_total
        Whether there is also an overall award for the highest total of a team: s_R,min of its first data set
        plus s_T,min of its last.
    final_weight
        Weight after a preliminary round: total = preliminary + `final_weight` × this round.
    winner_takes_attack_awards
        Whether the overall winner may also win the awards for attacks.
    obfuscated_uploads
        Limit of uploads per team and data set in the anonymization phase.
    attack_uploads
        Limit of uploads per team and target in the attack phase.
    largest_file_mb, largest_listed_ids
        Limits of one file: megabytes of 2^20 bytes, and place ids listed in it.
    mode
        ``"sealed"``: the only answer to an attack is a receipt. ``"live"``: there is a board during the
        attack phase.
    live_share
        Share of the users on whom the live board is computed; the final scores are computed on the others.
    live_decimals, live_answers_a_day, live_refresh_hours
        Decimals on the live board, scored answers per attacker, target and day, and the hours
        (UTC) at which the board changes.

    References
    ----------
    [contest] sections 3.2 to 3.4.

    Examples
    --------
    >>> Rules().is_valid(0.7)
    True
    >>> Rules.from_dict({"data_sets": 2}).data_sets
    2
    """

    users: int = field(default=2000, metadata=_COUNT)
    reference_days: int = field(default=20, metadata=_COUNT)
    original_days: int = field(default=20, metadata=_COUNT)
    data_sets: int = field(default=1, metadata=_with_check(require_whole, at_least=1, at_most=2))
    sample_teams: int = field(default=2, metadata=_with_check(require_whole, at_least=0))
    pseudonymised_team: bool = field(default=True, metadata=_with_check(require_switch))
    sample_attacks: tuple[str, ...] = field(
        default=("VisitProb-R", "HomeProb-R", "VisitProb-T", "HomeProb-T"),
        metadata=_with_check(_check_attacks),
    )
    utility_threshold: float = field(default=0.7, metadata=_SHARE)
    utility_rule: UtilityRule = field(
        default="paper", metadata=_with_check(require_choice, choices=get_args(UtilityRule))
    )
    utility_limit_km: float = field(default=2.0, metadata=_POSITIVE)
    inference_limit_km: float = field(default=2.0, metadata=_POSITIVE)
    sensitive_weight: float = field(default=10.0, metadata=_POSITIVE)
    overall_total: bool = field(default=False, metadata=_with_check(require_switch))
    final_weight: float = field(default=9.0, metadata=_POSITIVE)
    winner_takes_attack_awards: bool = field(default=True, metadata=_with_check(require_switch))
    obfuscated_uploads: int = field(default=20, metadata=_COUNT)
    attack_uploads: int = field(default=20, metadata=_COUNT)
    largest_file_mb: int = field(default=64, metadata=_COUNT)
    largest_listed_ids: int = field(default=16_000_000, metadata=_COUNT)
    mode: Mode = field(default="sealed", metadata=_with_check(require_choice, choices=get_args(Mode)))
    live_share: float = field(default=0.3, metadata=_PROPER_SHARE)
    live_decimals: int = field(default=2, metadata=_with_check(require_whole, at_least=1, at_most=3))
    live_answers_a_day: int = field(default=3, metadata=_COUNT)
    live_refresh_hours: tuple[int, ...] = field(default=(0, 6, 12, 18), metadata=_with_check(_check_hours))

    def __post_init__(self) -> None:
        names = self.sample_attacks
        if isinstance(names, tuple) and STRONGEST in names:
            from tracearena.arena.ensemble import UNINFORMED_ATTACKS

            at = names.index(STRONGEST)
            names = tuple(dict.fromkeys((*names[:at], *UNINFORMED_ATTACKS, *names[at + 1 :])))
            object.__setattr__(self, "sample_attacks", names)
        for rule in fields(self):
            rule.metadata["check"](rule.name, getattr(self, rule.name))
        if not self.winner_takes_attack_awards and not self.overall_total:
            raise ParameterError.of(
                "winner_takes_attack_awards", False, "true without an overall award (overall_total)"
            )

    def name_data_set(self, number: int) -> str:
        """Return the name of a data set; with two data sets per team, the name of its challenge.

        >>> Rules().name_data_set(1), Rules(data_sets=2).name_data_set(2)
        ('data set', 'data set against trace inference (TRP)')
        """
        if self.data_sets == 1:
            return translate("data set")
        if number == 1:
            return translate("data set against re-identification (IDP)")
        return translate("data set against trace inference (TRP)")

    @property
    def challenge(self) -> str:
        """The challenge or challenges, with their names in [contest] footnote 3."""
        if self.data_sets == 1:
            return "trace-inference challenge"
        return "re-identification challenge and trace-inference challenge"

    @property
    def scoring(self) -> Scoring:
        """The scoring of releases and attacks under these rules."""
        return Scoring(**{field.name: getattr(self, field.name) for field in fields(Scoring)})

    def is_valid(self, utility: float | None) -> bool:
        """Whether a data set of this utility is published and counts; None if nothing was handed in."""
        return utility is not None and self.scoring.is_valid(utility)

    def select_counting(self, newest_first: Iterable[tuple[U, float]]) -> tuple[U, float] | None:
        """Return the upload that counts, of all for a data set with their utilities; None without one.

        It is the last valid one, or the last one if none is valid.

        >>> Rules().select_counting([("third", 0.2), ("second", 0.8), ("first", 0.9)])
        ('second', 0.8)
        """
        last = None
        for upload, utility in newest_first:
            if self.is_valid(utility):
                return upload, utility
            last = last or (upload, utility)
        return last

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain values for JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Make rules from plain values; missing rules have their defaults."""
        known = [rule.name for rule in fields(cls)]
        for name in values:
            if name not in known:
                close = difflib.get_close_matches(str(name), known, 1)
                hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
                raise ParameterError(f"there is no rule {name!r}{hint}")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**given)

    def explain(self) -> list[str]:
        """Return the rules as plain sentences, in the order of the contest.

        >>> Rules().explain()[-1]
        'Sealed: you get a receipt for each attack that you upload, whether or not the attack is right. ...'
        """
        return [sentence for _, sentences in self.chapters() for sentence in sentences]

    def chapters(self) -> list[tuple[str, list[str]]]:
        """Return the sentences of `explain` under headings, for a page.

        >>> [heading for heading, _ in Rules().chapters()]
        ['Whose traces', 'Handing in', 'Scores', 'Awards', 'What is shown, and when']
        """
        return [
            (translate("Whose traces"), _describe_data(self)),
            (translate("Handing in"), _describe_uploads(self)),
            (translate("Scores"), _describe_scores(self)),
            (translate("Awards"), _describe_awards(self)),
            (translate("What is shown, and when"), _describe_answers(self)),
        ]


# The rules in plain sentences.


def _describe_data(rules: Rules) -> list[str]:
    sentences = [
        translate(
            "Each team gets the traces of {users} virtual users of its own: {reference_days} days of "
            "reference traces, which every attacker will know, and {original_days} days of original traces "
            "to defend.",
            users=f"{rules.users:,}",
            reference_days=rules.reference_days,
            original_days=rules.original_days,
        )
    ]
    if rules.data_sets == 2:
        sentences.append(
            translate(
                "Each team defends two data sets: the first against re-identification, the second against "
                "trace inference."
            )
        )
    else:
        sentences.append(translate("Each team defends one data set: this is the trace-inference challenge."))
    if rules.sample_teams:
        sentences.append(
            translate(
                "Traces of {teams} more teams, originals included, go to everybody for practice.",
                teams=rules.sample_teams,
            )
        )
    if rules.pseudonymised_team:
        extra = translate(
            "One extra team's traces are only pseudonymised, not obfuscated; they are a target for all."
        )
        two = rules.data_sets == 2
        sentences.append(translate("{rule} It has one data set.", rule=extra) if two else extra)
    return sentences


def _describe_uploads(rules: Rules) -> list[str]:
    return [
        translate(
            "Anonymization phase: up to {uploads} uploads of obfuscated traces for each data set; the format "
            "verdict and the utility are shown at once, and the last valid upload counts.",
            uploads=rules.obfuscated_uploads,
        ),
        translate(
            "At the end of that phase the judge assigns pseudonyms once, by a cryptographic shuffle, and "
            "publishes a salted hash of each ID table. The tables are published after the attack phase."
        ),
        translate(
            "Attack phase: up to {uploads} uploads per target, of an inferred ID table, of inferred traces, "
            "or both; the last one of each kind counts. A team does not attack itself.",
            uploads=rules.attack_uploads,
        ),
        translate(
            "An upload counts against these limits once it has been received completely, whether or not "
            "its format is right. Interrupted uploads, late uploads, and uploads that the judge failed "
            "to score do not count."
        ),
        translate(
            "A file has at most {megabytes} MiB and lists at most {places} places.",
            megabytes=rules.largest_file_mb,
            places=f"{rules.largest_listed_ids:,}",
        ),
        translate(
            "A file that arrives at the very end of its phase or later is kept and marked as late, but "
            "does not count. The clock of the server (UTC) decides."
        ),
    ]


def _describe_scores(rules: Rules) -> list[str]:
    if rules.utility_rule == "paper":
        utility = translate(
            "Utility falls from 1 for the true place to 0 for a place {limit} km away or a deleted one; the "
            "mean distance of a set of places is taken first and then capped.",
            limit=f"{rules.utility_limit_km:g}",
        )
    else:
        utility = translate(
            "Utility falls from 1 for the true place to 0 for a place {limit} km away or a deleted one; the "
            "distance of each place of a set is capped first, then the mean is taken.",
            limit=f"{rules.utility_limit_km:g}",
        )
    if rules.sample_attacks:
        minimum = translate(
            "A privacy score is the minimum over the attacks of all other teams and of the judge "
            "({attacks}); without any attack it is 1.",
            attacks=", ".join(rules.sample_attacks),
        )
    else:
        minimum = translate(
            "A privacy score is the minimum over the attacks of all other teams; without any attack it is 1."
        )
    return [
        utility,
        translate(
            "A data set is valid if its utility is at least {threshold}; an invalid one is not published and "
            "its privacy scores are 0.",
            threshold=f"{rules.utility_threshold:g}",
        ),
        translate("Re-identification privacy is the share of pseudonyms that an attack gets wrong."),
        translate(
            "Trace-inference privacy rises from 0 for the true place to 1 for a place {limit} km away or "
            "more; a sensitive place weighs {weight} times as much as another.",
            limit=f"{rules.inference_limit_km:g}",
            weight=f"{rules.sensitive_weight:g}",
        ),
        minimum,
    ]


def _describe_awards(rules: Rules) -> list[str]:
    if rules.data_sets == 1:
        defence = translate("Best anonymization: the highest trace-inference privacy.")
    else:
        defence = translate(
            "Best anonymization: the highest trace-inference privacy on the second data set; and, as a "
            "separate award, the highest re-identification privacy on the first."
        )
    if rules.pseudonymised_team:
        attacks = translate(
            "Best re-identification and best trace inference: the lowest sum of scores over all valid data "
            "sets of the other teams and the pseudonymised team; a target that was not attacked counts 1, an "
            "invalid one drops out for everybody."
        )
    else:
        attacks = translate(
            "Best re-identification and best trace inference: the lowest sum of scores over all valid data "
            "sets of the other teams; a target that was not attacked counts 1, an invalid one drops out for "
            "everybody."
        )
    ties = translate(
        "Equal teams share an award. A team that made no attack cannot win an award for attacks."
    )
    if not rules.overall_total:
        return [defence, attacks, ties]
    weight = f"{rules.final_weight:g}"
    if rules.data_sets == 1:
        overall = translate(
            "Overall winner: the highest total, which is the re-identification privacy plus the "
            "trace-inference privacy; after a preliminary round its total plus {weight} times this one.",
            weight=weight,
        )
    else:
        overall = translate(
            "Overall winner: the highest total, which is the re-identification privacy of the first data set "
            "plus the trace-inference privacy of the second; after a preliminary round its total plus "
            "{weight} times this one.",
            weight=weight,
        )
    if not rules.winner_takes_attack_awards:
        overall = translate("{rule} The overall winner cannot also win an award for attacks.", rule=overall)
    return [defence, attacks, ties, overall]


def _describe_answers(rules: Rules) -> list[str]:
    if rules.mode == "sealed":
        return [
            translate(
                "Sealed: you get a receipt for each attack that you upload, whether or not the attack is "
                "right. Scores are shown when the results open."
            )
        ]
    return [
        translate(
            "Live board: privacy scores on a random {share} of the users of each target, with "
            "{decimals}, updated at {hours} (UTC). These users are drawn once, with the ID table, and "
            "the salted hash of the table covers them.",
            share=_format_percent(rules.live_share),
            decimals=translate_count("one decimal", "{count} decimals", rules.live_decimals),
            hours=", ".join(f"{hour:02d}:00" for hour in rules.live_refresh_hours),
        ),
        translate(
            "The other {share} of the users decide: the final scores and the awards are computed "
            "only on them, so the live board reveals nothing about them.",
            share=_format_percent(1 - rules.live_share),
        ),
        translate(
            "The live board scores at most {answers} per attacker, target and day (UTC), and each is "
            "recorded. In the end, the last upload of each kind counts, whether or not the board has "
            "scored it.",
            answers=translate_count("one answer", "{count} answers", rules.live_answers_a_day),
        ),
    ]


def _format_percent(share: float) -> str:
    """Return a share in per cent, with as many digits as it has.

    >>> _format_percent(0.3), _format_percent(1 - 0.3), _format_percent(0.125)
    ('30%', '70%', '12.5%')
    """
    return f"{round(100 * share, 9):g}%"
