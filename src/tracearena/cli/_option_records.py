"""Records of options, each a dataclass, as the parameters of a command."""

from __future__ import annotations

import functools
import inspect
from dataclasses import fields
from typing import get_type_hints


@functools.cache
def parameters_of(record: type) -> dict[str, inspect.Parameter]:
    """Return the options as parameters of a command."""
    hints = get_type_hints(record, include_extras=True)
    return {
        one.name: inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )
        for one in fields(record)
    }
