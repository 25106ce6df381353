"""Mend docstrings for the pages of the API.

Here an example may follow the text; what reads numpydoc sections knows one only under ``Examples``. A ``::``
before a drawing means something in reStructuredText and nothing in Markdown.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


def mended(text: str) -> str:
    """Put ``Examples`` above the first example, unless it is there, and leave out lines of ``::``.

    >>> mended("Add.\\n\\n>>> 1 + 1\\n2")
    'Add.\\n\\nExamples\\n--------\\n>>> 1 + 1\\n2'
    """
    text = re.sub(r"^::\n", "", text, flags=re.M)
    if re.search(r"^Examples?\n-{3,}$", text, re.M):
        return text
    return re.sub(r"^(?=>>> )", "Examples\n--------\n", text, count=1, flags=re.M)


class Examples(griffe.Extension):
    """What mkdocstrings calls for every object that it has read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mend the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = mended(obj.docstring.value)
