"""The way out when a wrong clock was believed: the contest's time goes back to what the clock shows."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.store.audit_log import log

_SHORTEST, _LONGEST = 3, 200
_POINTS = ("anonymization_closed_at", "attack_closed_at", "published_at")


def set_back(*, reason: str, actor: str) -> datetime:
    """Let the contest's time be what the clock shows, where it is ahead of it, and return that.

    What was closed or published by the wrong time was seen by everybody and cannot be taken back: then a
    backup from before is the only way.

    Parameters
    ----------
    reason
        For the audit log.
    actor
        Who sets it back.
    """
    if not _SHORTEST <= len(reason.strip()) <= _LONGEST:
        raise ParameterError.of("reason", reason, f"a text of {_SHORTEST} to {_LONGEST} characters")
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        shown, seen = clock.shown(), contest.seen_at
        if seen is None or seen <= shown:
            said = gettext("the contest's time is not ahead of the clock, which shows %(now)s")
            raise DataError(said % {"now": shown.isoformat()})
        for point in _POINTS:
            at = getattr(contest, point)
            if at is not None and at > shown:
                said = gettext(
                    "%(point)s is %(at)s, and it is %(now)s: what was done by a wrong clock is not taken "
                    "back; restore a backup from before"
                )
                raise DataError(said % {"point": point, "at": at.isoformat(), "now": shown.isoformat()})
        Contest.objects.filter(pk=1).update(seen_at=shown)
        clock.forget()
        moved = {"from": seen.isoformat(), "to": shown.isoformat()}
        log(actor, "clock set back", reason=reason.strip(), **moved)
    return shown
