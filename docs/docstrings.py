"""Give examples in docstrings a heading, where they have none, so that they are shown as code.

Here an example may follow the text; the reader of numpydoc sections knows one only under ``Examples``.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


def with_heading(text: str) -> str:
    """Put ``Examples`` above the first example, unless it is there.

    >>> print(with_heading("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    Examples
    --------
    >>> 1 + 1
    2
    """
    if re.search(r"^Examples?\n-{3,}$", text, re.M):
        return text
    return re.sub(r"^(?=>>> )", "Examples\n--------\n", text, count=1, flags=re.M)


class Examples(griffe.Extension):
    """What mkdocstrings calls for every object that it has read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mend the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = with_heading(obj.docstring.value)
