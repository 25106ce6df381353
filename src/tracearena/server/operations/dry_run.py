"""What would come of it if the next phase began now: told from the rows alone, and nothing is done.

No score is told: whether a data set is valid is all that an organiser needs to know of a sealed contest.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tracearena.contest import Phase, Role
from tracearena.server.models import Contest, DataSet, State, Submission, Team, UploadKind
from tracearena.server.operations import readiness
from tracearena.server.people import parties
from tracearena.server.results import boards
from tracearena.server.store import jobs
from tracearena.server.uploads import attack_progress


class Fate(StrEnum):
    """How well something would end."""

    GOOD = "good"
    WAIT = "wait"
    BAD = "bad"


class Outcome(NamedTuple):
    """What would become of one team or one of its data sets."""

    label: str
    about: str
    fate: Fate
    words: str


class DryRun(NamedTuple):
    """The end of a phase, as if it were now.

    Attributes
    ----------
    phase
        What would begin; None once the results are open.
    outcomes
        What would become of everybody.
    work
        What the judge would do, in order.
    """

    phase: Phase | None
    outcomes: list[Outcome]
    work: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """How many would end how."""
        return {fate.value: sum(one.fate is fate for one in self.outcomes) for fate in Fate}


def dry_run(contest: Contest, now: datetime) -> DryRun:
    """Return what would happen if the next phase began now."""
    phase = readiness.next_phase(contest, now)
    if phase is Phase.ANONYMIZATION:
        return DryRun(phase, list(_registered()), [_("Nothing: teams begin to hand in.")])
    if phase is Phase.ATTACK:
        return DryRun(phase, list(_defended(contest)), _publishing(contest))
    if phase is Phase.RESULTS:
        return DryRun(phase, list(_attacked()), _scoring())
    return DryRun(None, [], [])


def _registered() -> Iterable[Outcome]:
    for team in Team.objects.filter(role=Role.TEAM).prefetch_related("members"):
        people = len(team.members.all())
        fate, words = (Fate.GOOD, _("can begin")) if people else (Fate.BAD, _("nobody has come in"))
        yield Outcome(parties.label_of(team), "", fate, words)


def _defended(contest: Contest) -> Iterable[Outcome]:
    unseen = set(_unseen().values_list("data_set_id", flat=True))
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team", "counts")
    for data_set in own:
        about = _("data set %(number)s") % {"number": data_set.number}
        yield Outcome(parties.label_of(data_set.team), about, *_verdict(contest, data_set, unseen))


def _verdict(contest: Contest, data_set: DataSet, unseen: set[int]) -> tuple[Fate, str]:
    receipt = {"receipt": data_set.counts_id}
    if data_set.released_at is not None:
        return Fate.GOOD, _("is published, by receipt %(receipt)s") % receipt
    if data_set.closed_at is not None:
        return Fate.BAD, _("is not valid and was not published: its privacy scores are 0")
    if data_set.pk in unseen:
        return Fate.WAIT, _("depends on an upload that the judge has not checked yet")
    if data_set.utility is None:
        return Fate.BAD, _("would be missing: nothing good was handed in, and its privacy scores would be 0")
    if not contest.rules.is_valid(data_set.utility):
        words = _("would be invalid: the utility of receipt %(receipt)s is below the threshold")
        return Fate.BAD, words % receipt
    return Fate.GOOD, _("would be published, by receipt %(receipt)s") % receipt


def _publishing(contest: Contest) -> list[str]:
    left = (
        DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True).select_related("team")
    )
    good = [
        one
        for one in left
        if one.team.role == Role.PSEUDONYMISED
        or (one.utility is not None and contest.rules.is_valid(one.utility))
    ]
    closed, names = len(left) - len(good), ", ".join(contest.rules.sample_attacks) or "–"
    return [
        _checking(_unseen().count()),
        ngettext(
            "Draw the pseudonyms of %(count)s data set, once and for all, and publish it with the salted "
            "hash of its ID table.",
            "Draw the pseudonyms of %(count)s data sets, once and for all, and publish them with the salted "
            "hashes of their ID tables.",
            len(good),
        )
        % {"count": len(good)},
        ngettext(
            "Close %(count)s data set without publishing it.",
            "Close %(count)s data sets without publishing them.",
            closed,
        )
        % {"count": closed},
        _("Attack what is published by the sample attacks: %(names)s.") % {"names": names},
    ]  # fmt: skip


def _attacked() -> Iterable[Outcome]:
    for team in Team.objects.filter(role=Role.TEAM):
        wanted = [attack for target in attack_progress.targets(team) for attack in target["attacks"]]
        made = sum(attack["is_there"] for attack in wanted)
        about = {"made": made, "wanted": len(wanted), "missing": len(wanted) - made}
        if made == len(wanted):
            fate, words = Fate.GOOD, _("all %(wanted)s attacks are there")
        elif made:
            fate, words = Fate.WAIT, _("%(made)s of %(wanted)s attacks; %(missing)s would count as failed")
        else:
            fate, words = Fate.BAD, _("no attack: all %(wanted)s would count as failed")
        yield Outcome(parties.label_of(team), "", fate, words % about)


def _scoring() -> list[str]:
    waiting = jobs.open_jobs("check").count()
    attacks = Submission.objects.exclude(kind=UploadKind.OBFUSCATED)
    good = attacks.filter(state__in=(State.CHECKED, State.RECEIVED)).order_by()
    count = good.values("team", "data_set", "kind").distinct().count()
    frozen = boards.final_snapshot() is not None
    return [
        _checking(waiting),
        ngettext(
            "Score %(count)s attack: the last good one of every team, target and kind.",
            "Score %(count)s attacks: the last good one of every team, target and kind.",
            count,
        )
        % {"count": count},
        _("The final board is frozen already.") if frozen else _("Freeze the final board."),
        _("Open ID tables and salts when the results begin."),
    ]


def _checking(count: int) -> str:
    words = ngettext(
        "Check %(count)s upload that came before the end.",
        "Check %(count)s uploads that came before the end.",
        count,
    )
    return words % {"count": count}


def _unseen() -> Any:
    return Submission.objects.filter(kind=UploadKind.OBFUSCATED, state=State.RECEIVED)
