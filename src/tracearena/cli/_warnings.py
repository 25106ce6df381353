"""Which warnings of Python a user of the command line sees, and how."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer

from tracearena.errors import TracearenaWarning


@contextmanager
def foreign_warnings_hidden() -> Iterator[None]:
    """Print our own warnings, and those of a user's own code, as sentences; libraries' not at all.

    What a library warns of is ours to mend, and is an error in our tests; a user can do nothing about
    it, and a deprecation in a later version of a library must not look like a fault of the data.
    ``python -W`` and ``PYTHONWARNINGS`` show everything, as Python does.
    """
    if sys.warnoptions:
        yield
        return
    usual = warnings.showwarning
    warnings.showwarning = _show
    try:
        yield
    finally:
        warnings.showwarning = usual


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, TracearenaWarning) or (category is UserWarning and _is_users(filename)):
        typer.echo(f"warning: {message}", err=True)


def _is_users(filename: str) -> bool:
    """Whether a file belongs neither to this package nor to what is installed with Python."""
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed.add(str(Path(__file__).parents[1]))
    return not any(Path(filename).is_relative_to(folder) for folder in installed)
