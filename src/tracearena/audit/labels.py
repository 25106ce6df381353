"""Short names in pictures and tables of an audit; sentences are in `words`."""

from __future__ import annotations

HOW = "How we measured this"
INTERVAL = "95 % interval {low:.1%} to {high:.1%}, {people:,} people tried; guessing gives {chance:.2%}."
NOT_ATTACKED = "not attacked: a more useful one keeps the limits"
IN_CELLS = " in cells of {side}"
MEDIAN_ERROR = "median error, m"
SEED, DIGEST, RELEASE_DIGEST = "seed", "SHA-256 of the file", "SHA-256 of the release"

AXES = {
    "points": "known points of a person",
    "share": "share of people",
    "found": "share of people found",
    "found_safe": "share of people found (0 is safe)",
    "share_safe": "share of people (0 is safe)",
    "days": "days that the attacker knows",
    "kept": "kept (1 is as the original)",
    "kept_all": "kept of the six tasks (1 is all)",
    "again": "people found again",
}
LINES = {
    "found": "found by the file's places and instants",
    "unique": "unique: {side}, {window}",
    "right": "right",
    "among": "among {top}",
    "days": "found",
    "halves": "half against half, by chance",
    "release": "release against original",
    "before": "file as it is",
    "after": "release",
    "at_least": "at least this many are found",
    "fails": "a limit is not kept",
    "holds": "limits kept when choosing",
    "proved": "proved",
}
GROUPS = {1: "alone", 2: "2 to 4 people", 5: "5 to 9 people", 10: "10 or more"}
"""People at the same night-time place, by the first of each class."""
CHANGES = {
    "one": "found by 1 sighting",
    "several": "found by {k} sightings",
    "again": "found again",
    "two_places": "found by home and work",
    "home": "home told",
    "work": "workplace told",
    "zones": "home found behind zones",
}
