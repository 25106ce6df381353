"""Every algorithm of the catalogue is taken by a command: the one that `tracearena algorithms` names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command_line import Done, tracearena

from tracearena.algorithms import catalogue, describe, overview
from tracearena.algorithms.base import KINDS, WORDING
from tracearena.cities import simulate
from tracearena.io import pwscup

PLACES = ("--places", "places.csv")
FILES = {
    "obfuscator": {"IN": ("org.csv",), "OUT": ("out.csv", *PLACES)},
    "gps-obfuscator": {"IN": ("gps.csv",), "OUT": ("out.csv",)},
    "reidentification": {"OUT": ("out.csv", *PLACES), "R": ("ref.csv",), "A": ("pub.csv",)},
    "trace-inference": {"OUT": ("out.csv", *PLACES), "R": ("ref.csv",), "A": ("pub.csv",)},
    "gps-attack": {"OUT": ("out.csv",), "A": ("gps.csv",)},
    "gps-synthesizer": {"IN": ("gps.csv",), "OUT": ("out.csv",)},
    "synthesizer": {"IN": ("org.csv",), "OUT": ("out.csv", *PLACES)},
}
"""What stands for the files in the command of each kind."""
SLOW = {"Fakes"}
PUBLIC = {
    "PrivateRoles": ("--virtual-users", "6"),
    "PrivateTrips": ("--virtual-users", "6", "--bounds", "34.9,150.0,35.0,150.12"),
}
"""What else a private synthesizer must be told, since it is not taken from the data."""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny city, as the commands themselves make them."""
    folder = tmp_path_factory.mktemp("city")
    people = simulate(6, 4, clock=pwscup.PWS_CLOCK, seed=1)
    reference, original = people.split_days(2)
    pwscup.write_places(people.places, folder / "places.csv")
    pwscup.write_traces(reference, folder / "ref.csv")
    pwscup.write_traces(original, folder / "org.csv")
    before = os.getcwd()
    os.chdir(folder)
    try:
        done(tracearena("city", "gps.csv", "--mode", "gps", "--users", 2, "--days", 1, "--seed", 1))
        done(tracearena("obfuscate", "No", "org.csv", "ano.csv", *PLACES))
        whose = ("--original", "org.csv", "--id-table", "table.csv")
        done(tracearena("pseudonymise", "ano.csv", "pub.csv", *whose, *PLACES))
    finally:
        os.chdir(before)
    return folder


def lacks_legacy(name: str) -> bool:
    about = describe(name)
    return not about.kind.endswith("synthesizer") and "legacy_2019" not in [
        one.name for one in about.parameters
    ]


NAMES = [(entry.name, kind) for entry in catalogue.entries().values() for kind in entry.kinds]
"""Every algorithm, once for each of its kinds."""


def command(name: str, kind: str) -> list[str]:
    """The words of the command that takes an algorithm, with files of the city."""
    entry = catalogue.entries()[name]
    _, *words = WORDING[kind].command.split()
    given = FILES[kind] | {"NAME": (entry.example,)}
    return [*(part for word in words for part in given.get(word, (word,))), *PUBLIC.get(name, ())]


def done(what: Done) -> Done:
    assert what.status == 0, what.err
    return what


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*one, marks=pytest.mark.slow) if one[0] in SLOW else one for one in NAMES],
)
def test_its_command_takes_it(name: str, kind: str, city: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in PUBLIC:
        pytest.importorskip("opendp")
    monkeypatch.chdir(city)
    (city / "out.csv").unlink(missing_ok=True)
    done(tracearena(*command(name, kind), "--json"))
    assert (city / "out.csv").stat().st_size > 0


WITHOUT_LEGACY = [one for one in NAMES if lacks_legacy(one[0])]
FIRST_OF_KIND = {kind: name for name, kind in reversed(WITHOUT_LEGACY)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind) if FIRST_OF_KIND[kind] == name else pytest.param(name, kind, marks=pytest.mark.long)
        for name, kind in WITHOUT_LEGACY
    ],
)
def test_an_option_that_it_does_not_have_is_refused(
    name: str, kind: str, city: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(city)
    (city / "out.csv").unlink(missing_ok=True)
    refused = tracearena(*command(name, kind), "--legacy-2019")
    assert (refused.status, refused.out) == (2, "")
    assert "--legacy-2019 does not apply to" in refused.err
    assert not (city / "out.csv").exists()


def test_every_kind_has_words_and_a_command() -> None:
    assert set(WORDING) == set(KINDS) == set(FILES)


@pytest.mark.parametrize("name", catalogue.entries())
def test_it_says_what_it_does_and_what_its_parameters_mean(name: str) -> None:
    about = describe(name)
    assert about.summary[0].isupper() or about.summary.startswith(tuple(catalogue.entries()))
    assert not about.summary.endswith(".")
    assert [one.name for one in about.parameters] == list(
        catalogue.create(entry_of(name)).get_params(deep=False)
    )
    assert all(one.meaning for one in about.parameters), about
    assert catalogue.create(about.example, about.kind)
    assert about in list(overview())


def entry_of(name: str) -> str:
    return catalogue.entries()[name].example
