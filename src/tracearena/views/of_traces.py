"""Pictures of traces: places, one person's days, the hours of the week."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from tracearena.errors import DataError, ParameterError, shorten
from tracearena.intake.local_time import guessed
from tracearena.pages.describe import Times, times_of_events, times_of_points
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.time import require_zone
from tracearena.views import hours, person, places

AnyTraces = Traces | GpsTraces | ObfuscatedTraces
_Kind = TypeVar("_Kind", bound=AnyTraces)
KINDS = ("places", "person", "hours")
_SHOWN_USERS = 3


def traces_picture(
    traces: AnyTraces,
    kind: str | None = None,
    *,
    user: Any = None,
    timezone: str | None = None,
    interactive: bool = False,
) -> Any:
    """Draw traces; `RowTable.plot` says how."""
    chosen = kind or ("places" if user is None else "person")
    if chosen not in KINDS:
        raise ParameterError.of("kind", kind, f"one of {', '.join(KINDS)}")
    _check_zone(traces, chosen, timezone)
    if chosen == "person" and user is None:
        raise ParameterError(f"kind = 'person' draws one user: name one, {_such_as(traces)}")
    subject = traces if user is None else _of_user(traces, user)
    if not len(subject):
        raise DataError("there is nothing to draw: the traces have no rows")
    if chosen == "places":
        return places.picture(subject, interactive=interactive)
    times = _times(subject, timezone)
    if chosen == "hours":
        return hours.picture(_released_only(subject, times), interactive=interactive)
    return person.picture(subject, times, interactive=interactive)


def _check_zone(traces: AnyTraces, kind: str, timezone: str | None) -> None:
    if timezone is None:
        return
    if not isinstance(traces, GpsTraces):
        raise ParameterError("timezone is for GPS points; events have the local time of their clock already")
    if kind == "places":
        raise ParameterError("timezone is for pictures with hours; a map of places has none")
    require_zone(timezone)


def _of_user(traces: _Kind, user: Any) -> _Kind:
    found = np.flatnonzero(traces.user_ids.astype(np.str_) == str(user))
    if not found.size:
        raise ParameterError(f"there is no user {shorten(str(user))}; name one of them, {_such_as(traces)}")
    taken: _Kind = traces.take_users(found)  # type: ignore[assignment]
    return taken


def _such_as(traces: AnyTraces) -> str:
    return f"such as user={', '.join(repr(one) for one in traces.user_ids[:_SHOWN_USERS].tolist())}"


def _times(traces: AnyTraces, timezone: str | None) -> Times:
    if not isinstance(traces, GpsTraces):
        return times_of_events(traces)
    return times_of_points(traces, timezone or guessed(traces.latitude, traces.longitude).zone or "UTC")


def _released_only(traces: AnyTraces, times: Times) -> Times:
    """Leave out deleted events: nobody sees when they were."""
    if not isinstance(traces, ObfuscatedTraces):
        return times
    left = ~traces.is_deleted
    if not left.any():
        raise DataError("there is nothing to draw: every event was deleted")
    return Times("events", times.day[left], times.time[left], times.labels, times.first_day, times.whose)
