"""On how many examples a property is tried.

``HYPOTHESIS_PROFILE`` says it: `full` (the default) takes as many as a test names, `everyday` at most
`FEW`, and `search` as many as `full`, but others in every run. The first two take the same examples each
time, so that a run that fails does so again.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

FEW = 10
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "full"

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("full", deadline=None, derandomize=True)
settings.register_profile("everyday", deadline=None, derandomize=True, max_examples=FEW)
settings.register_profile("search", deadline=None)
settings.load_profile(PROFILE)


def examples(most: int, **more: Any) -> settings:
    """Try a property on that many examples, on few in an everyday run."""
    return settings(max_examples=min(most, FEW) if PROFILE == "everyday" else most, **more)
