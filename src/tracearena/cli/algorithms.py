"""``tracearena algorithms``: every defence, attack and synthesizer, and what each of them takes."""

from __future__ import annotations

from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, print_result


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(algorithms)


def algorithms(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind: defences, gps-defences, attacks, reidentification, trace-inference, gps-attacks or "
            "synthesizers; or the name of one algorithm, such as MRLH or my_module:MyDefence.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List every defence, attack and synthesizer with its parameters, or explain one.

    Parameters are written in this order, or by name: PL(4,1) is PL(l=4, r=1km). Those with a value after
    = or in brackets may be left out; numbers may carry a unit where one is named (m, km, s, min, h).
    """
    from tracearena.algorithms import Description, Listing, describe, overview
    from tracearena.algorithms.base import kinds_called

    found: Listing | Description
    if what is None or kinds_called(what):
        found = overview(what)
    else:
        _refuse_misspelt_kind(what)
        found = describe(what)
    if as_json:
        listed = found if isinstance(found, Listing) else Listing([found])
        print_result({"algorithms": listed.to_dicts()}, as_json)
    else:
        typer.echo(str(found))


def _refuse_misspelt_kind(word: str) -> None:
    """Say which kind a word is near to, before it is taken for the name of an algorithm."""
    from difflib import get_close_matches

    from tracearena.algorithms.base import KIND_WORDS
    from tracearena.errors import ParameterError

    close = get_close_matches(word.lower(), KIND_WORDS, n=1, cutoff=0.8)
    if close:
        raise ParameterError(f"there is no kind called {word!r}; did you mean {close[0]}?")
