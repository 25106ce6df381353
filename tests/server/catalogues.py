"""The catalogues of the pages: what the source marks, what the files of translators say, what is compiled.

``python -m tests.server.catalogues`` (`make messages`) brings the catalogues up to date with the source: new
texts come in untranslated, those that nothing marks any more go out, and the compiled files are written.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tracearena
from tracearena.pages.html import load_templates

SOURCE = Path(tracearena.__file__).parent
LOCALE = SOURCE / "server" / "locale"
PLURALS = {"en": "nplurals=2; plural=(n != 1);", "ja": "nplurals=1; plural=0;"}
_FORMS = {"en": 2, "ja": 1}
_MARKERS = {
    "tracearena.i18n": {"translate": 1, "mark_for_translation": 1, "translate_count": 2},
    "django.utils.translation": {"gettext": 1, "ngettext": 2},
}
_NAMES = ("msgid", "msgid_plural")
_TEXT = r"""u?('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
_IN_TEMPLATES = re.compile(rf"\bgettext\({_TEXT}\)|\bngettext\({_TEXT},\s*{_TEXT}")
_LINE = re.compile(r'(?:(msgid|msgid_plural|msgstr)(?:\[(\d+)\])? )?"(.*)"')


@dataclass(frozen=True)
class Entry:
    """A text in English, in its forms for one and for many if it counts, and what it is translated to."""

    forms: tuple[str, ...]
    said: tuple[str, ...] = ()
    fuzzy: bool = False


def marked() -> dict[tuple[str, ...], list[str]]:
    """Return every text that the source marks, and the files that it stands in."""
    found: dict[tuple[str, ...], list[str]] = {}
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html")]):
        is_django = SOURCE / "server" in path.parents
        texts = (
            _of_python(path) if path.suffix == ".py" else _of_template(path) if is_django else _of_page(path)
        )
        for forms in texts:
            places = found.setdefault(forms, [])
            name = path.relative_to(SOURCE).as_posix()
            if name not in places:
                places.append(name)
    alone = {forms[0]: forms for forms in found if len(forms) == 2}
    return {forms: places for forms, places in found.items() if len(forms) == 2 or forms[0] not in alone}


def _of_python(path: Path) -> Iterator[tuple[str, ...]]:
    text = path.read_text(encoding="utf-8")
    if not any(f"from {module} import" in text for module in _MARKERS):
        return
    tree = ast.parse(text)
    markers: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in _MARKERS:
            known = _MARKERS[node.module]
            markers |= {one.asname or one.name: known[one.name] for one in node.names if one.name in known}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in markers:
            given = node.args[: markers[node.func.id]]
            texts = [one.value for one in given if isinstance(one, ast.Constant)]
            if len(texts) == len(given):
                yield tuple(texts)


def _of_template(path: Path) -> Iterator[tuple[str, ...]]:
    from django.utils.translation.template import templatize

    for one, first, second in _IN_TEMPLATES.findall(templatize(path.read_text(encoding="utf-8"))):
        texts = (one,) if one else (first, second)
        yield tuple(ast.literal_eval(text) for text in texts)


def _of_page(path: Path) -> Iterator[tuple[str, ...]]:
    """Return what a template of `tracearena.pages` marks."""
    from jinja2.ext import extract_from_ast

    parsed = load_templates().parse(path.read_text(encoding="utf-8"))
    for _, marker, texts in extract_from_ast(parsed, tuple(_MARKERS["tracearena.i18n"])):
        given = texts if isinstance(texts, tuple) else (texts,)
        yield tuple(text for text in given[: _MARKERS["tracearena.i18n"][marker]] if text is not None)


def read(language: str) -> list[Entry]:
    """Return the entries of a catalogue, its header first."""
    text = (LOCALE / language / "LC_MESSAGES" / "django.po").read_text(encoding="utf-8")
    return [_entry(block) for block in text.split("\n\n") if "msgid" in block]


def _entry(block: str) -> Entry:
    parts: dict[str, str] = {}
    part = ""
    for line in block.splitlines():
        if line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        assert found is not None, line
        part = f"{found[1]}{found[2] or ''}" if found[1] else part
        parts[part] = parts.get(part, "") + _unquoted(found[3])
    forms = tuple(parts[name] for name in _NAMES if name in parts)
    said = tuple(text for name, text in parts.items() if name.startswith("msgstr"))
    return Entry(forms, said, "#, fuzzy" in block)


def compiled(entries: Iterable[Entry]) -> bytes:
    """Return a catalogue as the machine reads it: GNU's layout of ``.mo`` files, without a hash table."""
    texts = sorted(
        ("\0".join(one.forms).encode(), "\0".join(one.said).encode()) for one in entries if all(one.said)
    )
    count, head = len(texts), 7 * 4
    body, tables = b"", [b"", b""]
    begin = head + 2 * 8 * count
    for side in (0, 1):
        for pair in texts:
            tables[side] += struct.pack("<II", len(pair[side]), begin + len(body))
            body += pair[side] + b"\0"
    return (
        struct.pack("<7I", 0x950412DE, 0, count, head, head + 8 * count, 0, begin)
        + tables[0]
        + tables[1]
        + body
    )


def bring_up_to_date(language: str) -> None:
    """Write a catalogue anew: the texts that the source marks, with the translations that there are."""
    folder = LOCALE / language / "LC_MESSAGES"
    path = folder / "django.po"
    known = {one.forms: one for one in read(language)} if path.exists() else {}
    entries = [Entry(("",), (_header(language),))]
    lines = [_block(entries[0], [])]
    for forms, places in sorted(marked().items()):
        empty = ("",) * (_FORMS[language] if len(forms) == 2 else 1)
        said = forms if language == "en" else known[forms].said if forms in known else empty
        entries.append(Entry(forms, said))
        lines.append(_block(entries[-1], places))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    (folder / "django.mo").write_bytes(compiled(entries))


def _header(language: str) -> str:
    return (
        f"Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
        f"Content-Transfer-Encoding: 8bit\nPlural-Forms: {PLURALS[language]}\n"
    )


def _block(entry: Entry, places: list[str]) -> str:
    lines = [f"#: {place}" for place in places]
    lines += [f'{name} "{_quoted(text)}"' for name, text in zip(_NAMES, entry.forms, strict=False)]
    if len(entry.forms) == 1:
        return "\n".join([*lines, f'msgstr "{_quoted(entry.said[0])}"', ""])
    return "\n".join([*lines, *(f'msgstr[{n}] "{_quoted(text)}"' for n, text in enumerate(entry.said)), ""])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


if __name__ == "__main__":
    for each in PLURALS:
        bring_up_to_date(each)
        missing = [one.forms[0] for one in read(each) if not all(one.said)]
        print(f"{each}: {len(read(each)) - 1} texts, {len(missing)} to translate", *missing, sep="\n  ")
