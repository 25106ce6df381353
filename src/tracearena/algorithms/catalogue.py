"""The catalogue of algorithms, by their names in the papers.

``create("MRLH(1,1,0.5)", "obfuscator")`` makes the object; ``str`` of the object gives the name back. The
command line, sweeps and contests use these functions. You can use your own class by its import path
(``"my_package.my_module:MyAttack(3)"``), or register it with an entry point in the group
``tracearena.algorithms`` that has the name of the algorithm.

Classes are named by their import path, so that listing the catalogue imports none of them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from tracearena.algorithms.base import (
    KINDS,
    WORDING,
    Algorithm,
    Kind,
    constructor_fields,
    kinds_of,
    kinds_of_same_side,
    parameter_fields,
)
from tracearena.algorithms.spec import convert_to_unit, is_bare_name, parse, split_stages
from tracearena.errors import ParameterError, TracearenaWarning

ENTRY_POINT_GROUP = "tracearena.algorithms"
Kinds = Kind | Sequence[Kind] | None
"""What is expected: one kind, one of several, or any."""


@dataclass(frozen=True)
class CatalogueEntry:
    """One algorithm of the catalogue.

    Attributes
    ----------
    name, kind
        Those of the class.
    path
        Where the class is: module and name.
    example
        A name with parameters for a quick trial; by default the bare name.
    kinds
        All its kinds, beginning with `kind`; by default only that one.
    """

    name: str
    kind: Kind
    path: str
    example: str = ""
    kinds: tuple[Kind, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "example", self.example or self.name)
        object.__setattr__(self, "kinds", self.kinds or (self.kind,))

    def load(self) -> type[Algorithm]:
        """Import the class."""
        return _load(self.path)


_DEFENCES: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator")
_BUILT_IN = (
    CatalogueEntry("No", "obfuscator", "tracearena.obfuscation.samples_2019:NoObfuscation"),
    CatalogueEntry("MRLH", "obfuscator", "tracearena.obfuscation.samples_2019:MRLH", "MRLH(1,1,0.5)"),
    CatalogueEntry("RR", "obfuscator", "tracearena.obfuscation.samples_2019:RandomizedResponse", "RR(2)"),
    CatalogueEntry("PL", "obfuscator", "tracearena.obfuscation.planar_laplace:PlanarLaplace", "PL(4,1)"),
    CatalogueEntry("Cheat", "obfuscator", "tracearena.obfuscation.samples_2019:Cheating", "Cheat(0.5)"),
    CatalogueEntry(
        "ClusterAveraging", "obfuscator", "tracearena.obfuscation.cluster_averaging:ClusterAveraging",
        "ClusterAveraging(0.7)",
    ),
    CatalogueEntry("KAnonymous", "obfuscator", "tracearena.obfuscation.k_anonymity:KAnonymous",
        "KAnonymous(3)"),
    CatalogueEntry("Decoy", "obfuscator", "tracearena.obfuscation.mimicry:Decoy", "Decoy(0.7)"),
    CatalogueEntry("Impostor", "obfuscator", "tracearena.obfuscation.mimicry:Impostor", "Impostor(0.7)"),
    CatalogueEntry("Fakes", "obfuscator", "tracearena.obfuscation.fakes:FakeTraces"),
    CatalogueEntry("Random-R", "reidentification", "tracearena.attacks.baselines:RandomIdentification"),
    CatalogueEntry("VisitProb-R", "reidentification",
        "tracearena.attacks.visit_probability:VisitProbabilityR"),
    CatalogueEntry("HomeProb-R", "reidentification", "tracearena.attacks.visit_probability:HomeProbabilityR"),
    CatalogueEntry("FuzzyCount-R", "reidentification", "tracearena.attacks.fuzzy_counting:FuzzyCounting"),
    CatalogueEntry("Aligned-R", "reidentification", "tracearena.attacks.baselines:AlignedIdentification"),
    CatalogueEntry("Polya-R", "reidentification", "tracearena.attacks.bayesian.attacks:PolyaIdentification"),
    CatalogueEntry("Markov-R", "reidentification",
        "tracearena.attacks.bayesian.attacks:MarkovIdentification"),
    CatalogueEntry("Bayes-R", "reidentification", "tracearena.attacks.bayesian.attacks:BayesIdentification"),
    CatalogueEntry("Link-R", "reidentification", "tracearena.attacks.linking.linker:Linker"),
    CatalogueEntry("Random-T", "trace-inference", "tracearena.attacks.baselines:RandomInference"),
    CatalogueEntry("VisitProb-T", "trace-inference",
        "tracearena.attacks.visit_probability:VisitProbabilityT"),
    CatalogueEntry("HomeProb-T", "trace-inference", "tracearena.attacks.visit_probability:HomeProbabilityT"),
    CatalogueEntry("FuzzyCount-T", "trace-inference", "tracearena.attacks.fuzzy_counting:FuzzyCountingT"),
    CatalogueEntry("Replay-T", "trace-inference", "tracearena.attacks.baselines:ReferenceReplay"),
    CatalogueEntry("Bayes-T", "trace-inference", "tracearena.attacks.bayesian.attacks:BayesInference"),
    CatalogueEntry("Tracking-T", "trace-inference", "tracearena.attacks.bayesian.attacks:TrackingInference"),
    CatalogueEntry("Habits-T", "trace-inference", "tracearena.attacks.bayesian.attacks:HabitsInference"),
    CatalogueEntry("PPMTF", "synthesizer", "tracearena.synthesis.ppmtf.model:PPMTF",
        "PPMTF(2,20,iterations=4)"),
    CatalogueEntry("SGD", "synthesizer", "tracearena.synthesis.baselines:SGD"),
    CatalogueEntry("PrivateRoles", "synthesizer", "tracearena.synthesis.private.roles:PrivateRoles",
        "PrivateRoles(1)"),
    CatalogueEntry("PrivateTrips", "gps-synthesizer", "tracearena.synthesis.private.trips:PrivateTrips",
        "PrivateTrips(1)"),
    CatalogueEntry("SGLT", "synthesizer", "tracearena.synthesis.sglt.synthesizer:SGLT", "SGLT(4)"),
    CatalogueEntry("Uniform", "synthesizer", "tracearena.synthesis.baselines:Uniform"),
    CatalogueEntry("Training", "synthesizer", "tracearena.synthesis.baselines:Training"),
    CatalogueEntry("GeoInd", "gps-obfuscator", "tracearena.obfuscation.gps:GeoInd", "GeoInd(100m,5min)"),
    CatalogueEntry("Thin", "gps-obfuscator", "tracearena.obfuscation.gps:Thinning", "Thin(60s)"),
    CatalogueEntry("Snap", "gps-obfuscator", "tracearena.obfuscation.gps:Snapping", "Snap(500m)"),
    CatalogueEntry("Zones", "gps-obfuscator", "tracearena.obfuscation.privacy_zones:Zones", "Zones(500m)"),
    CatalogueEntry("TrimEnds", "gps-obfuscator", "tracearena.obfuscation.privacy_zones:TrimEnds",
        "TrimEnds(300m)"),
    *(
        CatalogueEntry(name, "obfuscator", f"tracearena.obfuscation.time:{name}", f"{name}({example})",
            _DEFENCES)
        for name, example in (
            ("SwapTimes", "1km,month"),
            ("SwapHours", "1km"),
            ("RoundTime", "3h"),
            ("PerDay", "5"),
            ("ShuffleDays", "month"),
            ("Resample", "1h"),
        )
    ),
    CatalogueEntry("Interpolate", "gps-attack", "tracearena.attacks.gps_smoothing:Interpolation"),
    CatalogueEntry("Smooth", "gps-attack", "tracearena.attacks.gps_smoothing:Smoothing", "Smooth(9)"),
    CatalogueEntry(
        "Interpolate+Smooth", "gps-attack", "tracearena.attacks.gps_smoothing:InterpolationSmoothing",
        "Interpolate+Smooth(9)",
    ),
)  # fmt: skip


@cache
def entries() -> dict[str, CatalogueEntry]:
    """Return every known algorithm by name, the built-in ones first."""
    known = {entry.name: entry for entry in _BUILT_IN}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            algorithm = _load(point.value)
        except ParameterError as error:
            message = f"the algorithm {point.name} is ignored: {error}"
            warnings.warn(message, TracearenaWarning, stacklevel=2)
            continue
        entry = CatalogueEntry(point.name, algorithm.kind, point.value, kinds=kinds_of(algorithm))
        known.setdefault(point.name, entry)
    return known


def names(kind: Kind) -> list[str]:
    """Return the names of one kind; some algorithms have several kinds."""
    return [entry.name for entry in entries().values() if kind in entry.kinds]


def create(spec: str, kind: Kinds = None, **options: Any) -> Any:
    """Create an algorithm from a name such as ``PL(4,1)``.

    Parameters
    ----------
    spec
        A name with its parameters in parentheses, in the papers' order or as ``key=value``. If a parameter
        has a unit, its number may be written with one (m, km, s, min, h). It must be if it is below one metre
        or one second. Defences joined by ``+`` are the stages of a pipeline.
    kind
        The expected kind, or several; an algorithm of another kind is an error.
    **options
        Settings for every algorithm that has them (such as ``legacy_2019``); the others ignore them.

    >>> create("MRLH(1, 1, deletion=0.5)")
    MRLH(mu_x=1, mu_y=1, deletion=0.5, legacy_2019=False)
    """
    algorithm, values = resolve(spec, kind, **options)
    try:
        return algorithm(**values)
    except ParameterError as error:
        raise ParameterError(f"{spec}: {error}") from None
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise ParameterError(f"{spec}: {algorithm.name} cannot be created: {said}") from error


def resolve(spec: str, kind: Kinds = None, **options: Any) -> tuple[type[Algorithm], dict[str, Any]]:
    """Return the class that a name means and the parameters that it gives; see `create`.

    >>> resolve("PL(4, 500m)")
    (<class 'tracearena.obfuscation.planar_laplace.PlanarLaplace'>, {'l': 4, 'r': 0.5})
    """
    stages = find_pipeline_stages(spec)
    if stages:
        return _load("tracearena.obfuscation.pipeline:Pipeline"), {
            "stages": _create_stages(spec, stages, kind, options)
        }
    name, positional, named = parse(spec)
    algorithm = find(name, kind)
    refuse_other_kind(name, kinds_of(algorithm), kind)
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
        measured = {
            key: convert_to_unit(key, value, units.get(key), instead) for key, value in values.items()
        }
    except ParameterError as error:
        raise ParameterError(f"{spec}: {error}") from None
    return algorithm, measured


def find_pipeline_stages(spec: str) -> list[str]:
    """Return the names of the stages if a name means a pipeline, and none otherwise.

    Some names have a ``+`` of their own.

    >>> find_pipeline_stages("PL(1,1)+RoundTime(1h)"), find_pipeline_stages("Interpolate+Smooth(9)")
    (['PL(1,1)', 'RoundTime(1h)'], [])
    """
    stages = split_stages(spec)
    head = spec.partition("(")[0].strip()
    is_one = len(stages) == 1 or not all(stages) or ("+" in head and head in entries())
    return [] if is_one else stages


def _create_stages(spec: str, stages: Sequence[str], kind: Kinds, options: dict[str, Any]) -> tuple[Any, ...]:
    """Make the stages of a pipeline; what is wrong with one is said of that one."""
    refuse_other_kind(spec, _DEFENCES, kind)
    wanted = [one for one in _DEFENCES if one in (_to_kind_tuple(kind) or _DEFENCES)]
    made = []
    for number, stage in enumerate(stages, start=1):
        try:
            made.append(create(stage, wanted, **options))
        except ParameterError as error:
            raise ParameterError(f"stage {number} of {spec}: {error}") from None
    return tuple(made)


def refuse_other_kind(name: str, got: Kinds, wanted: Kinds) -> None:
    """Say of what kind an algorithm is, in plain words, unless it is of one that is wanted."""
    allowed, served = _to_kind_tuple(wanted), _to_kind_tuple(got)
    if allowed and not set(allowed) & set(served):
        asked, is_a = (" or ".join(WORDING[one].one for one in kinds) for kinds in (allowed, served))
        raise ParameterError(f"{name} is {is_a}; {asked} is expected here")


def is_kind(spec: str, kind: Kind) -> bool:
    """Whether a name is that of an algorithm of a kind; False for unknown names.

    >>> is_kind("GeoInd(expected_noise=100m)", "gps-obfuscator")
    True
    """
    stages = find_pipeline_stages(spec)
    if stages:
        return kind in _DEFENCES and all(is_kind(stage, kind) for stage in stages)
    name = parse(spec)[0]
    return (":" in name or name in entries()) and kind in kinds_of(find(name, kind))


def find(name: str, kind: Kinds = None) -> type[Algorithm]:
    """Return the class of a bare name or an import path.

    The error for an unknown name suggests similar names, also for that of a class, or lists those on the side
    of `kind`: a user who asks for a defence may mean one of GPS traces.
    """
    if ":" in name:
        return _load(name)
    entry = entries().get(name)
    if entry is None:
        sides = dict.fromkeys(WORDING[one].side for one in _to_kind_tuple(kind))
        asked = " or ".join(sides) or "algorithm"
        suitable = {one: names(one) for one in kinds_of_same_side(_to_kind_tuple(kind))}
        classes = {entry.path.partition(":")[2]: known for known, entry in entries().items()}
        named = classes | {one: one for one in entries()}
        meant = {word.casefold(): known for word, known in named.items()}
        short = name.casefold()
        alike = [short] if short in meant else difflib.get_close_matches(short, meant, n=4, cutoff=0.5)
        near = list(dict.fromkeys(meant[one] for one in alike))
        close = [one for one in near if any(one in known for known in suitable.values())] or near
        known = [f"{WORDING[one].many} {', '.join(of_kind)}" for one, of_kind in suitable.items()]
        advice = f"did you mean {' or '.join(close)}?" if close else f"known are the {'; '.join(known)}"
        raise ParameterError(f"there is no {asked} called {name!r}; {advice}")
    return _load(entry.path, is_listed=True)


def _to_kind_tuple(kind: Kinds) -> tuple[Kind, ...]:
    return (kind,) if isinstance(kind, str) else tuple(kind or ())


def _load(path: str, *, is_listed: bool = False) -> type[Algorithm]:
    """Import a class, and refuse one that cannot be what it says, unless it is listed in the catalogue."""
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        is_plain = isinstance(error, (ImportError, AttributeError))
        said = str(error) if is_plain else f"{type(error).__name__}: {error}"
        raise ParameterError(f"cannot import {path}: {said}") from error
    if not (isinstance(found, type) and issubclass(found, Algorithm)):
        raise ParameterError(
            f"{path} is not an algorithm: derive its class from Obfuscator or from one of the attacks"
        )
    if not is_listed:  # our own are checked by the tests of every algorithm
        check_class(found, path)
    return found


def check_class(found: type[Algorithm], path: str | None = None) -> None:
    """Refuse a class that lacks what every algorithm has: its methods, a kind, a name, parameters."""
    path = path or f"{found.__module__}:{found.__qualname__}"
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise ParameterError(f"{path} has no {missing}")
    if not dataclasses.is_dataclass(found):
        raise ParameterError(f"{path} is not a dataclass: write @dataclass(kw_only=True) above it")
    kinds: tuple[Any, ...] = kinds_of(found) if hasattr(found, "kind") else (None,)
    for one in kinds:
        if one not in KINDS:
            bases = ", ".join(base.__name__ for base in KINDS.values())
            got = "has no kind" if one is None else f"has the unknown kind {one!r}"
            raise ParameterError(f"{path} {got}: derive it from one of {bases}")
        base = KINDS[one]
        if not issubclass(found, base):
            raise ParameterError(f"{path} has kind {one} but is not derived from {base.__name__}")
        for method in sorted(getattr(base, "__abstractmethods__", ())):
            seeded = "seed" in inspect.signature(getattr(base, method)).parameters
            try:
                called = inspect.signature(getattr(found, method))
                called.bind(None, None, **({"seed": None} if seeded else {}))
            except (TypeError, ValueError) as error:
                wanted = "(self, traces, *, seed=None)" if seeded else "(self, traces)"
                problem = f"{method} cannot be called as {method}{wanted}: {error}"
                raise ParameterError(f"{path}: {problem}") from None
    name = getattr(found, "name", None)
    if not is_bare_name(name):
        got = "has no name" if name is None else f"has the name {name!r}"
        raise ParameterError(f'{path} {got}: write name: ClassVar[str] = "{found.__name__}" in it')
