"""Base classes of algorithms: the common mixin, and seven abstract kinds.

Parameters are the fields of a keyword-only dataclass, and cannot be changed. Two algorithms of a class are
equal if their parameters are. `str` returns the name in the notation of the papers, and `repr` shows all
parameters. Attributes that `fit` learns have names that end with an underscore, and are part of neither.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

from tracearena.algorithms.frames import TRACE_METHODS, answer_frame, take_frames
from tracearena.algorithms.spec import format_parameter
from tracearena.checks import require_kind
from tracearena.dataframes import find_library
from tracearena.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np

    from tracearena.engine import SeedLike
    from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces


Given = TypeVar("Given", "Traces", "GpsTraces")
Made = TypeVar("Made", "ObfuscatedTraces", "GpsTraces")
Kind = Literal[
    "obfuscator",
    "reidentification",
    "trace-inference",
    "synthesizer",
    "gps-obfuscator",
    "gps-attack",
    "gps-synthesizer",
]


def setting(default: Any, **options: Any) -> Any:
    """Return a dataclass field for a setting that is not a parameter in the papers.

    Examples are the random draws that are used, and the number of released decimals. A setting is given by
    its name, shown by `repr`, and compared like any parameter. The options are those of `dataclasses.field`.
    """
    return field(default=default, metadata={"setting": True}, **options)


class Algorithm:
    """Mixin for algorithms: a name from the papers and parameters in the papers' order.

    A subclass is a keyword-only dataclass. Its fields are the parameters, in the order of the papers. A field
    with a default may be left out of the name; a `setting` is never part of it.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    serves: ClassVar[tuple[Kind, ...]] = ()
    """All kinds of the algorithm, if it has several; read with `kinds_of`."""
    units: ClassVar[Mapping[str, str]] = {}
    """Units that parameters are measured in: m, km, s, min or h."""
    instead_of_units: ClassVar[tuple[str, ...]] = ()
    """Parameters without a unit for which a bare number may have been meant instead."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A dataclass that is not declared frozen would lose its hash, though its parameters are fixed.
        if "__hash__" not in vars(cls):
            cls.__hash__ = Algorithm.__hash__  # type: ignore[method-assign]
        for name in TRACE_METHODS:
            method = getattr(cls, name, None)
            if callable(method) and not any(
                getattr(method, mark, False) for mark in ("takes_frames", "__isabstractmethod__")
            ):
                setattr(cls, name, take_frames(method))

    def __str__(self) -> str:
        shown = parameter_fields(type(self))
        while shown and shown[-1].default is not MISSING and self._value(shown[-1]) == shown[-1].default:
            shown.pop()
        values = ",".join(format_parameter(self._value(one), self.units.get(one.name)) for one in shown)
        return f"{self.name}({values})" if shown else self.name

    def __hash__(self) -> int:
        compared = (self._value(one) for one in constructor_fields(type(self)) if one.compare)
        return hash((type(self), *compared))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) and any(one.name == name for one in constructor_fields(type(self))):
            raise FrozenInstanceError(
                f"{name} of {self} cannot be changed: make a new algorithm with the value you want"
            )
        super().__setattr__(name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters and settings of the algorithm by name.

        Parameters
        ----------
        deep
            Also return those of parameters that are algorithms themselves, such as ``mechanism__l``.
        """
        own = {one.name: self._value(one) for one in constructor_fields(type(self))}
        if not deep:
            return own
        inner = {name: value.get_params() for name, value in own.items() if isinstance(value, Algorithm)}
        return own | {f"{name}__{key}": value for name, ones in inner.items() for key, value in ones.items()}

    def set_params(self, **changed: Any) -> Self:
        """Change parameters of this object, as scikit-learn does, and forget what it has learned.

        Only this method changes an algorithm. Do not use it on one that is in a set or a key of a dictionary.
        """
        own = self.get_params(deep=False)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in changed.items():
            outer, _, rest = name.partition("__")
            if outer not in own or (rest and not isinstance(own[outer], Algorithm)):
                known = ", ".join(self.get_params()) or "none"
                raise ParameterError(f"{self} has no parameter {name!r}; it has {known}")
            if rest:
                inner.setdefault(outer, {})[rest] = value
            else:
                own[outer] = value
        for outer, values in inner.items():
            own[outer] = copy.deepcopy(own[outer]).set_params(**values)
        other = type(self)(**own)
        vars(self).clear()
        vars(self).update(vars(other))
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn must know of the algorithm: only what learns needs `fit`."""
        from sklearn.utils import Tags, TargetTags

        learns = not isinstance(self, (Defence, GpsAttack))
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), requires_fit=learns)

    def follow(self, released: ObfuscatedTraces) -> Traces | ObfuscatedTraces:
        """Return the input of the algorithm after an earlier defence; by default its release."""
        return released

    def _value(self, one: Field[Any]) -> Any:
        return getattr(self, one.name)


def constructor_fields(algorithm: type[Algorithm]) -> list[Field[Any]]:
    """Return the fields that an algorithm is made with: its parameters, then its settings."""
    made_with = [one for one in fields(algorithm) if one.init]  # type: ignore[arg-type]
    return sorted(made_with, key=lambda one: bool(one.metadata.get("setting")))


def parameter_fields(algorithm: type[Algorithm]) -> list[Field[Any]]:
    """Return the fields that the papers write, in their order; settings are not among them."""
    return [one for one in constructor_fields(algorithm) if not one.metadata.get("setting")]


def kinds_of(algorithm: Algorithm | type[Algorithm]) -> tuple[Kind, ...]:
    """Return every kind that an algorithm, or all of a class, can be used as."""
    return algorithm.serves or (algorithm.kind,)


class Defence(Algorithm, ABC, Generic[Given, Made]):
    """What defences of all traces share: one that looks at each user alone takes tables of any size.

    Such a one says ``by_user = True``, and files of any size then go through it a few users at a time. If it
    draws, it says in `transform_part` how, so that no draw is used twice.
    """

    by_user: ClassVar[bool] = False
    """Whether `transform_part` on some users after the others gives what `transform` gives on all."""
    keeps_times: ClassVar[bool] = True
    """Whether events keep their times, so that those of a release are the original's in their order."""

    @property
    def counts_draws(self) -> bool:
        """Whether `draws` must be asked how many draws users take, who otherwise take one per row."""
        return False

    def draws(self, part: Given) -> int:
        """Return how many numbered draws some users take; all users' are numbered through."""
        return len(part)

    def transform_part(self, part: Given, *, seed: np.random.SeedSequence, first: int, total: int) -> Made:
        """Return the part of the result of `transform` that belongs to some consecutive users.

        Of `total` draws in all, the first `first` ones belong to users before them.
        """
        return self.transform(part, seed=seed)

    @abstractmethod
    def transform(self, original: Given, *, seed: SeedLike = None) -> Made:
        """Return the released traces."""

    def fit(self, original: Given) -> Self:
        """Return the defence itself: it learns nothing, but scikit-learn's pipelines call `fit`."""
        return self

    def fit_transform(self, original: Given, y: None = None, *, seed: SeedLike = None) -> Made:
        """Return the released traces, as `transform` does; `y` is ignored."""
        return self.transform(original, seed=seed)

    def follow(self, released: ObfuscatedTraces) -> Traces | ObfuscatedTraces:
        """Return the release of an earlier defence as traces, which need one place for every event."""
        return _take_single_places(self, released)


class Obfuscator(Defence["Traces", "ObfuscatedTraces"]):
    """A defence: replaces the place of each event by one place, several, or none.

    Write your own as a keyword-only dataclass with a `name` and a `transform`; `Defence` says what
    lets it take files of any size.
    """

    kind: ClassVar[Kind] = "obfuscator"

    @abstractmethod
    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the obfuscated traces: the same events, in the same order, unless times are changed."""


class EventObfuscator(Obfuscator):
    """A defence that treats each event on its own, with draws of the event's own number."""

    by_user: ClassVar[bool] = True

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return what is released instead of each event."""
        from tracearena.traces import Traces

        require_kind(self, original, Traces)
        return self._transform_events(original, seed, 0, original.n_events)

    def transform_part(
        self, part: Traces, *, seed: np.random.SeedSequence, first: int, total: int
    ) -> ObfuscatedTraces:
        """Return the released events of some users, with the same draws as when all are transformed."""
        return self._transform_events(part, seed, first, total)

    @abstractmethod
    def _transform_events(self, part: Traces, seed: SeedLike, first: int, total: int) -> ObfuscatedTraces:
        """Return what is released of events that are numbered from `first` among `total`."""


class GpsObfuscator(Defence["GpsTraces", "GpsTraces"]):
    """A defence of GPS traces: moves points or leaves some out.

    Write your own as a keyword-only dataclass with a `name` and a `transform`; `Defence` says what
    lets it take files of any size.
    """

    kind: ClassVar[Kind] = "gps-obfuscator"

    @abstractmethod
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the traces to release; users keep their ids and their order."""


class ReidentificationAttack(Algorithm, ABC):
    """An attack that identifies the user of each pseudonym."""

    kind: ClassVar[Kind] = "reidentification"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table; several pseudonyms may get the same user."""


class TraceInferenceAttack(Algorithm, ABC):
    """An attack that infers the place of each user at each instant."""

    kind: ClassVar[Kind] = "trace-inference"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return one place for every reference user and every instant of the anonymized span."""


class GpsAttack(Algorithm, ABC):
    """An attack that estimates true positions from released points."""

    kind: ClassVar[Kind] = "gps-attack"

    @abstractmethod
    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the same points at the positions that the attacker estimates."""


class TrainedSynthesizer(Algorithm, ABC, Generic[Given]):
    """What synthesizers of all traces share."""

    @abstractmethod
    def fit(self, traces: Given, *, seed: SeedLike = None) -> Self:
        """Learn from the training traces."""

    @abstractmethod
    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Given:
        """Return synthetic traces of all training users."""

    def fit_transform(self, traces: Given, y: None = None, *, seed: SeedLike = None) -> Given:
        """Learn from the traces, and return one synthetic trace for each of their users; `y` is ignored."""
        from tracearena.engine import child_seed, seed_sequence

        root = seed_sequence(seed)
        made = self.fit(traces, seed=child_seed(root, 0)).synthesize(seed=child_seed(root, 1))
        library = find_library(traces)
        return made if library is None else answer_frame(made, library)


class Synthesizer(TrainedSynthesizer["Traces"]):
    """Learns from training traces, and generates synthetic traces for each training user.

    Write your own as a keyword-only dataclass with a `name`, a `fit` and a `synthesize`.
    """

    kind: ClassVar[Kind] = "synthesizer"

    @abstractmethod
    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Learn from the training traces."""

    @abstractmethod
    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``."""

    def follow(self, released: ObfuscatedTraces) -> Traces | ObfuscatedTraces:
        """Return the release of a defence as traces, which need one place for every event."""
        return _take_single_places(self, released)


def _take_single_places(algorithm: Algorithm, released: ObfuscatedTraces) -> Traces:
    from tracearena.traces import Traces

    if not released.is_single.all():
        left = "deleted events" if released.is_deleted.any() else "released sets of places"
        raise DataError(f"{algorithm} needs one place for every event, but an earlier defence {left}")
    return Traces.like(released, released.codes)


class GpsSynthesizer(TrainedSynthesizer["GpsTraces"]):
    """Learns from GPS traces, and generates synthetic trips for each training user."""

    kind: ClassVar[Kind] = "gps-synthesizer"

    @abstractmethod
    def fit(self, traces: GpsTraces, *, seed: SeedLike = None) -> Self:
        """Learn from the training traces."""

    @abstractmethod
    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> GpsTraces:
        """Return synthetic trips of all training users."""


_BASES: tuple[type[Algorithm], ...] = (
    Obfuscator, ReidentificationAttack, TraceInferenceAttack, Synthesizer, GpsObfuscator, GpsAttack,
    GpsSynthesizer,
)  # fmt: skip
KINDS: Mapping[str, type[Algorithm]] = {base.kind: base for base in _BASES}
"""What a class of each kind derives from."""


# The kinds of algorithms in plain words, and the words by which users ask for them.


@dataclass(frozen=True)
class Wording:
    """The words for a kind.

    Attributes
    ----------
    side
        What all kinds of its side are: defence, attack or synthesizer.
    one, many
        One algorithm of the kind, and all of them.
    command
        The command that takes one, with ``NAME`` in its place.
    """

    side: str
    one: str
    many: str
    command: str


_OBFUSCATE = "tracearena obfuscate NAME IN OUT"
_ATTACK = "tracearena attack NAME OUT --reference R --anonymized A"
WORDING: Mapping[Kind, Wording] = {
    "obfuscator": Wording(
        "defence", "a defence for events at places", "defences for events at places", _OBFUSCATE
    ),
    "gps-obfuscator": Wording("defence", "a defence for GPS traces", "defences for GPS traces", _OBFUSCATE),
    "reidentification": Wording("attack", "a re-identification attack", "re-identification attacks", _ATTACK),
    "trace-inference": Wording("attack", "a trace-inference attack", "trace-inference attacks", _ATTACK),
    "gps-attack": Wording(
        "attack",
        "an attack on GPS traces",
        "attacks on GPS traces",
        "tracearena attack NAME OUT --anonymized A",
    ),
    "synthesizer": Wording(
        "synthesizer", "a synthesizer", "synthesizers", "tracearena synthesize NAME IN OUT"
    ),
    "gps-synthesizer": Wording(
        "synthesizer",
        "a synthesizer of GPS trips",
        "synthesizers of GPS trips",
        "tracearena synthesize NAME IN OUT",
    ),
}
"""Every kind, in the order in which users meet them."""

_GROUPS: Mapping[str, tuple[Kind, ...]] = {
    "defences": ("obfuscator", "gps-obfuscator"),
    "gps-defences": ("gps-obfuscator",),
    "attacks": ("reidentification", "trace-inference", "gps-attack"),
    "gps-attacks": ("gps-attack",),
    "synthesizers": ("synthesizer", "gps-synthesizer"),
}
KIND_WORDS: tuple[str, ...] = (*_GROUPS, "reidentification", "trace-inference")
"""What users write for the kinds they ask for."""


def kinds_by_word(word: str) -> tuple[Kind, ...]:
    """Return the kinds that a word such as ``defences`` means, or the one of that very name; or none.

    >>> kinds_by_word("gps-defences"), kinds_by_word("defence")
    (('gps-obfuscator',), ('obfuscator', 'gps-obfuscator'))
    """
    asked = word.lower()
    exact = tuple(kind for kind in WORDING if kind == asked)
    return exact or _GROUPS.get(asked) or _GROUPS.get(f"{asked}s", ())


def kinds_of_same_side(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return the kinds of the same sides: a user who asks for a defence may mean one of GPS traces."""
    sides = {WORDING[kind].side for kind in kinds}
    return tuple(kind for kind in WORDING if not sides or WORDING[kind].side in sides)
