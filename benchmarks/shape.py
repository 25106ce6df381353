"""The shape of the source in three numbers: a look, not a gate.

- *Import lines*: lines of import statements among all lines.
- *Private functions with one caller*: among all functions and methods, those whose name begins with one
  underscore and is mentioned once besides its definition, in its own file.
- *Places of the same shape*: pairs of places inside functions with six or more successive lines that are
  equal once the names of variables, numbers and strings are taken out; what is called, and attributes, keep
  their names. Docstrings, signatures and lines of brackets alone are left out before; longer runs count once.

    python benchmarks/shape.py [--pairs]
"""

from __future__ import annotations

import ast
import io
import keyword
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tracearena"
RUN = 6
_QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def spans(tree: ast.Module) -> tuple[set[int], set[int], set[int]]:
    """Return the numbers of the lines of imports, of docstrings, and of the bodies of functions."""
    imports, docstrings, bodies = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.FunctionDef):
            bodies.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return imports, docstrings, bodies


def shapes(text: str) -> dict[int, str]:
    """Return the lines of code with their shape: variables and constants are one letter each."""
    found: dict[int, list[str]] = defaultdict(list)
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _QUIET and token.type != tokenize.ENDMARKER
    ]
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.type == tokenize.NAME:
            kept = (before and before.string == ".") or (after and after.string == "(")
            shape = token.string if kept or keyword.iskeyword(token.string) else "n"
        else:
            shape = token.string if token.type == tokenize.OP else "c"
        for line in range(token.start[0], token.end[0] + 1):
            found[line].append(shape)
    return {line: " ".join(parts) for line, parts in sorted(found.items())}


def once_called(trees: dict[Path, ast.Module]) -> tuple[int, int]:
    """Return how many private functions are mentioned once, and how many functions there are."""
    once = total = 0
    for tree in trees.values():
        mentions: dict[str, int] = defaultdict(int)
        private = []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                total += 1
                if node.name.startswith("_") and not node.name.startswith("__"):
                    private.append(node.name)
            elif isinstance(node, ast.Name):
                mentions[node.id] += 1
            elif isinstance(node, ast.Attribute):
                mentions[node.attr] += 1
        once += sum(mentions[name] == 1 for name in private)
    return once, total


def pairs(lines: dict[Path, list[tuple[int, str]]]) -> list[tuple[tuple[Path, int], tuple[Path, int], int]]:
    """Return two places and the number of lines that they share, the longest run of each pair alone."""
    where: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, rows in lines.items():
        for i in range(len(rows) - RUN + 1):
            where[tuple(shape for _, shape in rows[i : i + RUN])].append((path, i))
    found = []
    for places in where.values():
        for k, (path, i) in enumerate(places):
            for other, j in places[k + 1 :]:
                if path == other and abs(i - j) < RUN:
                    continue
                one, two = lines[path], lines[other]
                if i and j and one[i - 1][1] == two[j - 1][1]:
                    continue
                length = RUN
                while (
                    i + length < len(one)
                    and j + length < len(two)
                    and one[i + length][1] == two[j + length][1]
                ):
                    length += 1
                found.append(((path, one[i][0]), (other, two[j][0]), length))
    return found


def main() -> None:
    texts = {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    imported = counted = 0
    lines = {}
    for path, text in texts.items():
        imports, docstrings, bodies = spans(trees[path])
        counted += len(text.splitlines())
        imported += len(imports)
        told = bodies - imports - docstrings
        lines[path] = [
            (line, shape)
            for line, shape in shapes(text).items()
            if line in told and any(sign.isalpha() for sign in shape)
        ]
    once, total = once_called(trees)
    same = pairs(lines)
    print(f"import lines: {imported:,} of {counted:,} ({imported / counted:.1%})")
    print(f"private functions with one caller: {once:,} of {total:,} ({once / total:.0%})")
    print(f"pairs of places that share {RUN} or more lines of the same shape: {len(same):,}")
    if "--pairs" in sys.argv:
        for (path, line), (other, there), length in sorted(same, key=lambda pair: -pair[2]):
            print(f"{length:4}  {path.relative_to(SOURCE)}:{line}  {other.relative_to(SOURCE)}:{there}")


if __name__ == "__main__":
    main()
