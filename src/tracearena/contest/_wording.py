"""The rules in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracearena.language import counted, said

if TYPE_CHECKING:
    from tracearena.contest.rules import Rules


def sentences(rules: Rules) -> list[str]:
    """Return every rule, in the order of the contest."""
    return [sentence for _, told in chapters(rules) for sentence in told]


def chapters(rules: Rules) -> list[tuple[str, list[str]]]:
    """Return the same sentences under headings."""
    return [
        (said("Whose traces"), _data(rules)),
        (said("Handing in"), _uploads(rules)),
        (said("Scores"), _scores(rules)),
        (said("Awards"), _awards(rules)),
        (said("What is shown when"), _answers(rules)),
    ]


def _data(rules: Rules) -> list[str]:
    told = [
        said(
            "Each team gets the traces of {users} virtual users of its own: {reference_days} days of "
            "reference traces, which every attacker will know, and {original_days} days of original traces "
            "to defend.",
            users=f"{rules.users:,}",
            reference_days=rules.reference_days,
            original_days=rules.original_days,
        )
    ]
    if rules.data_sets == 2:
        told.append(
            said(
                "Each team defends two data sets: the first against re-identification, the second against "
                "trace inference."
            )
        )
    else:
        told.append(said("Each team defends one data set: this is the trace-inference challenge."))
    if rules.sample_teams:
        told.append(
            said(
                "Traces of {teams} more teams, originals included, go to everybody for practice.",
                teams=rules.sample_teams,
            )
        )
    if rules.pseudonymised_team:
        told.append(_pseudonymised(rules))
    return told


def _pseudonymised(rules: Rules) -> str:
    told = said("One extra team's traces are only pseudonymised, not obfuscated; they are a target for all.")
    return said("{rule} It has one data set.", rule=told) if rules.data_sets == 2 else told


def _uploads(rules: Rules) -> list[str]:
    return [
        said(
            "Anonymization phase: up to {uploads} uploads of obfuscated traces for each data set; the format "
            "verdict and the utility are shown at once, and the last valid upload counts.",
            uploads=rules.obfuscated_uploads,
        ),
        said(
            "At the end of that phase the judge pseudonymises once, by a cryptographic shuffle, and "
            "publishes a salted hash of each ID table; the tables are opened after the attack phase."
        ),
        said(
            "Attack phase: up to {uploads} uploads per target, of an inferred ID table, of inferred traces, "
            "or both; the last one of each kind counts. A team does not attack itself.",
            uploads=rules.attack_uploads,
        ),
        said(
            "An upload is counted against these limits once it was received whole, whether its format is "
            "right or not. One that broke off, one that came too late and one that the judge failed to score "
            "cost nothing."
        ),
        said(
            "A file has at most {megabytes} MB and lists at most {places} places.",
            megabytes=rules.largest_file_mb,
            places=f"{rules.largest_listed_ids:,}",
        ),
        said(
            "A file that arrives at the very end of its phase or later is kept and marked as late, and does "
            "not count. The clock of the server (UTC) decides."
        ),
    ]


def _scores(rules: Rules) -> list[str]:
    return [
        _utility(rules),
        said(
            "A data set is valid if its utility is at least {threshold}; an invalid one is not published and "
            "its privacy scores are 0.",
            threshold=f"{rules.utility_threshold:g}",
        ),
        said("Re-identification privacy is the share of pseudonyms that an attack gets wrong."),
        said(
            "Trace-inference privacy grows from 0 for the true place to 1 for a place {limit} km away or "
            "more; a sensitive place weighs {weight} times as much as another.",
            limit=f"{rules.inference_limit_km:g}",
            weight=f"{rules.sensitive_weight:g}",
        ),
        _minimum(rules),
    ]


def _utility(rules: Rules) -> str:
    limit = f"{rules.utility_limit_km:g}"
    if rules.utility_rule == "paper":
        return said(
            "Utility falls from 1 for the true place to 0 for a place {limit} km away or a deleted one; the "
            "mean distance of a set of places is taken first and then capped.",
            limit=limit,
        )
    return said(
        "Utility falls from 1 for the true place to 0 for a place {limit} km away or a deleted one; the "
        "distance of each place of a set is capped first, then the mean is taken.",
        limit=limit,
    )


def _minimum(rules: Rules) -> str:
    if not rules.sample_attacks:
        return said(
            "A privacy score is the minimum over the attacks of all other teams; without any attack it is 1."
        )
    return said(
        "A privacy score is the minimum over the attacks of all other teams and of the judge ({attacks}); "
        "without any attack it is 1.",
        attacks=", ".join(rules.sample_attacks),
    )


def _awards(rules: Rules) -> list[str]:
    told = [
        _best_defence(rules),
        _best_attacks(rules),
        said("Equal teams share an award. A team that attacked nobody does not win for attacking."),
    ]
    if rules.overall_total:
        told.append(_overall(rules))
    return told


def _best_defence(rules: Rules) -> str:
    if rules.data_sets == 1:
        return said("Best anonymization: the highest trace-inference privacy.")
    return said(
        "Best anonymization: the highest trace-inference privacy on the second data set; and, as an award of "
        "its own, the highest re-identification privacy on the first."
    )


def _best_attacks(rules: Rules) -> str:
    if rules.pseudonymised_team:
        return said(
            "Best re-identification and best trace inference: the lowest sum of scores over all valid data "
            "sets of the other teams and the pseudonymised team; a target that was not attacked counts 1, an "
            "invalid one drops out for everybody."
        )
    return said(
        "Best re-identification and best trace inference: the lowest sum of scores over all valid data sets "
        "of the other teams; a target that was not attacked counts 1, an invalid one drops out for everybody."
    )


def _overall(rules: Rules) -> str:
    weight = f"{rules.final_weight:g}"
    if rules.data_sets == 1:
        told = said(
            "Overall winner: the highest total, which is the re-identification privacy plus the "
            "trace-inference privacy; after a preliminary round its total plus {weight} times this one.",
            weight=weight,
        )
    else:
        told = said(
            "Overall winner: the highest total, which is the re-identification privacy of the first data set "
            "plus the trace-inference privacy of the second; after a preliminary round its total plus "
            "{weight} times this one.",
            weight=weight,
        )
    if rules.winner_takes_attack_awards:
        return told
    return said("{rule} The overall winner does not win for attacking as well.", rule=told)


def _answers(rules: Rules) -> list[str]:
    if rules.mode == "sealed":
        return [
            said(
                "Sealed: the answer to an attack upload is a receipt, whether the attack is right or not; "
                "scores are shown when the results open."
            )
        ]
    return [
        said(
            "Live board: privacy scores on a random {share} of the users of each target, with {decimals}, "
            "renewed at {hours} (UTC). These users are drawn once, with the ID table, and the salted hash of "
            "the table covers them.",
            share=_percent(rules.live_share),
            decimals=counted("one decimal", "{count} decimals", rules.live_decimals),
            hours=", ".join(f"{hour:02d}:00" for hour in rules.live_refresh_hours),
        ),
        said(
            "The other {share} of the users decide: the final scores and the awards are computed on them "
            "alone, so the live board tells nothing about them.",
            share=_percent(1 - rules.live_share),
        ),
        said(
            "At most {answers} per attacker, target and day (UTC) are scored on the live board, and each is "
            "recorded. What counts in the end is the last upload of each kind, scored on the board or not.",
            answers=counted("one answer", "{count} answers", rules.live_answers_a_day),
        ),
    ]


def _percent(share: float) -> str:
    """Return a share in per cent, with as many digits as it has.

    >>> _percent(0.3), _percent(1 - 0.3), _percent(0.125)
    ('30%', '70%', '12.5%')
    """
    return f"{round(100 * share, 9):g}%"
