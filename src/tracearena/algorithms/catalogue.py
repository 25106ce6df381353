"""The one list of algorithms, by the names the papers give them.

``create("MRLH(1,1,0.5)", "obfuscator")`` makes the object; ``str`` of the object gives the name
back. The command line, sweeps and contests all go through here. A class from elsewhere joins by
its import path (``"my_package.my_module:MyAttack(3)"``) or by an entry point in the group
``tracearena.algorithms`` whose name is the algorithm's name.

Classes are named by their import path, so that listing the registry imports none of them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, Literal

from tracearena.errors import ParameterError, TracearenaWarning

Kind = Literal[
    "obfuscator", "reidentification", "trace-inference", "synthesizer", "gps-obfuscator", "gps-attack"
]
ENTRY_POINT_GROUP = "tracearena.algorithms"
SMALLEST_BARE = 1.0
"""Metres and seconds below which a number in a name needs its unit: a bare 0.02 is more likely an
epsilon, or kilometres, than two centimetres."""
_BASES: dict[str, tuple[str, dict[str, tuple[int, bool]]]] = {
    "obfuscator": ("tracearena.algorithms.Obfuscator", {"transform": (1, True)}),
    "reidentification": (
        "tracearena.algorithms.ReidentificationAttack",
        {"fit": (1, False), "identify": (1, True)},
    ),
    "trace-inference": (
        "tracearena.algorithms.TraceInferenceAttack",
        {"fit": (1, False), "infer": (1, True)},
    ),
    "synthesizer": ("tracearena.algorithms.Synthesizer", {"fit": (1, True), "synthesize": (1, True)}),
    "gps-obfuscator": ("tracearena.algorithms.GpsObfuscator", {"transform": (1, True)}),
    "gps-attack": ("tracearena.algorithms.GpsAttack", {"recover": (1, False)}),
}
"""What a class of each kind derives from, and its methods: how many arguments, and whether a seed."""


class Algorithm:
    """Mixin for algorithms: a name from the papers and parameters in the papers' order.

    A subclass is a frozen, keyword-only dataclass whose fields stand in the order in which the
    papers write the parameters; fields with a default may be left out of the name.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    units: ClassVar[Mapping[str, str]] = {}
    """Units that parameters are measured in: m, km, s, min or h."""
    instead_of_units: ClassVar[tuple[str, ...]] = ()
    """Parameters without a unit that a bare number may have been meant for."""

    def __str__(self) -> str:
        fields = _parameters(type(self))
        while fields and getattr(self, fields[-1].name) == fields[-1].default:
            fields.pop()
        values = ",".join(_with_unit(self, field.name) for field in fields)
        return f"{self.name}({values})" if fields else self.name


@dataclass(frozen=True)
class Entry:
    """One algorithm: its name, its kind, its parameters as printed, and where its class is."""

    name: str
    kind: Kind
    parameters: str
    path: str
    summary: str

    def load(self) -> type[Algorithm]:
        """Import the class."""
        return _load(self.path)


_BUILT_IN = (
    Entry("No", "obfuscator", "", "tracearena.obfuscation.none:NoObfuscation", "leave every trace as it is"),
    Entry(
        "MRLH", "obfuscator", "mu_x,mu_y,deletion", "tracearena.obfuscation.mrlh:MRLH",
        "merge regions into blocks of 2^mu_x × 2^mu_y and hide some",
    ),
    Entry(
        "RR", "obfuscator", "epsilon", "tracearena.obfuscation.randomized_response:RandomizedResponse",
        "keep a place or answer any other at random",
    ),
    Entry(
        "PL", "obfuscator", "l,r", "tracearena.obfuscation.planar_laplace:PlanarLaplace",
        "planar Laplace noise: l-privacy within r km",
    ),
    Entry(
        "Cheat", "obfuscator", "share", "tracearena.obfuscation.cheating:Cheating",
        "shuffle the whole traces of the first users",
    ),
    Entry(
        "ClusterAveraging", "obfuscator", "threshold,clusters,blur_km,limit_km",
        "tracearena.obfuscation.cluster_averaging:ClusterAveraging",
        "make the visit counts of similar users alike, as far as the utility allows",
    ),
    Entry(
        "Fakes", "obfuscator", "method,fakes,exposure", "tracearena.obfuscation.fakes.defence:FakeTraces",
        "send each place among those of fake traces",
    ),
    Entry(
        "Random-R", "reidentification", "", "tracearena.attacks.random_guess:RandomIdentification",
        "guess a random permutation",
    ),
    Entry(
        "VisitProb-R", "reidentification", "", "tracearena.attacks.visit_probability:VisitProbabilityR",
        "most likely user by visit probabilities",
    ),
    Entry(
        "HomeProb-R", "reidentification", "", "tracearena.attacks.home_probability:HomeProbabilityR",
        "the same from the first hour of each day",
    ),
    Entry(
        "FuzzyCount-R", "reidentification", "weighting,eta,decay",
        "tracearena.attacks.fuzzy_counting:FuzzyCounting",
        "nearest user by visit counts spread over neighbouring places",
    ),
    Entry(
        "Random-T", "trace-inference", "", "tracearena.attacks.random_guess:RandomInference",
        "guess every place at random",
    ),
    Entry(
        "VisitProb-T", "trace-inference", "", "tracearena.attacks.visit_probability:VisitProbabilityT",
        "match users one to one by VisitProb, then undo the obfuscation",
    ),
    Entry(
        "HomeProb-T", "trace-inference", "", "tracearena.attacks.home_probability:HomeProbabilityT",
        "the same with HomeProb",
    ),
    Entry(
        "FuzzyCount-T", "trace-inference", "weighting,eta,decay,frequent",
        "tracearena.attacks.fuzzy_counting:FuzzyCountingT",
        "match by fuzzy counting, undo the obfuscation, put frequent places first",
    ),
    Entry(
        "Replay-T", "trace-inference", "", "tracearena.attacks.replay:ReferenceReplay",
        "answer with the user's own reference trace",
    ),
    Entry(
        "PPMTF", "synthesizer", "factors,alpha", "tracearena.synthesis.ppmtf.model:PPMTF",
        "factorise transition and visit counts together, draw traces from the factors",
    ),
    Entry("SGD", "synthesizer", "copied", "tracearena.synthesis.sgd:SGD", "one Markov chain for all users"),
    Entry(
        "SGLT", "synthesizer", "classes,par_c,par_m,par_l,par_v", "tracearena.synthesis.sglt.model:SGLT",
        "follow the meaning of a real day at other places",
    ),
    Entry(
        "Uniform", "synthesizer", "", "tracearena.synthesis.baselines:Uniform",
        "every place at random",
    ),
    Entry(
        "Training", "synthesizer", "", "tracearena.synthesis.baselines:Training",
        "the training traces themselves",
    ),
    Entry(
        "GeoInd", "gps-obfuscator", "expected_noise,window,epsilon",
        "tracearena.obfuscation.gps_laplace:GeoInd", "planar Laplace noise on GPS points, in metres",
    ),
    Entry(
        "Thin", "gps-obfuscator", "interval", "tracearena.obfuscation.gps_thinning:Thinning",
        "keep one GPS point an interval",
    ),
    Entry(
        "Snap", "gps-obfuscator", "side", "tracearena.obfuscation.gps_snapping:Snapping",
        "move GPS points to the centres of square cells",
    ),
    Entry(
        "Interpolate", "gps-attack", "", "tracearena.attacks.smoothing:Interpolation",
        "fill in the way between the values of time-dependent noise",
    ),
    Entry(
        "Smooth", "gps-attack", "k,feedback", "tracearena.attacks.smoothing:Smoothing",
        "average each GPS point with its neighbours",
    ),
    Entry(
        "Interpolate+Smooth", "gps-attack", "k,feedback",
        "tracearena.attacks.smoothing:InterpolationSmoothing", "interpolate, then average",
    ),
)  # fmt: skip


@cache
def entries() -> dict[str, Entry]:
    """Return every known algorithm by name, the built-in ones first."""
    known = {entry.name: entry for entry in _BUILT_IN}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            algorithm = _load(point.value)
        except ParameterError as error:
            message = f"the algorithm {point.name} is left out: {error}"
            warnings.warn(message, TracearenaWarning, stacklevel=2)
            continue
        summary = (algorithm.__doc__ or "").strip().partition("\n")[0]
        known.setdefault(point.name, Entry(point.name, algorithm.kind, "", point.value, summary))
    return known


def names(kind: Kind) -> list[str]:
    """Return the names of one kind."""
    return [entry.name for entry in entries().values() if entry.kind == kind]


def create(spec: str, kind: Kind | None = None, **options: Any) -> Any:
    """Make the algorithm that a name such as ``PL(4,1)`` means.

    Parameters
    ----------
    spec
        A name with its parameters in parentheses, in the papers' order or as ``key=value``.
        Where a parameter has a unit, numbers may carry one (m, km, s, min, h), and must if they mean
        less than a metre or a second.
    kind
        What is expected; another kind is an error.
    **options
        Settings for every algorithm that has them (such as ``legacy_2019``); the others ignore them.

    >>> create("MRLH(1, 1, deletion=0.5)")
    MRLH(mu_x=1, mu_y=1, deletion=0.5)
    """
    name, positional, named = parse(spec)
    algorithm = _find(name, kind)
    if kind is not None and algorithm.kind != kind:
        raise ParameterError(f"{name} is of the kind {algorithm.kind}; {kind} is wanted here")
    written = [field.name for field in _parameters(algorithm)]
    if len(positional) > len(written):
        allowed = f"at most {len(written)} parameters ({', '.join(written)})" if written else "no parameters"
        raise ParameterError(f"{spec}: {name} takes {allowed}")
    values = dict(zip(written, positional, strict=False))
    fields = [field.name for field in dataclasses.fields(algorithm) if field.init]  # type: ignore[arg-type]
    for key, value in named.items():
        if key not in fields:
            raise ParameterError(
                f"{spec}: {name} has no parameter {key!r}; it has {', '.join(fields) or 'none'}"
            )
        if key in values:
            raise ParameterError(f"{spec}: {key} is given twice")
        values[key] = value
    values |= {key: value for key, value in options.items() if key in fields and key not in values}
    missing = [
        field.name
        for field in dataclasses.fields(algorithm)  # type: ignore[arg-type]
        if field.init
        and field.name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ParameterError(f"{spec}: {name} needs {', '.join(missing)}; write {name}({','.join(written)})")
    try:
        return algorithm(**{key: _in_unit(algorithm, key, value) for key, value in values.items()})
    except ParameterError as error:
        raise ParameterError(f"{spec}: {error}") from None
    except Exception as error:
        raise ParameterError(f"{spec}: {name} cannot be made: {_raised(error)}") from error


def _in_unit(algorithm: type[Algorithm], parameter: str, value: Any) -> Any:
    """Turn a quantity into the unit its parameter is measured in; other values pass as they are.

    A bare number that would mean less than a metre or a second is refused.
    """
    unit = algorithm.units.get(parameter)
    if not isinstance(value, Quantity):
        if unit is not None and _is_small(value, unit):
            said = _written(value)
            others = [other for other in algorithm.instead_of_units if other != parameter]
            spellings = [f"{said}{unit}", *(f"{other}={said}" for other in others)]
            raise ParameterError(
                f"{parameter} = {said} would mean {said} {unit}: write {', or '.join(spellings)}"
            )
        return value
    if unit is None:
        raise ParameterError(f"{parameter} has no unit; write a bare number")
    base, factor = _UNITS[unit]
    if base != value.base:
        raise ParameterError(f"{parameter} is measured in {unit}, not in {value.base}")
    return float(value) / factor


def _is_small(value: Any, unit: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 < value * _UNITS[unit][1] < SMALLEST_BARE


def _with_unit(algorithm: Algorithm, parameter: str) -> str:
    """Write a parameter so that `create` reads it back: with its unit where a bare number is refused."""
    value, unit = getattr(algorithm, parameter), algorithm.units.get(parameter)
    return _written(value) + (unit if unit is not None and _is_small(value, unit) else "")


def is_kind(spec: str, kind: Kind) -> bool:
    """Whether a name means an algorithm of a kind; a name that means nothing does not.

    >>> is_kind("GeoInd(expected_noise=100m)", "gps-obfuscator")
    True
    """
    name = parse(spec)[0]
    return (":" in name or name in entries()) and _find(name, kind).kind == kind


def _parameters(algorithm: type[Algorithm]) -> list[dataclasses.Field[Any]]:
    """Return the fields that the papers write; settings such as ``legacy_2019`` are not among them."""
    return [field for field in dataclasses.fields(algorithm) if field.init and field.repr]  # type: ignore[arg-type]


_SPEC = re.compile(r"\s*([A-Za-z_][\w.:+-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(km|min|m|s|h)?", re.ASCII)
_UNITS = {"m": ("m", 1.0), "km": ("m", 1000.0), "s": ("s", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0)}


class Quantity(float):
    """A number that was written with a unit, in metres or seconds.

    >>> Quantity.of("1.5", "km"), Quantity.of("1.5", "km").base
    (1500.0, 'm')
    """

    base: str

    @classmethod
    def of(cls, number: str, unit: str) -> Quantity:
        """Turn a number with a unit into metres or seconds."""
        base, factor = _UNITS[unit]
        quantity = cls(float(number) * factor)
        quantity.base = base
        return quantity


def parse(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Split a name into the bare name, positional and named parameters.

    >>> parse("GeoInd(expected_noise=100m, window=5min)")
    ('GeoInd', [], {'expected_noise': 100.0, 'window': 300.0})
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise ParameterError(f"{spec!r} is not a name such as MRLH(1,1,0.5)")
    name, inner = match.groups()
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in inner.split(",") if inner and inner.strip() else []:
        key, equals, text = part.partition("=")
        if equals:
            named[key.strip()] = _value(text, spec)
        elif named:
            raise ParameterError(f"{spec}: parameters without a name come first")
        else:
            positional.append(_value(part, spec))
    return name, positional, named


def _value(text: str, spec: str) -> Any:
    text = text.strip()
    if not text:
        raise ParameterError(f"{spec}: a parameter is empty")
    match = _NUMBER.fullmatch(text)
    if match is None:
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
    number, unit = match.groups()
    if unit:
        return Quantity.of(number, unit)
    return int(number) if re.fullmatch(r"[+-]?\d{1,300}", number) else float(number)


def _written(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _find(name: str, kind: Kind | None) -> type[Algorithm]:
    if ":" in name:
        return _load(name)
    entry = entries().get(name)
    if entry is None:
        wanted = names(kind) if kind else list(entries())
        close = difflib.get_close_matches(name, [*wanted, *entries()], n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(wanted)}"
        raise ParameterError(f"there is no {kind or 'algorithm'} called {name!r}; {hint}")
    return entry.load()


def _load(path: str) -> type[Algorithm]:
    """Import a class, and refuse one that cannot be what it says before anything is asked of it."""
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        said = str(error) if isinstance(error, (ImportError, AttributeError)) else _raised(error)
        raise ParameterError(f"cannot import {path}: {said}") from error
    if not (isinstance(found, type) and issubclass(found, Algorithm)):
        raise ParameterError(f"{path} is not an algorithm: derive it from Obfuscator or one of the attacks")
    check_class(found, path)
    return found


def check_class(found: type[Algorithm], path: str | None = None) -> None:
    """Refuse a class that lacks what every algorithm has: its methods, a kind, a name, parameters."""
    path = path or f"{found.__module__}:{found.__qualname__}"
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise ParameterError(f"{path} lacks {missing}")
    if not dataclasses.is_dataclass(found):
        raise ParameterError(f"{path} is not a dataclass: write @dataclass(kw_only=True) above it")
    _check_kind(found, path)
    _check_name(found, path)


def _check_name(algorithm: type[Algorithm], path: str) -> None:
    name = getattr(algorithm, "name", None)
    if not (isinstance(name, str) and _SPEC.fullmatch(name) and "(" not in name):
        got = "lacks a name" if name is None else f"has the name {name!r}"
        raise ParameterError(f'{path} {got}: write name: ClassVar[str] = "{algorithm.__name__}" in it')


def _check_kind(algorithm: type[Algorithm], path: str) -> None:
    kind = getattr(algorithm, "kind", None)
    if kind not in _BASES:
        bases = ", ".join(base.rpartition(".")[2] for base, _ in _BASES.values())
        got = "is of no kind" if kind is None else f"has the kind {kind!r}, which is not one of ours"
        raise ParameterError(f"{path} {got}: derive it from one of {bases}")
    where, methods = _BASES[kind]
    module, _, base = where.rpartition(".")
    if not issubclass(algorithm, getattr(importlib.import_module(module), base)):
        raise ParameterError(f"{path} has the kind {kind} but is not derived from {base}")
    for method, (count, seeded) in methods.items():
        takes = {"seed": None} if seeded else {}
        try:
            inspect.signature(getattr(algorithm, method)).bind(None, *[None] * count, **takes)
        except (TypeError, ValueError) as error:
            wanted = "(self, traces, *, seed=None)" if seeded else "(self, traces)"
            raise ParameterError(f"{path}: {method} cannot be called as {method}{wanted}: {error}") from None


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
