"""What of some traces a format can hold."""

from __future__ import annotations

import re

import numpy as np

from tracearena.intake.report import Report
from tracearena.intake.user_key import UserKey
from tracearena.traces import Places, Traces


def fitted(traces: Traces, to: str, report: Report, key: UserKey | None = None) -> Traces:
    """Return what of the traces a format can hold, and report what it cannot.

    The files of pwscup and peopleflow hold one event an instant, of users with numbers from 1: of
    several events the first is kept. Users whose ids are such numbers keep them; the others get
    new ones, which `key` knows afterwards. Those of ppmtf hold no commas in categories: they
    become blanks.
    """
    if to == "ppmtf":
        return _without_commas(traces, report)
    if to not in ("pwscup", "peopleflow"):
        return traces
    again = np.zeros(traces.n_events, bool)
    again[1:] = (np.diff(traces.instants) == 0) & (np.diff(traces.user_index) == 0)
    if again.any():
        report.drop("second event at an instant", int(again.sum()))
        traces = traces.keep(~again)
    numbered = (UserKey() if key is None else key).numbered(traces, to)
    own, number = set(map(str, traces.user_ids.tolist())), set(map(str, numbered.user_ids.tolist()))
    report.notice("users with a new number", len(own - number))
    return numbered


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
    return traces.onto(renamed)
