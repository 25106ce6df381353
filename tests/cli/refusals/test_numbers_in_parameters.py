"""Every number in every name of the catalogue: nan, infinity, nothing and the absurd are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tracearena.algorithms import Algorithm, catalogue
from tracearena.algorithms.base import constructor_fields
from tracearena.algorithms.spec import format_parameter
from tracearena.errors import ParameterError

MAY_BE_NEGATIVE = {("PPMTF", "mean0")}
VALUES = ["inf", "-inf", "1e400", "nan", "", "100000000000000000000", "1" + 400 * "0", "-1", "1e20", "3j"]


def numbers() -> list[tuple[str, str]]:
    """Every algorithm with each of its parameters that is a number."""
    return [
        (name, field.name)
        for name, entry in catalogue.entries().items()
        for field in dataclasses.fields(entry.load())  # type: ignore[arg-type]
        if field.init and {"int", "float"} & set(str(field.type).replace("|", " ").split())
    ]


def given_by(algorithm: Algorithm) -> list[dataclasses.Field[Any]]:
    """The parameters that the example of an algorithm gives."""
    return [
        field
        for field in constructor_fields(type(algorithm))
        if getattr(algorithm, field.name) != field.default
    ]


def test_the_catalogue_has_numbers_to_try() -> None:
    assert {"Thin", "GeoInd", "Snap", "PL", "Smooth", "PPMTF", "SGLT", "Fakes"} <= {
        name for name, _ in numbers()
    }


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:24] or "nothing")
@pytest.mark.parametrize(("name", "parameter"), numbers())
def test_it_is_refused_by_a_sentence(name: str, parameter: str, value: str) -> None:
    if value == "-1" and (name, parameter) in MAY_BE_NEGATIVE:
        return
    ordinary = catalogue.create(catalogue.entries()[name].example)
    given = {field.name: format_parameter(getattr(ordinary, field.name)) for field in given_by(ordinary)}
    given |= {parameter: value}
    if (name, parameter) == ("GeoInd", "epsilon"):
        del given["expected_noise"]
    if parameter in ("transition_zeros", "visit_zeros"):
        given["zeros"] = "all"
    spec = f"{name}({','.join(f'{key}={text}' for key, text in given.items())})"
    with pytest.raises(ParameterError) as refused:
        catalogue.create(spec)
    told = str(refused.value)
    assert "is empty" in told if value == "" else parameter in told
    assert "cannot be made" not in told
    assert "\n" not in told


@pytest.mark.parametrize("value", ["inf", "nan", "1e400"])
def test_a_name_written_as_the_papers_do_is_refused_too(value: str) -> None:
    for spec in (f"Thin({value})", f"PL({value},1)", f"PL(1,{value})", f"Snap({value})", f"Smooth({value})"):
        with pytest.raises(ParameterError, match="is not allowed"):
            catalogue.create(spec)
