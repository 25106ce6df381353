"""What of some traces a format can hold."""

from __future__ import annotations

import re

import numpy as np

from tracearena.formats.report import Dropped, Report
from tracearena.traces import Places, Traces


def fitted(traces: Traces, to: str, report: Report) -> Traces:
    """Return what of the traces a format can hold, and report what it cannot.

    The files of pwscup and peopleflow hold one event an instant, of users numbered from 1: of
    several events the first is kept, and users with other ids are numbered in their order. Those
    of ppmtf hold no commas in categories: they become blanks.
    """
    if to == "ppmtf":
        return _without_commas(traces, report)
    if to not in ("pwscup", "peopleflow"):
        return traces
    again = np.zeros(traces.n_events, bool)
    again[1:] = (np.diff(traces.instants) == 0) & (np.diff(traces.user_index) == 0)
    if again.any():
        report.dropped.append(Dropped("second event at an instant", int(again.sum())))
        traces = traces.keep_events(~again)
    ids = traces.user_ids
    if ids.dtype.kind == "i" and (ids > 0).all() and (ids < 2**31).all():
        return traces
    report.notice("users numbered anew from 1", traces.n_users)
    return traces.with_user_ids(np.arange(1, traces.n_users + 1))


def _without_commas(traces: Traces, report: Report) -> Traces:
    places = traces.places
    if places.categories is None:
        return traces
    plain = [re.sub(r"[,\r\n]", " ", category) for category in places.categories.tolist()]
    changed = int((np.asarray(plain, np.str_) != places.categories).sum())
    if changed == 0:
        return traces
    report.notice("categories with a comma, written without", changed)
    renamed = Places(
        places.latitude,
        places.longitude,
        ids=places.ids,
        sensitive=places.sensitive,
        categories=plain,
        grid=places.grid,
        km_per_degree=places.km_per_degree,
    )
    return Traces(
        renamed,
        traces.clock,
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        instants=traces.instants,
        place_index=traces.place_index,
        timestamps=traces.timestamps,
        span=traces.span,
    )
