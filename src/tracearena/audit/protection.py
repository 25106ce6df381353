"""`protect`: chooses the most useful defence on one half of the people, and tests it on the other."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Kind, Synthesizer, catalogue, validation
from tracearena.arena.pseudonyms import Release, pseudonymise
from tracearena.attacks.linking.linker import SETTINGS as LINKER_SETTINGS
from tracearena.audit.audit import ProofScope, assess_in_stages, load_traces
from tracearena.audit.data import AuditData, AuditInput, AuditRelease
from tracearena.audit.inference import get_mechanism_circle, infer_key_places
from tracearena.audit.linkability import (
    LINKER,
    build_linkage_task,
    find_by_attacks,
    find_by_linker,
    find_strongest,
    get_event_defence,
)
from tracearena.audit.results import Audit, Light, Risks, find_worst_colour, rate_question
from tracearena.audit.settings import Proportion, Record, Settings, clopper_pearson
from tracearena.audit.singling_out import find_by_sightings
from tracearena.audit.synthetic import Synthetic, VirtualPeople, assess_synthetic, assess_virtual_people
from tracearena.audit.usefulness import measure_tasks, measure_usefulness, to_plain_events
from tracearena.checks import require_number
from tracearena.engine import child_seed, fresh_seed, generator, report, seed_sequence
from tracearena.errors import DataError, TracearenaError
from tracearena.obfuscation.gps import round_coordinates
from tracearena.traces import GpsTraces, IdTable, Traces
from tracearena.traces.row_table import split_users

MOST_PROOFS = 3
"""How many of the most useful are put to the proof; more would let luck decide."""
_DIVIDE, _CHOOSE, _PROVE, _VIRTUAL = range(4)
_PROTECTORS: tuple[Kind, ...] = ("obfuscator", "gps-obfuscator", "synthesizer")

Publish = Callable[[Any, IdTable], tuple[Any, Any]]
"""Takes a release under pseudonyms and the table of identities.

It returns the traces that others will read, and the pseudonyms in the order of their first rows (or None).
"""


@dataclass(frozen=True)
class Protection(Record):
    """The result of `protect`: the defences that were tried, and the one that keeps the limits.

    Attributes
    ----------
    target
        Largest allowed risk, for the upper end of the 95 % interval of the share of people found again.
    trials
        Every defence on the people used for choosing. Defences less useful than the chosen one were not
        attacked.
    proofs
        Audits of releases, each on people who were not used for choosing, by the name of the defence.
    chosen
        The first defence whose release keeps all limits; None if none does.
    people
        Number of people used for choosing, and for proving.
    least_provable
        Lowest risk that can be proved with this many people, if nobody is found.
    seed
        Seed of the measurements.
    virtual
        Usefulness and risks of a release of virtual people; only if no defence keeps the limits.
    """

    target: float
    trials: tuple[DefenceTrial, ...]
    proofs: dict[str, Audit]
    chosen: str | None
    people: tuple[int, int]
    least_provable: float
    seed: int
    virtual: VirtualPeople | None = None

    @property
    def proof(self) -> Audit | None:
        """The audit of the release of the chosen defence."""
        return None if self.chosen is None else self.proofs[self.chosen]

    @property
    def least(self) -> DefenceTrial | None:
        """The trial with the lowest risk, if possible among those on which all attacks were run."""
        known = [one for one in self.trials if one.risk is not None]
        whole = [one for one in known if not one.at_least]
        return min(whole or known, key=lambda one: one.risk.high, default=None)  # type: ignore[union-attr]


def protect(
    traces: Any,
    *,
    target: float = 0.05,
    defences: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    timezone: str | None = None,
    seed: int | None = None,
    **settings: Any,
) -> Protection:
    """Find the most useful defence that keeps the limits of an audit.

    Parameters
    ----------
    traces
        Original traces: events or GPS points, a file or a data frame.
    target
        Largest allowed risk, for the upper end of the 95 % interval of the share of people found again.
    defences
        Names of the catalogue, such as ``PL(1,1)+SwapTimes(1km,month)``; by default those that suit the file.
    attacks
        Names of further attacks, such as ``my_module:MyLinker``.
    timezone
        Zone of the hours of GPS points.
    seed
        Seed of the measurements; drawn and recorded if omitted.
    **settings
        Fields of `Settings`.
    """
    require_number("target", target, above=0, at_most=1)
    given = AuditInput(traces, timezone=timezone, attacks=attacks)
    allowed = Settings(**settings | {"found_again": target})
    *_, last = protect_in_stages(given, allowed, defences=defences, seed=seed)
    return last


def protect_in_stages(
    given: AuditInput,
    settings: Settings,
    *,
    defences: Sequence[str] | None = None,
    seed: int | None = None,
    compare: bool = True,
    publish: Publish | None = None,
) -> Iterator[Protection]:
    """Do the same as `protect`, and yield the intermediate result after each defence.

    Parameters
    ----------
    given
        The original traces; `release_source` is the file that `publish` writes.
    settings
        Limits and sizes; `Settings.found_again` is the target.
    compare
        Whether a proof also measures the unprotected file, for comparison.
    publish
        Writes a release and reads it back, so that the proof uses the written file.
    """
    require_number("target", settings.found_again, above=0, at_most=1)
    # A name that is misspelt is refused before any work.
    for name in given.attacks:
        catalogue.create(name, "reidentification")
    for name in defences or ():
        catalogue.create(name, _PROTECTORS)
    number = fresh_seed() if seed is None else seed
    root = seed_sequence(number)
    measured = settings.in_force()
    original = load_traces(given.traces)
    material = AuditData.of(original, measured, given.timezone)
    choosing, proving = split_people(material, root)
    found = Protection(
        target=settings.found_again,
        trials=(),
        proofs={},
        chosen=None,
        people=(len(choosing), len(proving)),
        least_provable=clopper_pearson(0, min(len(choosing), len(proving), measured.people))[1],
        seed=number,
    )
    yield found

    def prove(name: str) -> Audit:
        before = next((one.before for one in found.proofs.values()), None if compare else Risks())
        released, who = release(name, material)
        readable, order = (released, None) if publish is None else publish(released, who)
        is_synthetic = catalogue.is_kind(name, "synthesizer")
        pair = replace(
            given, traces=original, released=readable, id_table=who, orders=(given.orders[0], order),
            mechanism=None if is_synthetic else name,
        )  # fmt: skip
        scope = ProofScope(proving, material.cell is not None and needs_cells(name), before)
        *_, audit = assess_in_stages(pair, measured, seed=number, scope=scope)
        if not is_synthetic:
            return audit
        # Nobody is a stranger to what learnt from everybody: membership is measured on a twin of the release,
        # made from the people of the proof alone.
        twin = make_candidate(name, material, proving, child_seed(root, _PROVE))
        if isinstance(twin, DefenceTrial):
            raise DataError(f"{name}: {twin.error}")
        strangers = material.take_people(choosing)
        return replace(
            audit, synthetic=assess_synthetic_candidate(twin, strangers, measured, child_seed(root, _PROVE))
        )

    chance = child_seed(root, _CHOOSE)
    own = None if defences is None else (list(defences),)
    for names in own or (list_candidates(material), list_synthetic_candidates(material)):
        made = []
        for done, name in enumerate(names, start=1):
            made.append(make_candidate(name, material, choosing, chance))
            report(done, 2 * len(names) + MOST_PROOFS)
        failed = [one for one in made if isinstance(one, DefenceTrial)]
        ready = [one for one in made if isinstance(one, Candidate)]
        # The most useful first: what comes after one that holds need not be attacked.
        ready.sort(key=lambda one: -(one.trial.kept or 0.0))
        before = found.trials
        waiting = [one.trial for one in ready]
        found = replace(found, trials=(*before, *waiting, *failed))
        yield found
        for at, one in enumerate(ready):
            trial = attack_candidate(one, measured, chance, given.attacks)
            if trial.lights and catalogue.is_kind(trial.defence, "synthesizer"):
                trial = with_membership(trial, one, material.take_people(proving), measured, chance)
            waiting[at] = trial
            found = replace(found, trials=(*before, *waiting, *failed))
            report(len(names) + at + 1, 2 * len(names) + MOST_PROOFS)
            yield found
            if trial.holds and len(found.proofs) < MOST_PROOFS:
                audit = prove(trial.defence)
                held = trial.defence if audit.verdict == "green" else None
                found = replace(found, proofs=found.proofs | {trial.defence: audit}, chosen=held)
                yield found
                if held is not None:
                    return
    if defences is None and list_synthetic_candidates(material):
        real, others = (material.take_people(people).coarse for people in (choosing, proving))
        yield replace(
            found, virtual=assess_virtual_people(real, others, measured, child_seed(root, _VIRTUAL))
        )


def release(name: str, material: AuditData) -> tuple[Any, IdTable]:
    """Apply a defence to everybody and all days with secret randomness, and draw pseudonyms."""
    made = catalogue.create(name, _PROTECTORS)
    ground = material.with_coarse_places() if material.cell is not None and needs_cells(name) else material
    _, published = apply_defence(made, ground, seed_sequence(None), all_days=True)
    public: Any = published.exact if published.points is None else published.points
    released: Release[Any] = pseudonymise(public)
    return released.anonymized, released.id_table


def split_people(
    material: AuditData, root: np.random.SeedSequence
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide the people who can be tried into two halves at random."""
    people = np.flatnonzero(material.cut.both)
    if len(people) < 4:
        raise DataError(
            f"only {len(people)} people have events on both sides of the cut; "
            "choosing a defence needs at least four"
        )
    return split_users(people, len(people) // 2, generator(child_seed(root, _DIVIDE)))


# Trials: what one defence keeps of some people's data, and whom the strongest attack still finds.

QUICK = ("VisitProb-R", "HomeProb-R", "FuzzyCount-R")
HEAVY = ("Polya-R", "Markov-R", "Bayes-R")
TOLD = ("Polya-R(adaptive)", "Bayes-R(adaptive)")
"""Attackers who know the defence and run it themselves."""
_MAKE, _ATTACK, _DRAW, _SIGHTINGS, _MEMBERS = range(5)
_FEWER_DRAWS = 5


@dataclass(frozen=True)
class DefenceTrial(Record):
    """A defence that was tried.

    Attributes
    ----------
    defence
        Its name in the catalogue.
    kept, tasks
        How much of the six tasks is left at the resolution of the release, on average and of each.
    kept_of_file
        The same against the original file, at its own places.
    on_cells
        Whether the release lies at cells instead of the file's own places.
    risk, attack
        Share of people found again, and by which attack.
    at_least
        Whether the attacks already found more than the target when some had not been run: the risk is at
        least this.
    lights
        What was measured, judged by the limits; empty where it was not attacked.
    synthetic
        What synthetic traces betray of the people they were made from.
    error
        Why the defence could not be tried.
    """

    defence: str
    kept: float | None = None
    tasks: dict[str, float] | None = None
    kept_of_file: float | None = None
    on_cells: bool = False
    risk: Proportion | None = None
    attack: str | None = None
    at_least: bool = False
    lights: tuple[Light, ...] = ()
    synthetic: Synthetic | None = None
    error: str | None = None

    @property
    def holds(self) -> bool:
        """Whether everything that was measured is within its limit, at the upper end of the interval."""
        return bool(self.lights) and not self.at_least and find_worst_colour(self.lights) == "green"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A defence and what it makes of some people, before anybody attacks it."""

    defence: Any
    material: AuditData
    published: AuditRelease
    trial: DefenceTrial


def make_candidate(
    name: str, material: AuditData, people: NDArray[np.int64], root: np.random.SeedSequence
) -> Candidate | DefenceTrial:
    """Release everybody under a defence, as the owner would, and see what is kept; a trial with the error.

    A synthesizer learns from those who will be looked for alone, so that all others are strangers to it. What
    is drawn depends on the root and on the name of the defence only.

    Parameters
    ----------
    people
        Who will be looked for.
    """
    chance = _derive_seed(root, name)
    try:
        defence = catalogue.create(name, _PROTECTORS)
        on_cells = material.cell is not None and needs_cells(name)
        ground = material.with_coarse_places() if on_cells else material
        if isinstance(defence, Synthesizer):
            ground, people = ground.take_people(people), np.arange(len(people))
        mine, published = apply_defence(defence, ground, child_seed(chance, _MAKE))
        seed = child_seed(chance, _DRAW)
        tasks = measure_tasks(mine.coarse, to_plain_events(published.coarse, seed))
        whole = measure_usefulness(material, published, seed)
    except TracearenaError as error:
        return DefenceTrial(name, error=" ".join(str(error).split()))
    kept = float(np.mean(list(tasks.values()))) if tasks else 0.0
    trial = DefenceTrial(name, kept=kept, tasks=tasks, kept_of_file=whole, on_cells=on_cells)
    return Candidate(defence, mine.take_people(people), replace(published, at=published.at[people]), trial)


def attack_candidate(
    one: Candidate, settings: Settings, root: np.random.SeedSequence, attacks: Sequence[str] = ()
) -> DefenceTrial:
    """Attack a candidate, quick attacks first; those that find more than the target spare the others.

    Parameters
    ----------
    attacks
        Names of further attacks, such as a class of the caller's own.
    """
    chance = _derive_seed(root, one.trial.defence)
    seed = child_seed(chance, _ATTACK)
    try:
        cut = build_linkage_task(one.material, one.published, settings, seed)
        defence = None if isinstance(one.defence, Synthesizer) else one.defence
        told = () if get_event_defence(cut, defence) is None else TOLD
        tries = list(find_by_linker(cut, seed, defence, channel=False, alone=True).tries)
        for names in (QUICK, (*HEAVY, *told, *attacks), LINKER):
            trial = _with_strongest(one.trial, tries, settings)
            if trial.risk is not None and trial.risk.low > settings.found_again:
                return replace(trial, at_least=True)
            if names is not LINKER:
                tries += find_by_attacks(cut, seed, names, defence)
            elif len(cut.known.places) <= LINKER_SETTINGS.max_places and cut.points is None:
                tries += find_by_linker(cut, seed, defence, alone=True).tries
        trial = _with_strongest(one.trial, tries, settings)
        if defence is None:
            return trial
        # What else the release gives away, by its own limits.
        few = replace(settings, draws=min(settings.draws, _FEWER_DRAWS))
        seen = find_by_sightings(one.material, one.published, few, child_seed(chance, _SIGHTINGS))
        found = infer_key_places(one.material, one.published, cut, settings, get_mechanism_circle(defence))
        pairs = zip(("home", "work", "zones"), found, strict=True)
        places = [(name, place.found) for name, place in pairs if place is not None]
        more = (
            rate_question("singling_out", [("found", seen)], settings.singling_out),
            rate_question("inference", places, settings.inference),
        )
        return replace(trial, lights=(*trial.lights, *more))
    except TracearenaError as error:
        return replace(one.trial, error=" ".join(str(error).split()))


def _derive_seed(root: np.random.SeedSequence, name: str) -> np.random.SeedSequence:
    return child_seed(root, zlib.crc32(name.encode()))


def _with_strongest(trial: DefenceTrial, tries: Sequence[Any], settings: Settings) -> DefenceTrial:
    best = find_strongest(tries)
    if best is None:
        return trial
    risk = best.linked.first
    judged = rate_question("linkability", [("linked", risk)], settings.found_again)
    return replace(trial, risk=risk, attack=best.linked.attack, lights=(judged,))


def with_membership(
    trial: DefenceTrial, one: Candidate, others: AuditData, settings: Settings, root: np.random.SeedSequence
) -> DefenceTrial:
    """Judge synthetic traces: copies of training people, and whether membership can be inferred."""
    found = assess_synthetic_candidate(one, others, settings, root)
    questions = ("singling_out", "inference")
    judged = [rate_question(one, found.shares_by_question[one], settings.limit(one)) for one in questions]
    return replace(trial, synthetic=found, lights=(*trial.lights, *judged))


def assess_synthetic_candidate(
    one: Candidate, others: AuditData, settings: Settings, root: np.random.SeedSequence
) -> Synthetic:
    """Return what synthetic traces betray of the people they were made from, next to others.

    Both are known by the days that the synthesizer learns from.
    """
    made = to_plain_events(one.published.coarse, child_seed(root, _DRAW))
    real, strangers = (each.cut.later(each.coarse) for each in (one.material, others))
    return assess_synthetic(real, made, strangers, settings, child_seed(root, _MEMBERS))


def apply_defence(
    defence: Any, material: AuditData, seed: np.random.SeedSequence | None, *, all_days: bool = False
) -> tuple[AuditData, AuditRelease]:
    """Apply a defence: an obfuscator to all days, a synthesizer to the later ones, or to all if asked for."""
    if material.points is not None:
        moved: GpsTraces = validation.run_gps_transform(defence, material.points, seed=seed)
        return material.release(round_coordinates(moved, getattr(defence, "digits", 6)))
    if isinstance(defence, Synthesizer):
        return material.release(synthesize_days(defence, material, seed, all_days=all_days))
    return material.release(validation.run_transform(defence, material.exact, seed=seed))


def synthesize_days(synthesizer: Synthesizer, material: AuditData, seed: Any, *, all_days: bool) -> Traces:
    """Train on the days after the cut, or on all, and synthesize as many for the same people."""
    cut = material.cut
    later = material.exact if all_days else cut.later(material.exact)
    length = material.exact.clock.instants_per_day
    first = material.exact.span[0] if all_days else int(cut.instant.min(initial=0))
    start = first // length * length
    days = max(-(-(material.exact.span[1] - start) // length), 1)
    fitted = validation.run_fit(synthesizer, later, seed=None if seed is None else child_seed(seed, 0))
    made = validation.run_synthesize(fitted, later, days, seed=None if seed is None else child_seed(seed, 1))
    span = start, start + days * length
    return made.replace(
        clock=material.exact.clock, instants=made.instants + start, timestamps=None, span=span
    )


# Candidate defences: pipelines of the catalogue that suit a file.

_SWAP = "SwapTimes(1km,month)"

CHECK_INS = (
    *("PL(4,1)", "PL(1,1)", f"PL(4,1)+{_SWAP}", f"PL(1,1)+{_SWAP}"),
    *(f"PL(0.5,1)+{_SWAP}", f"PL(0.2,1)+{_SWAP}"),
    *(f"ClusterAveraging(0.7,blur_km=0.5)+{_SWAP}", f"ClusterAveraging(0.3,blur_km=0.5)+{_SWAP}"),
    *("ClusterAveraging(0.3,blur_km=0.5)+RoundTime(day)", f"Decoy(0.7)+{_SWAP}", f"Decoy(0.3)+{_SWAP}"),
    *(f"RR(4)+{_SWAP}", f"RR(1)+{_SWAP}", "RR(1)+RoundTime(day)"),
)
"""For events at any times: places and times need a defence each."""

REGULAR = (
    *("PL(4,1)", "PL(2,1)", "PL(1,1)", "PL(0.5,1)", "PL(0.1,1)", "RR(8)", "RR(4)", "RR(1)", "RR(0.1)"),
    *("ClusterAveraging(0.7,blur_km=0.5)", "ClusterAveraging(0.3,blur_km=0.5)", "Decoy(0.7)", "Decoy(0.3)"),
)
"""For one event at every instant: times tell nobody apart, and swapped they would fit no such file."""

GRIDS = (
    *("MRLH(0,0,0.5)", "MRLH(0,0,0.8)", "MRLH(1,1,0.5)"),
    *("MRLH(2,2,0.5)", "MRLH(3,3,0.8)", "MRLH(4,4,0.95)"),
)
"""For regular traces on a grid, whose regions can be merged."""

POINTS = (
    *("GeoInd(100m)", "GeoInd(500m,10min)", "GeoInd(2km,30min)", "Thin(2h)", "Snap(500m)", "Snap(10km)"),
    *("Snap(1km)+PerDay(12)+SwapTimes(1km,day)", "Snap(2km)+PerDay(12)+SwapTimes(2km,day)"),
    *("Snap(4km)+PerDay(12)+SwapTimes(4km,day)", "Snap(10km)+PerDay(12)+SwapTimes(10km,day)"),
    *("Snap(4km)+PerDay(4)+SwapTimes(4km,day)", "Snap(10km)+PerDay(4)+SwapTimes(10km,day)"),
    *("Snap(10km)+PerDay(2)+SwapTimes(10km,week)", "Snap(10km)+PerDay(12)+RoundTime(part)"),
)
"""For GPS points: without a fixed number of points per day their number draws the hours of a person."""

SYNTHESIS = (
    "PPMTF(16,200,zeros=all,iterations=20)",
    "PPMTF(16,2,zeros=all,iterations=20)",
    "PPMTF(16,0.02,zeros=all,iterations=20)",
)
"""Synthetic days of the same people, where no defence holds and places are few."""

PRIVATE_SYNTHESIS = ("PrivateRoles(8)", "PrivateRoles(1)")
"""Days of virtual people, where OpenDP is installed. A release of `protect` has as many people and days
as the data, and is chosen by looking at it; `tracearena synthesize` gives the guarantee."""

MOST_PLACES_OF_SYNTHESIS = 1200
MOST_PEOPLE_OF_DECOYS = 3000
"""`Decoy` compares everybody with everybody, and takes minutes for more people."""
_WHOLE_TRACES = ("ClusterAveraging", "Decoy", "Fakes", "PPMTF", "PrivateRoles", "SGLT", "SGD")


def list_candidates(material: AuditData) -> list[str]:
    """Return the defences to try.

    `Cheat` and `Impostor` are left out: they make people look like others who exist, so that few are found
    again, which is all that the target asks for; whether owners want that of a release is for them to say.
    """
    if material.kind == "gps":
        return list(POINTS)
    names = list(CHECK_INS if material.kind == "check-ins" else REGULAR)
    if material.kind == "regular" and material.exact.places.grid is not None:
        names = [*GRIDS, *names]
    if material.exact.n_users > MOST_PEOPLE_OF_DECOYS:
        names = [name for name in names if not name.startswith("Decoy")]
    return names


def list_synthetic_candidates(material: AuditData) -> list[str]:
    """Return the synthesizers to try where no defence holds."""
    few = len(material.coarse.places) <= MOST_PLACES_OF_SYNTHESIS
    if not few or material.kind == "gps":
        return []
    return [*SYNTHESIS, *(PRIVATE_SYNTHESIS if find_spec("opendp") else ())]


def needs_cells(name: str) -> bool:
    """Whether a defence looks at whole traces, and takes too long at more places than heavy attacks do."""
    return name.startswith(_WHOLE_TRACES)
