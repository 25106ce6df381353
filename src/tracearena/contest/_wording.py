"""The rules in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracearena.contest.rules import Rules


def sentences(rules: Rules) -> list[str]:
    """Return every rule, in the order of the contest."""
    return [sentence for _, told in chapters(rules) for sentence in told]


def chapters(rules: Rules) -> list[tuple[str, list[str]]]:
    """Return the same sentences under headings."""
    return [
        ("Whose traces", _data(rules)),
        ("Handing in", _uploads(rules)),
        ("Scores", _scores(rules)),
        ("Awards", _awards(rules)),
        ("What is shown when", _answers(rules)),
    ]


def _data(rules: Rules) -> list[str]:
    told = [
        f"Each team gets the traces of {rules.users:,} virtual users of its own: {rules.reference_days} "
        "days of reference traces, which every attacker will know, and "
        f"{rules.original_days} days of original traces to defend."
    ]
    if rules.data_sets == 2:
        told.append(
            "Each team defends two data sets: the first against re-identification, the second against "
            "trace inference."
        )
    else:
        told.append("Each team defends one data set: this is the trace-inference challenge.")
    if rules.sample_teams:
        told.append(
            f"Traces of {rules.sample_teams} more teams, originals included, go to everybody for practice."
        )
    if rules.pseudonymised_team:
        told.append(
            "One extra team's traces are only pseudonymised, not obfuscated; they are a target for all."
            + (" It has one data set." if rules.data_sets == 2 else "")
        )
    return told


def _uploads(rules: Rules) -> list[str]:
    return [
        f"Anonymization phase: up to {rules.obfuscated_uploads} uploads of obfuscated traces for each "
        "data set; the format verdict and the utility are shown at once, and the last valid upload counts.",
        "At the end of that phase the judge pseudonymises once, by a cryptographic shuffle, and "
        "publishes a salted hash of each ID table; the tables are opened after the attack phase.",
        f"Attack phase: up to {rules.attack_uploads} uploads per target, of an inferred ID table, of "
        "inferred traces, or both; the last one of each kind counts. A team does not attack itself.",
        "An upload is counted against these limits once it was received whole, whether its format is right "
        "or not. One that broke off, one that came too late and one that the judge failed to score cost "
        "nothing.",
        f"A file has at most {rules.largest_file_mb} MB and lists at most "
        f"{rules.largest_listed_ids:,} places.",
        "A file that arrives at the very end of its phase or later is kept and marked as late, and does "
        "not count. The clock of the server (UTC) decides.",
    ]


def _scores(rules: Rules) -> list[str]:
    cap = {
        "paper": "the mean distance of a set of places is taken first and then capped",
        "2019": "the distance of each place of a set is capped first, then the mean is taken",
    }[rules.utility_rule]
    samples = ", ".join(rules.sample_attacks)
    attacks = "the attacks of all other teams" + (f" and of the judge ({samples})" if samples else "")
    return [
        f"Utility falls from 1 for the true place to 0 for a place {rules.utility_limit_km:g} km away or "
        f"a deleted one; {cap}.",
        f"A data set is valid if its utility is at least {rules.utility_threshold:g}; an invalid one is "
        "not published and its privacy scores are 0.",
        "Re-identification privacy is the share of pseudonyms that an attack gets wrong.",
        "Trace-inference privacy grows from 0 for the true place to 1 for a place "
        f"{rules.inference_limit_km:g} km away or more; a sensitive place weighs "
        f"{rules.sensitive_weight:g} times as much as another.",
        f"A privacy score is the minimum over {attacks}; without any attack it is 1.",
    ]


def _awards(rules: Rules) -> list[str]:
    best = "Best anonymization: the highest trace-inference privacy"
    if rules.data_sets == 2:
        best += (
            " on the second data set; and, as an award of its own, the highest re-identification "
            "privacy on the first"
        )
    targets = "all valid data sets of the other teams"
    if rules.pseudonymised_team:
        targets += " and the pseudonymised team"
    told = [
        f"{best}.",
        f"Best re-identification and best trace inference: the lowest sum of scores over {targets}; "
        "a target that was not attacked counts 1, an invalid one drops out for everybody.",
        "Equal teams share an award. A team that attacked nobody does not win for attacking.",
    ]
    if rules.overall_total:
        told.append(_overall(rules))
    return told


def _overall(rules: Rules) -> str:
    sets = ("", "") if rules.data_sets == 1 else (" of the first data set", " of the second")
    told = (
        f"Overall winner: the highest total, which is the re-identification privacy{sets[0]} plus the "
        f"trace-inference privacy{sets[1]}; after a preliminary round its total plus {rules.final_weight:g} "
        "times this one."
    )
    if not rules.winner_takes_attack_awards:
        told += " The overall winner does not win for attacking as well."
    return told


def _answers(rules: Rules) -> list[str]:
    if rules.mode == "sealed":
        return [
            "Sealed: the answer to an attack upload is a receipt, whether the attack is right or not; "
            "scores are shown when the results open."
        ]
    hours = ", ".join(f"{hour:02d}:00" for hour in rules.live_refresh_hours)
    decimals = "one decimal" if rules.live_decimals == 1 else f"{rules.live_decimals} decimals"
    most = "one answer" if rules.live_answers_a_day == 1 else f"{rules.live_answers_a_day} answers"
    return [
        f"Live board: privacy scores on a random {_percent(rules.live_share)} of the users of each target, "
        f"with {decimals}, renewed at {hours} (UTC). These users are drawn once, with the ID table, and the "
        "salted hash of the table covers them.",
        f"The other {_percent(1 - rules.live_share)} of the users decide: the final scores and the awards "
        "are computed on them alone, so the live board tells nothing about them.",
        f"At most {most} per attacker, target and day (UTC) are scored on the live board, and each is "
        "recorded. What counts in the end is the last upload of each kind, scored on the board or not.",
    ]


def _percent(share: float) -> str:
    """Return a share in per cent, with as many digits as it has.

    >>> _percent(0.3), _percent(1 - 0.3), _percent(0.125)
    ('30%', '70%', '12.5%')
    """
    return f"{round(100 * share, 9):g}%"
