"""How ``tracearena synthesize`` was called before methods had names of the catalogue; kept for one version.

``synthesize ppmtf --factors 3`` is ``synthesize 'PPMTF(factors=3)'`` now: a method is a name of the
catalogue, and what was an option of one method is a parameter in that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tracearena.cli._console import note
from tracearena.cli._help import Sectioned
from tracearena.errors import ParameterError

_FLAGS = {"apart": "shared_factors=false", "legacy-ppmtf": "scatter=uncentred"}
_PPMTF = {name: name for name in ("factors", "alpha", "iterations", "zeros")}
_SGLT = {name: name.replace("-", "_") for name in ("classes", "par-c", "par-m", "par-l", "par-v", "periods")}


@dataclass(frozen=True)
class _Method:
    """An old method: its name now, its options as parameters, flags and new options."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)


_METHODS = {
    "ppmtf": _Method("PPMTF", _PPMTF, _FLAGS),
    "ppmtf-plus": _Method(
        "PPMTF",
        _PPMTF,
        _FLAGS,
        {"users": "virtual_users", "days": "traces_per_user"},
        {"virtual_users": 2_000, "traces_per_user": 40},
    ),
    "sgd": _Method("SGD", {"copied": "copied"}),
    "sglt": _Method(
        "SGLT", _SGLT, {"no-privacy-tests": "privacy_tests=false"}, {"fakes-per-user": "traces_per_user"}
    ),
    "uniform": _Method("Uniform"),
}
_WITH_VALUE = {option for method in _METHODS.values() for option in (*method.parameters, *method.options)}
_SWITCHES = {option for method in _METHODS.values() for option in method.flags}


class OldSpellings(Sectioned):
    """The command, with the old spellings read as the new ones."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the old options out, let the others be read, and put the new ones in."""
        old, kept = _taken_out(args)
        rest = super().parse_args(ctx, kept)
        method = _METHODS.get(str(ctx.params.get("name")))
        if method is not None:
            ctx.params |= _translated(str(ctx.params["name"]), method, old, ctx.params)
        elif old:
            raise ParameterError(_now(next(iter(old))))
        return rest


def _taken_out(words: list[str]) -> tuple[dict[str, str | None], list[str]]:
    """Return the old options that are among the words, and the others."""
    old: dict[str, str | None] = {}
    kept: list[str] = []
    left = iter(words)
    for word in left:
        option, equals, value = word.removeprefix("--").partition("=")
        if word == "--":
            kept += [word, *left]
        elif not word.startswith("--") or option not in _WITH_VALUE | _SWITCHES:
            kept.append(word)
        elif option in _SWITCHES:
            old[option] = None
        else:
            old[option] = value if equals else next(left, "")
    return old, kept


def _translated(
    said: str, method: _Method, old: dict[str, str | None], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the command that an old method and its options stand for; say them, too."""
    inside: list[str] = []
    options: dict[str, int] = {}
    for option, value in old.items():
        if option in method.parameters:
            inside.append(f"{method.parameters[option]}={_plain(option, value)}")
        elif option in method.flags:
            inside.append(method.flags[option])
        elif option in method.options:
            options[method.options[option]] = _count(option, value)
        else:
            raise ParameterError(f"--{option} has no meaning for {said}")
    for name, usual in method.defaults.items():
        if name not in options and given.get(name) is None:
            options[name] = usual
    name = f"{method.name}({','.join(inside)})" if inside else method.name
    more = "".join(f" --{option.replace('_', '-')} {value}" for option, value in options.items())
    note(
        f"hint: {said} is called {method.name} now, with its parameters in the name; the next version will "
        f"only know\n  tracearena synthesize '{name}' {given['file']} {given['out']}{more} …"
    )
    return {"name": name, **options}


def _plain(option: str, value: str | None) -> str:
    if not value or set(value) & set("(),="):
        raise ParameterError.of(f"--{option}", value, "one number or one word")
    return value


def _count(option: str, value: str | None) -> int:
    try:
        return int(value or "")
    except ValueError:
        raise ParameterError.of(f"--{option}", value, "a whole number") from None


def _now(option: str) -> str:
    """Say how an old option is written with a name of the catalogue."""
    for method in _METHODS.values():
        if option in method.options:
            return f"--{option} is called --{method.options[option].replace('_', '-')} now"
        if option in method.parameters:
            return f"--{option} stands in the name now: {method.name}({method.parameters[option]}=…)"
        if option in method.flags:
            return f"--{option} stands in the name now: {method.name}({method.flags[option]})"
    raise KeyError(option)
