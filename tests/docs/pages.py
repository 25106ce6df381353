"""The pages of the documentation, taken apart into what runs, what it prints, and what is said for the tests.

A fence says what is in it:

- ``python`` is run; a ``text`` fence right below it is what it prints.
- ``console`` has commands after ``$`` and below each what it prints; a command with nothing below is run, and
  what it prints is not compared. ``sh`` has commands alone.
- A fence with ``title="NAME"`` is the file NAME, whatever its language.
- Every other language is not run.

Comments that a reader does not see say the rest. In what is printed and in a file ``…`` stands for anything.

``<!-- page: files contest -->``
    Inputs of that name (`tests.docs.inputs`) lie in the folder where the page is run.
``<!-- page: slow -->``, ``<!-- page: long -->``
    The page is left out of ``make check``, or runs in ``make test-long`` only.
``<!-- test: long -->``
    The next fence runs in ``make test-long`` only.
``<!-- test: "--users 2000" as "--users 40" -->``
    The next fence runs with fewer users every day, and as it stands in ``make test-long``.
``<!-- test: output varies -->``
    What the next fence prints is not compared.
``<!-- test: status 2 -->``
    The last command of the next fence ends with this exit status.
``<!-- test: not run: why -->``
    The next fence is not run. These are counted.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<tick>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=tick)[ \t]*$", re.S | re.M
)
_COMMENT = re.compile(r"<!-- (page|test): (.*?) -->", re.S)
_AS = re.compile(r'"([^"]+)" as "([^"]*)"')


@dataclass(frozen=True)
class Block:
    """One fence of a page, and what is said of it.

    Attributes
    ----------
    span
        Where its body stands in the page.
    printed
        The ``text`` fence below a ``python`` one, if there is one.
    remarks
        What stands in ``<!-- test: … -->`` above it.
    """

    language: str
    title: str | None
    body: str
    span: tuple[int, int]
    line: int
    printed: Block | None
    remarks: tuple[str, ...]

    @property
    def is_long(self) -> bool:
        return "long" in self.remarks

    @property
    def is_compared(self) -> bool:
        return "output varies" not in self.remarks

    @property
    def why_not(self) -> str | None:
        """Why it is not run, if it is not."""
        found = [remark for remark in self.remarks if remark.startswith("not run")]
        return found[0].removeprefix("not run").strip(" :") if found else None

    @property
    def status(self) -> int:
        found = [remark for remark in self.remarks if remark.startswith("status ")]
        return int(found[0].split()[1]) if found else 0

    def source(self, *, small: bool) -> str:
        """Return what is run: with the smaller numbers, or as it stands."""
        body = self.body
        for remark in self.remarks if small else ():
            for written, meant in _AS.findall(remark):
                assert written in body, f"line {self.line}: there is no {written!r} in this fence"
                body = body.replace(written, meant)
        return body

    @property
    def is_shrunk(self) -> bool:
        return any(_AS.search(remark) for remark in self.remarks)


@dataclass(frozen=True)
class Page:
    """A page: its fences in order, and what is said of all of them."""

    path: Path
    text: str
    blocks: tuple[Block, ...]
    remarks: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs that the page needs."""
        return [word for remark in self.remarks if remark.startswith("files ") for word in remark.split()[1:]]

    @property
    def runs(self) -> list[Block]:
        """The fences that are run or are files."""
        return [
            block
            for block in self.blocks
            if block.why_not is None and (block.title or block.language in {"python", "console", "sh"})
        ]

    @property
    def has_long_parts(self) -> bool:
        return "long" in self.remarks or any(block.is_long or block.is_shrunk for block in self.runs)


def read_page(path: Path) -> Page:
    """Take a page apart."""
    text = path.read_text()
    fences = list(_FENCE.finditer(text))
    inside = [fence.span() for fence in fences]
    comments = [
        found
        for found in _COMMENT.finditer(text)
        if not any(start <= found.start() < end for start, end in inside)
    ]
    page = tuple(found[2] for found in comments if found[1] == "page")
    said = [found for found in comments if found[1] == "test"]
    blocks: list[Block] = []
    after = 0
    for fence in fences:
        language, _, rest = fence["info"].partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        block = Block(
            language,
            title[1] if title else None,
            textwrap.dedent(fence["body"]) if fence["indent"] else fence["body"],
            fence.span("body"),
            text.count("\n", 0, fence.start()) + 1,
            None,
            tuple(found[2] for found in said if after <= found.start() < fence.start()),
        )
        between = text[after : fence.start()].strip()
        if blocks and language == "text" and not title and blocks[-1].language == "python" and not between:
            blocks[-1] = replace(blocks[-1], printed=block)
        else:
            blocks.append(block)
        after = fence.end()
    return Page(path, text, tuple(blocks), page)
