"""Calls of algorithms that check the answer.

Users can write their own algorithms. If one raises an error or returns a wrong result, the error names it and
what is expected, before the result reaches a score or a file. Algorithms that are not part of tracearena are
first tried on a few users, so that mistakes are found quickly.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike
from tracearena.errors import AlgorithmError, TracearenaError
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Places, Traces

T = TypeVar("T")
_SomeTraces = TypeVar("_SomeTraces", Traces, GpsTraces)
_FEW = 3
_SEED = 1


def run_transform(defence: Any, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
    """Obfuscate: the same users; the same events in the same order too, unless the defence changes times."""
    return _run_after_trial(defence, "transform", original, _check_release, seed=seed)


def run_transform_part(
    defence: Any, part: Traces, *, seed: np.random.SeedSequence, first: int, total: int
) -> ObfuscatedTraces:
    """Obfuscate some users, as `run_transform` does all."""
    made = _call_method(defence, "transform_part", part, seed=seed, first=first, total=total)
    return _check_release(defence, made, part)


def run_gps_transform(defence: Any, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
    """Obfuscate GPS traces: users keep their ids and their order."""
    return _run_after_trial(
        defence,
        "transform",
        original,
        lambda one, made, given: _check_same_users(one, "transform", made, given),
        seed=seed,
    )


def run_gps_transform_part(
    defence: Any, part: GpsTraces, *, seed: np.random.SeedSequence, first: int, total: int
) -> GpsTraces:
    """Obfuscate some users of GPS traces: they keep their ids and their order."""
    made = _call_method(defence, "transform_part", part, seed=seed, first=first, total=total)
    return _check_same_users(defence, "transform_part", made, part)


def run_recover(attack: Any, released: GpsTraces) -> GpsTraces:
    """Attack GPS traces: the same points at other positions."""
    return _run_after_trial(attack, "recover", released, _check_same_points)


def _run_after_trial(
    algorithm: Any,
    method: str,
    given: _SomeTraces,
    check: Callable[[Any, Any, _SomeTraces], T],
    **options: Any,
) -> T:
    """Run a method and check what it gives; that of a user's own class on a few users first."""
    if is_foreign(algorithm):
        few = _take_few_users(given)
        own = dict.fromkeys(options, _SEED)
        _try_on_few(
            algorithm,
            lambda one: getattr(one, method)(few, **own),
            lambda made: check(algorithm, made, few),
        )
    return check(algorithm, _call_method(algorithm, method, given, **options), given)


def run_fit(algorithm: T, traces: Traces | GpsTraces, **options: Any) -> T:
    """Let an attack or a synthesizer learn; it returns itself."""
    got = _call_method(algorithm, "fit", traces, **options)
    if got is not algorithm:
        raise _build_answer_error(algorithm, "fit", "itself (end it with `return self`)", _type_name(got))
    return algorithm


def run_identify(
    attack: Any, anonymized: ObfuscatedTraces, known: Traces, *, seed: SeedLike = None
) -> IdTable:
    """Re-identify: one user of the reference traces for each pseudonym."""
    return check_id_table(attack, _call_method(attack, "identify", anonymized, seed=seed), anonymized, known)


def run_infer(attack: Any, anonymized: ObfuscatedTraces, known: Traces, *, seed: SeedLike = None) -> Traces:
    """Infer traces: one place for every reference user and instant."""
    return check_inference(attack, _call_method(attack, "infer", anonymized, seed=seed), anonymized, known)


def try_attack(attack: Any, reference: Traces) -> None:
    """Refuse a user's attack whose answer on a few users is not what its kind gives."""
    if not is_foreign(attack) or not reference.n_users:
        return
    few = _take_few_users(reference)
    pseudonyms = np.arange(1, few.n_users + 1) + 10**9
    published = ObfuscatedTraces.from_traces(few).with_user_ids(pseudonyms)

    is_table = attack.kind == "reidentification"
    method, check = ("identify", check_id_table) if is_table else ("infer", check_inference)

    def fit_and_attack(one: Any) -> Any:
        one.fit(few)
        return getattr(one, method)(published, seed=_SEED)

    _try_on_few(attack, fit_and_attack, lambda made: check(attack, made, published, few))


def run_synthesize(
    synthesizer: Any, training: _SomeTraces, days: int, *, seed: SeedLike = None
) -> _SomeTraces:
    """Synthesize whole days of the training users at the training places, or their GPS trips."""
    return _check_synthetic_days(
        synthesizer, _call_method(synthesizer, "synthesize", days, seed=seed), training, days
    )


def try_synthesizer(synthesizer: Any, training: _SomeTraces) -> None:
    """Refuse a user's synthesizer whose traces of a few users are not what is asked for."""
    if not is_foreign(synthesizer) or not training.n_users:
        return
    few = _take_few_users(training)
    _try_on_few(
        synthesizer,
        lambda one: (one.fit(few, seed=_SEED), one.synthesize(1, seed=_SEED))[1],
        lambda made: _check_synthetic_days(synthesizer, made, few, 1),
    )


def _check_synthetic_days(synthesizer: Any, made: Any, training: _SomeTraces, days: int) -> _SomeTraces:
    if isinstance(training, GpsTraces):
        return _check_same_users(synthesizer, "synthesize", made, training)
    wanted = (
        f"Traces of {days:,} days of each of the {training.n_users:,} training users, at the training places"
    )
    users, places = training.user_ids, training.places
    traces = _check_traces(synthesizer, "synthesize", wanted, made, Traces, users, places)
    length = training.clock.instants_per_day
    # Our baseline `Training` gives the training days back, however many there are.
    wrong_days = is_foreign(synthesizer) and traces.n_instants != days * length
    if traces.clock.instants_per_day != length or wrong_days:
        raise _build_answer_error(synthesizer, "synthesize", wanted, f"{traces.n_instants:,} instants")
    return traces


def check_id_table(attack: Any, got: Any, anonymized: ObfuscatedTraces, known: Traces) -> IdTable:
    """Check the answer of a re-identification."""
    wanted = f"an IdTable with a user of the reference traces for each of {anonymized.n_users:,} pseudonyms"
    if not isinstance(got, IdTable):
        raise _build_answer_error(attack, "identify", wanted, _type_name(got))
    if not np.array_equal(got.pseudonyms, anonymized.user_ids):
        raise _build_answer_error(
            attack, "identify", wanted, f"a table of {len(got):,} pseudonyms that are not those"
        )
    strange = ~np.isin(got.user_ids, known.user_ids)
    if strange.any():
        raise _build_answer_error(
            attack, "identify", wanted, f"{int(strange.sum()):,} users who are not among them"
        )
    return got


def check_inference(attack: Any, got: Any, anonymized: ObfuscatedTraces, known: Traces) -> Traces:
    """Check the answer of a trace inference."""
    wanted = (
        f"Traces with one place for each of the {known.n_users:,} reference users "
        f"and {anonymized.n_instants:,} instants"
    )
    traces = _check_traces(attack, "infer", wanted, got, Traces, known.user_ids, anonymized.places)
    if traces.span != anonymized.span or not traces.is_complete:
        raise _build_answer_error(attack, "infer", wanted, _describe_events(traces))
    return traces


def _check_release(defence: Any, got: Any, original: Traces) -> ObfuscatedTraces:
    keeps_times = getattr(defence, "keeps_times", True)
    wanted = (
        "ObfuscatedTraces with the same events in the same order (ObfuscatedTraces.like(original, codes)), "
        f"{original.n_events:,} of {original.n_users:,} users"
        if keeps_times
        else f"ObfuscatedTraces of the same {original.n_users:,} users, places and clock"
    )
    users, places = original.user_ids, original.places
    made = _check_traces(defence, "transform", wanted, got, ObfuscatedTraces, users, places)
    if made.clock != original.clock:
        raise _build_answer_error(defence, "transform", wanted, "traces with another clock")
    if keeps_times and (made.span != original.span or not made.has_rows_of(original)):
        raise _build_answer_error(defence, "transform", wanted, _describe_events(made))
    return made


def _check_same_users(algorithm: Any, method: str, got: Any, given: GpsTraces) -> GpsTraces:
    wanted = f"GpsTraces of the same {given.n_users:,} users in their order"
    return _check_traces(algorithm, method, wanted, got, GpsTraces, given.user_ids)


def _check_same_points(attack: Any, got: Any, released: GpsTraces) -> GpsTraces:
    made = _check_same_users(attack, "recover", got, released)
    if not made.has_rows_of(released):
        wanted = f"the same {released.n_points:,} points at other positions"
        raise _build_answer_error(attack, "recover", wanted, f"{made.n_points:,} points, or other times")
    return made


def _check_traces(
    algorithm: Any,
    method: str,
    wanted: str,
    got: Any,
    kind: type[T],
    user_ids: NDArray[Any],
    places: Places | None = None,
) -> T:
    """Return an answer; refuse one of another kind, or of other users or places than those wanted."""
    if not isinstance(got, kind):
        raise _build_answer_error(algorithm, method, wanted, _type_name(got))
    traces: Any = got
    if not np.array_equal(traces.user_ids, user_ids):
        found = f"traces of {traces.n_users:,} users, or others, or in another order"
        raise _build_answer_error(algorithm, method, wanted, found)
    if places is not None and traces.places != places:
        raise _build_answer_error(algorithm, method, wanted, "traces at other places")
    return got


def _take_few_users(traces: _SomeTraces) -> _SomeTraces:
    return traces.take_users(np.arange(min(_FEW, traces.n_users)))


def _describe_events(traces: Traces | ObfuscatedTraces) -> str:
    return f"{traces.n_events:,} events at instants {traces.span[0]} to {traces.span[1] - 1}"


def _build_answer_error(algorithm: Any, method: str, wanted: str, got: str) -> AlgorithmError:
    return AlgorithmError(f"{_class_path(algorithm)}.{method} must return {wanted}; it returned {got}")


def _type_name(got: Any) -> str:
    return type(got).__name__


def _class_path(algorithm: Any) -> str:
    kind = type(algorithm)
    return f"{kind.__module__}:{kind.__qualname__}"


def is_foreign(algorithm: Any) -> bool:
    """Whether a class is not of this package: it may keep a state, and need not know our rules."""
    return type(algorithm).__module__.partition(".")[0] != "tracearena"


def _try_on_few(algorithm: T, ask: Callable[[T], Any], check: Callable[[Any], object]) -> None:
    """Check the answer on a few users; an algorithm that refuses them may still take all."""
    answers = []
    with suppress(Exception):
        answers.append(ask(copy.deepcopy(algorithm)))
    for answer in answers:
        check(answer)


def _call_method(algorithm: Any, method: str, *arguments: Any, **options: Any) -> Any:
    with attribute_errors(algorithm, method):
        return getattr(algorithm, method)(*arguments, **options)


@contextmanager
def attribute_errors(algorithm: Any, method: str) -> Iterator[None]:
    """Turn what a user's class raises into an `AlgorithmError`; what ours raise is a bug."""
    try:
        yield
    except (TracearenaError, MemoryError):
        raise
    except Exception as error:
        if not is_foreign(algorithm):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise AlgorithmError(
            f"{_class_path(algorithm)}.{method} raised {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
