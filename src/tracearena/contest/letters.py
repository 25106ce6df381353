"""What the organiser writes to the teams: what to do, and until when."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import datetime

from tracearena.contest.charter import Charter
from tracearena.contest.rules import Rules

_WIDTH = 92
_LATER = "the organiser will say until when"


def to_team(charter: Charter, team: str) -> str:
    """Return the letter that goes with a team's own traces."""
    rules, schedule = charter.rules, charter.schedule
    sets = ("data01_IDP", "data02_TRP")[: rules.data_sets]
    hand_in = " and ".join(f"anotraces_team{team}_{data}.csv" for data in sets)
    until = _until(None if schedule is None else schedule.anonymization_end)
    attack = _LATER if schedule is None else f"{_time(schedule.attack_begin)} to {_time(schedule.attack_end)}"
    return _letter(
        f"{charter.name}: the {rules.challenge}",
        [
            f"To team {charter.called(team)}.",
            "This folder is for your team alone. It has your own people: reftraces_… are the days that every "
            "attacker will know, orgtraces_… the days that you defend. Show orgtraces_… to nobody. "
            "info_region.csv says where the regions are, info_time.csv what the times mean, contest.toml has "
            "all rules.",
            f"Now: change your original traces so that they stay useful (utility at least "
            f"{rules.utility_threshold:g}) and tell as little as possible, and hand in {hand_in}, {until}. A "
            "file has below its header reg_id one cell for each row of orgtraces_…, in the same order: a "
            "region, several with one space between, or * for none.",
            "Look before you hand in; these are the programs that the judge uses:",
        ],
        [
            f"tracearena check obfuscated anotraces_team{team}_{data}.csv "
            f"--original orgtraces_team{team}_{data}.csv --places info_region.csv"
            for data in sets
        ]
        + [
            f"tracearena score utility --obfuscated anotraces_team{team}_{data}.csv "
            f"--original orgtraces_team{team}_{data}.csv --places info_region.csv" + _as_the_judge(rules)
            for data in sets
        ],
        [
            f"Then ({attack}) you get everybody's reference traces and released traces, and attack: "
            f"etable_team{team}-NNN_… says who is behind each pseudonym of team NNN, "
            f"etraces_team{team}-NNN_… where each of its users was. A second letter comes with them.",
            *_practice(charter),
        ],
    )


def to_everybody(charter: Charter, targets: Sequence[str]) -> str:
    """Return the letter that goes with the released traces."""
    schedule = charter.schedule
    until = _until(None if schedule is None else schedule.attack_end)
    return _letter(
        f"{charter.name}: attack",
        [
            "To all teams.",
            "This folder is for everybody. pubtraces_… are released traces under pseudonyms, reftraces_… "
            "what is known of the same people from other days. Attack every target but yourself: "
            f"{', '.join(targets)}.",
            f"Hand in, {until}, for each target NNN an inferred ID table, inferred traces, or both, your own "
            "number first: etable_teamYYY-NNN_data01_IDP.csv has below its header user_id one user for each "
            "pseudonym, ascending; etraces_teamYYY-NNN_data01_IDP.csv has below reg_id one region for each "
            "user and time, by user and then by time. A target that you do not attack counts 1 for you, the "
            "worst there is.",
            f"commitments.csv has a salted hash of every ID table{_with_live(charter.rules)}. When all is "
            "over the judge shows tables and salts, and you can see that no table was changed meanwhile.",
        ],
        [],
        [],
    )


def _with_live(rules: Rules) -> str:
    return " and of the users of its live board" if rules.mode == "live" else ""


def _as_the_judge(rules: Rules) -> str:
    """Return the options by which a team scores as the judge does, where the rules are not the usual ones."""
    usual = Rules()
    rule = "" if rules.utility_rule == usual.utility_rule else f" --rule {rules.utility_rule}"
    lowest = rules.utility_threshold
    return rule + ("" if lowest == usual.utility_threshold else f" --threshold {lowest:g}")


def _practice(charter: Charter) -> list[str]:
    if not charter.sample_numbers:
        return []
    teams = " and ".join(charter.sample_numbers)
    return [
        "To practise: the folder for everybody has reference and original traces of the sample teams "
        f"{teams}."
    ]


def _letter(title: str, first: Sequence[str], commands: Sequence[str], last: Sequence[str]) -> str:
    parts = [title, "=" * len(title), ""]
    for paragraph in first:
        parts += [textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    parts += [f"    {command}" for command in commands] + ([""] if commands else [])
    for paragraph in last:
        parts += [textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    return "\n".join(parts)


def _until(end: datetime | None) -> str:
    return _LATER if end is None else f"before {_time(end)}"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
