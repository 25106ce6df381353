"""Run the fences of a page as a reader would, and keep what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.docs.pages import Block, Page

from tracearena.cli import main

_COMMAND = re.compile(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", re.M)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SHELL = re.compile(r"[|<>;&()]")


@dataclass
class Session:
    """One reader at one page: a folder, a Python session, and the environment of a shell.

    Attributes
    ----------
    said
        What the page says is printed, and what was printed: place in the page, and text.
    """

    page: Page
    folder: Path
    small: bool
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    said: list[tuple[tuple[int, int], str, str]] = field(default_factory=list)

    def run(self) -> None:
        """Run the page in its folder, which Python and commands find modules in."""
        modules = set(sys.modules)
        with (
            contextlib.chdir(self.folder),
            mock.patch.dict(os.environ),
            mock.patch.object(sys, "path", [str(self.folder), *sys.path]),
        ):
            try:
                for block in self.page.runs:
                    if not (self.small and block.is_long):
                        self._run_block(block)
            finally:
                for name in set(sys.modules) - modules:
                    if str(getattr(sys.modules[name], "__file__", "")).startswith(str(self.folder)):
                        del sys.modules[name]

    def _run_block(self, block: Block) -> None:
        source = block.source(small=self.small)
        if block.title:
            Path(block.title).write_text(source)
        elif block.language == "python":
            self._run_python(block, source)
        elif block.language == "sh":
            self._run_commands(block, re.findall(r"^(?!#)((?:[^\n]*\\\n)*[^\n]+)\n", source, re.M))
        else:
            self._run_transcript(block, source)

    def _run_python(self, block: Block, source: str) -> None:
        # As many empty lines before it as in the page: a traceback then names the right line.
        code = compile("\n" * block.line + source, self.page.name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        if block.printed is not None and block.is_compared and not (self.small and block.is_shrunk):
            self.said.append((block.printed.span, block.printed.body, printed.getvalue()))

    def _run_commands(self, block: Block, commands: list[str]) -> list[str]:
        printed = []
        for at, command in enumerate(commands):
            status, text = self._command(command)
            wanted = block.status if at == len(commands) - 1 else 0
            assert status == wanted, f"{self.page.name}:{block.line}: {command}\n{text}"
            printed.append(text)
        return printed

    def _run_transcript(self, block: Block, source: str) -> None:
        pairs = _COMMAND.findall(source)
        assert pairs, f"{self.page.name}:{block.line}: a console fence begins with '$ '"
        printed = self._run_commands(block, [command for command, _ in pairs])
        if block.is_compared and any(shown for _, shown in pairs) and not (self.small and block.is_shrunk):
            anew = "".join(
                f"$ {command}\n{text if shown else ''}"
                for (command, shown), text in zip(pairs, printed, strict=True)
            )
            self.said.append((block.span, block.body, anew))

    def _command(self, command: str) -> tuple[int, str]:
        command = command.replace("\\\n", " ")
        words = shlex.split(command, comments=True)
        if words[0] == "tracearena" and not _SHELL.search(
            re.sub(r"'[^']*'|\"[^\"]*\"|\$\(.*?\)", "", command)
        ):
            return _tracearena(words[1:])
        if words[0] == "export":
            os.environ.update([words[1].split("=", 1)])
            return 0, ""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        return done.returncode, done.stdout


def _tracearena(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit status and all it said, in the order it was said."""
    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["tracearena", *arguments]),
        mock.patch.object(sys, "path", list(sys.path)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            main()
        except SystemExit as leave:
            return int(leave.code or 0), out.getvalue()
    return 0, out.getvalue()


def agrees(shown: str, printed: str) -> bool:
    """Whether what was printed is what is shown, where ``…`` stands for anything."""
    if "…" not in shown:
        return shown == printed
    return re.fullmatch(".*?".join(map(re.escape, shown.split("…"))), printed, re.S) is not None
