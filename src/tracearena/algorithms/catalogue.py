"""The one list of algorithms, by the names the papers give them.

``create("MRLH(1,1,0.5)", "obfuscator")`` makes the object; ``str`` of the object gives the name
back. The command line, sweeps and contests all go through here. A class from elsewhere joins by
its import path (``"my_package.my_module:MyAttack(3)"``) or by an entry point in the group
``tracearena.algorithms`` whose name is the algorithm's name.

Classes are named by their import path, so that listing the catalogue imports none of them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from tracearena.algorithms.grammar import in_unit, is_bare_name, parse
from tracearena.algorithms.kinds import KINDS, Algorithm, Kind, constructor_fields, parameter_fields
from tracearena.errors import ParameterError, TracearenaWarning

ENTRY_POINT_GROUP = "tracearena.algorithms"


@dataclass(frozen=True)
class Entry:
    """One algorithm of the catalogue.

    Attributes
    ----------
    name, kind
        As the class says them.
    path
        Where the class is: module and name.
    summary
        What it does, in a line.
    example
        A name with parameters under which it is quickly tried out; without, the bare name.
    """

    name: str
    kind: Kind
    path: str
    summary: str
    example: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "example", self.example or self.name)

    def load(self) -> type[Algorithm]:
        """Import the class."""
        return _load(self.path)


_BUILT_IN = (
    Entry("No", "obfuscator", "tracearena.obfuscation.none:NoObfuscation", "leave every trace as it is"),
    Entry(
        "MRLH", "obfuscator", "tracearena.obfuscation.mrlh:MRLH",
        "merge regions into blocks of 2^mu_x × 2^mu_y and hide some", "MRLH(1,1,0.5)",
    ),
    Entry(
        "RR", "obfuscator", "tracearena.obfuscation.randomized_response:RandomizedResponse",
        "keep a place or answer any other at random", "RR(2)",
    ),
    Entry(
        "PL", "obfuscator", "tracearena.obfuscation.planar_laplace:PlanarLaplace",
        "planar Laplace noise: l-privacy within r km", "PL(4,1)",
    ),
    Entry(
        "Cheat", "obfuscator", "tracearena.obfuscation.cheating:Cheating",
        "shuffle the whole traces of the first users", "Cheat(0.5)",
    ),
    Entry(
        "ClusterAveraging", "obfuscator", "tracearena.obfuscation.cluster_averaging:ClusterAveraging",
        "make the visit counts of similar users alike, as far as the utility allows", "ClusterAveraging(0.7)",
    ),
    Entry(
        "Fakes", "obfuscator", "tracearena.obfuscation.fakes.defence:FakeTraces",
        "send each place among those of fake traces",
    ),
    Entry(
        "Random-R", "reidentification", "tracearena.attacks.random_guess:RandomIdentification",
        "guess a random permutation",
    ),
    Entry(
        "VisitProb-R", "reidentification", "tracearena.attacks.visit_probability:VisitProbabilityR",
        "most likely user by visit probabilities",
    ),
    Entry(
        "HomeProb-R", "reidentification", "tracearena.attacks.visit_probability:HomeProbabilityR",
        "the same from the first hour of each day",
    ),
    Entry(
        "FuzzyCount-R", "reidentification", "tracearena.attacks.fuzzy_counting:FuzzyCounting",
        "nearest user by visit counts spread over neighbouring places",
    ),
    Entry(
        "Random-T", "trace-inference", "tracearena.attacks.random_guess:RandomInference",
        "guess every place at random",
    ),
    Entry(
        "VisitProb-T", "trace-inference", "tracearena.attacks.visit_probability:VisitProbabilityT",
        "match users one to one by VisitProb, then undo the obfuscation",
    ),
    Entry(
        "HomeProb-T", "trace-inference", "tracearena.attacks.visit_probability:HomeProbabilityT",
        "the same with HomeProb",
    ),
    Entry(
        "FuzzyCount-T", "trace-inference", "tracearena.attacks.fuzzy_counting:FuzzyCountingT",
        "match by fuzzy counting, undo the obfuscation, put frequent places first",
    ),
    Entry(
        "Replay-T", "trace-inference", "tracearena.attacks.replay:ReferenceReplay",
        "answer with the user's own reference trace",
    ),
    Entry(
        "PPMTF", "synthesizer", "tracearena.synthesis.ppmtf.model:PPMTF",
        "factorise transition and visit counts together, draw traces from the factors",
        "PPMTF(2,20,iterations=4)",
    ),
    Entry("SGD", "synthesizer", "tracearena.synthesis.sgd:SGD", "one Markov chain for all users"),
    Entry(
        "SGLT", "synthesizer", "tracearena.synthesis.sglt.model:SGLT",
        "follow the meaning of a real day at other places", "SGLT(4)",
    ),
    Entry("Uniform", "synthesizer", "tracearena.synthesis.baselines:Uniform", "every place at random"),
    Entry(
        "Training", "synthesizer", "tracearena.synthesis.baselines:Training",
        "the training traces themselves",
    ),
    Entry(
        "GeoInd", "gps-obfuscator", "tracearena.obfuscation.gps_laplace:GeoInd",
        "planar Laplace noise on GPS points, in metres", "GeoInd(100m,5min)",
    ),
    Entry(
        "Thin", "gps-obfuscator", "tracearena.obfuscation.gps_thinning:Thinning",
        "keep one GPS point an interval", "Thin(60s)",
    ),
    Entry(
        "Snap", "gps-obfuscator", "tracearena.obfuscation.gps_snapping:Snapping",
        "move GPS points to the centres of square cells", "Snap(500m)",
    ),
    Entry(
        "Interpolate", "gps-attack", "tracearena.attacks.smoothing.methods:Interpolation",
        "fill in the way between the values of time-dependent noise",
    ),
    Entry(
        "Smooth", "gps-attack", "tracearena.attacks.smoothing.methods:Smoothing",
        "average each GPS point with its neighbours", "Smooth(9)",
    ),
    Entry(
        "Interpolate+Smooth", "gps-attack", "tracearena.attacks.smoothing.methods:InterpolationSmoothing",
        "interpolate, then average", "Interpolate+Smooth(9)",
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
        known.setdefault(point.name, Entry(point.name, algorithm.kind, point.value, summary))
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
    MRLH(mu_x=1, mu_y=1, deletion=0.5, legacy_2019=False)
    """
    name, positional, named = parse(spec)
    algorithm = _find(name, kind)
    if kind is not None and algorithm.kind != kind:
        raise ParameterError(f"{name} is of the kind {algorithm.kind}; {kind} is wanted here")
    written = [field.name for field in parameter_fields(algorithm)]
    if len(positional) > len(written):
        allowed = f"at most {len(written)} parameters ({', '.join(written)})" if written else "no parameters"
        raise ParameterError(f"{spec}: {name} takes {allowed}")
    values = dict(zip(written, positional, strict=False))
    fields = [field.name for field in constructor_fields(algorithm)]
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
        for field in constructor_fields(algorithm)
        if field.name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ParameterError(f"{spec}: {name} needs {', '.join(missing)}; write {name}({','.join(written)})")
    units, instead = algorithm.units, algorithm.instead_of_units
    try:
        return algorithm(
            **{key: in_unit(key, value, units.get(key), instead) for key, value in values.items()}
        )
    except ParameterError as error:
        raise ParameterError(f"{spec}: {error}") from None
    except Exception as error:
        raise ParameterError(f"{spec}: {name} cannot be made: {_raised(error)}") from error


def is_kind(spec: str, kind: Kind) -> bool:
    """Whether a name means an algorithm of a kind; a name that means nothing does not.

    >>> is_kind("GeoInd(expected_noise=100m)", "gps-obfuscator")
    True
    """
    name = parse(spec)[0]
    return (":" in name or name in entries()) and _find(name, kind).kind == kind


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
    if not is_bare_name(name):
        got = "lacks a name" if name is None else f"has the name {name!r}"
        raise ParameterError(f'{path} {got}: write name: ClassVar[str] = "{algorithm.__name__}" in it')


def _check_kind(algorithm: type[Algorithm], path: str) -> None:
    kind: Any = getattr(algorithm, "kind", None)
    if kind not in KINDS:
        bases = ", ".join(base.__name__ for base in KINDS.values())
        got = "is of no kind" if kind is None else f"has the kind {kind!r}, which is not one of ours"
        raise ParameterError(f"{path} {got}: derive it from one of {bases}")
    base = KINDS[kind]
    if not issubclass(algorithm, base):
        raise ParameterError(f"{path} has the kind {kind} but is not derived from {base.__name__}")
    for method in sorted(getattr(base, "__abstractmethods__", ())):
        seeded = "seed" in inspect.signature(getattr(base, method)).parameters
        try:
            called = inspect.signature(getattr(algorithm, method))
            called.bind(None, None, **({"seed": None} if seeded else {}))
        except (TypeError, ValueError) as error:
            wanted = "(self, traces, *, seed=None)" if seeded else "(self, traces)"
            raise ParameterError(f"{path}: {method} cannot be called as {method}{wanted}: {error}") from None


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
