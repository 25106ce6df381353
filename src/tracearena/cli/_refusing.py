"""Options that do not apply are refused, not ignored."""

from __future__ import annotations


def refuse(what: str, **options: object) -> None:
    """Refuse options that are given and do not apply to `what`, instead of ignoring them."""
    from tracearena.errors import ParameterError

    given = [
        f"--{name.replace('_', '-')}"
        for name, value in options.items()
        if value is not None and value is not False
    ]
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise ParameterError(f"{', '.join(given)} {verb} not apply to {what}")
