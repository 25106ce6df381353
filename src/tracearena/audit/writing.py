"""An audit as files: a page, every number as JSON, and tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.audit.page import audit_page
from tracearena.audit.protection import Protection
from tracearena.audit.protection_page import outcome
from tracearena.audit.records import Audit, Risks
from tracearena.audit.shares import Share
from tracearena.files import replacing, replacing_folder, write_csv
from tracearena.results import flat

PAGE, NUMBERS, SHARES, USEFULNESS = "audit.html", "audit.json", "shares.csv", "usefulness.csv"
_COLUMNS = ("of", "question", "measure", "value", "low", "high", "chance", "people")


def write_audit(
    audit: Audit,
    folder: str | PathLike[str],
    *,
    tables: bool = False,
    protection: Protection | None = None,
    command: str | None = None,
    reading: Sequence[str] = (),
) -> list[Path]:
    """Write a new folder with the page and the numbers, and tables if asked for; return its files.

    Parameters
    ----------
    protection, command
        Which defences were tried, and what makes the release of the chosen one.
    reading
        Options by which the file was read, for the command that the page proposes.
    """
    said = audit.to_dict()
    if protection is not None:
        said |= {"headline": outcome(protection)}
        said |= {"protection": protection.to_dict() | {"command": command}}
    names = [PAGE, NUMBERS, *([SHARES, USEFULNESS] if tables else [])]
    with replacing_folder(folder) as made:
        audit_page(audit, protection, command, reading).write(made / PAGE)
        with replacing(made / NUMBERS) as out:
            text = json.dumps(_defined(said), allow_nan=False, indent=1, ensure_ascii=False)
            out.write(text.encode())
        if tables:
            write_csv(made / SHARES, _COLUMNS, share_rows(audit))
            _write_usefulness(audit, made / USEFULNESS)
    return [Path(folder) / name for name in names]


def share_rows(audit: Audit) -> Iterator[list[Any]]:
    """Give every share of people of an audit as a row."""
    for of, risks in (("file", audit.before), ("release", audit.after)):
        if isinstance(risks, Risks):
            for question, record in vars(risks).items():
                for path, share in _shares(record, ""):
                    yield _row(of, question, path, share)
    for path, share in _shares(audit.synthetic, ""):
        yield _row("release", "synthetic", path, share)


def _row(of: str, question: str, path: str, share: Share) -> list[Any]:
    return [of, question, path, share.value, share.low, share.high, share.chance, share.people]


def _shares(value: Any, path: str) -> Iterator[tuple[str, Share]]:
    """Walk through records; a part of a list is named by what it holds, or else by its number."""
    if isinstance(value, Share):
        yield path, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _shares(one, f"{path} {key}".strip())
    elif isinstance(value, tuple):
        for at, one in enumerate(value):
            yield from _shares(one, f"{path} {_name(one, at)}".strip())
    elif hasattr(value, "__dataclass_fields__"):
        for key, one in vars(value).items():
            yield from _shares(one, f"{path} {key}".strip())


def _name(value: Any, at: int) -> str:
    named = [getattr(value, name, None) for name in ("attack", "category")]
    sides = [f"{getattr(value, name):g}" for name in ("side_m", "window_s") if hasattr(value, name)]
    return next((one for one in named if one is not None), " ".join(sides) or str(at))


def _write_usefulness(audit: Audit, path: Path) -> None:
    tasks = () if audit.usefulness is None else audit.usefulness.tasks
    rows = [flat(task.to_dict()) for task in tasks]
    columns = list(rows[0]) if rows else ["name"]
    write_csv(path, columns, ([row[column] for column in columns] for row in rows))


def _defined(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _defined(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_defined(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
