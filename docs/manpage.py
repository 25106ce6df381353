"""The manual page ``tracearena(1)``, made from the help of the commands."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parent / "tracearena.1"

_BEGINNING = r""".\" Made from the help of the commands by docs/manpage.py.
.TH TRACEARENA 1
.SH NAME
tracearena \- measure how private location traces are, and publish safer ones
.SH SYNOPSIS
.B tracearena
.I COMMAND
.RI [ OPTIONS ]
.RI [ ARGUMENTS ]
.SH DESCRIPTION
"""
_END = r""".SH EXIT STATUS
.TP
.B 0
The command did what it was asked to do.
.TP
.B 1
A file could not be written, or a test or a claim failed.
.TP
.B 2
An argument, a file or a value is not allowed; the message says which.
.TP
.B 128 + N
The command was stopped by signal N.
"""


def build_man_page(overview: str, helps: Iterable[tuple[str, str]]) -> str:
    """Return the page in roff.

    Parameters
    ----------
    overview
        The help of the program.
    helps
        The words of every command, and its help.
    """
    commands = "".join(f".SS {escape(words)}\n{_keep_lines(text)}" for words, text in helps)
    return f"{_BEGINNING}{_keep_lines(overview)}.SH COMMANDS\n{commands}{_END}"


def _keep_lines(text: str) -> str:
    return f".nf\n{escape(text)}\n.fi\n"


def escape(text: str) -> str:
    r"""Return text that roff prints as it is: no line is a request, and no hyphen is typeset.

    >>> escape("--seed N\n.csv")
    '\\-\\-seed N\n\\&.csv'
    """
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
