"""Many defences against many attacks: `run_sweep`.

Each defence is applied to the original traces, every attack is run on the release, and a `SweepRow` has
utility and privacy. With a `Checkpoint`, an interrupted sweep resumes where it stopped.
"""

from __future__ import annotations

import secrets
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tracearena import __version__
from tracearena.algorithms import Obfuscator, catalogue, validation
from tracearena.arena.attacker_knowledge import Knowledge, select_attacks, select_known_traces
from tracearena.arena.ensemble import (
    SAMPLE_ATTACKS,
    AttackScores,
    Ensemble,
    Scoring,
    attack_names,
    make_attacks,
)
from tracearena.arena.pseudonyms import Release, pseudonymise
from tracearena.checks import accepts
from tracearena.dataframes import Result, build_result_frame
from tracearena.engine import (
    Checkpoint,
    SeedLike,
    block_ranges,
    child_seed,
    one_library_thread,
    run_blocks,
    seed_sequence,
)
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.files import digest_values, write_csv
from tracearena.metrics import utility_score
from tracearena.traces import ObfuscatedTraces, Traces

if TYPE_CHECKING:
    from tracearena.arena.privacy_bounds import InformedAttacker


class Band(NamedTuple):
    """Bounds of s_T of a defence.

    Attributes
    ----------
    estimate
        Estimated s_T against an attacker who knows the defence and the ID table.
    ceiling
        s_T against an attacker who uses only time profiles and ignores the release.
    """

    estimate: float
    ceiling: float


@dataclass(frozen=True)
class TunedScores(Result):
    """Privacy of a release against the tuned winning attacks of 2019.

    Attributes
    ----------
    tuned_R, tuned_T
        Names of the attacks, with the parameters that did best on the sample teams.
    s_R_tuned, s_T_tuned
        Privacy scores of the release against them (1 is private).
    """

    tuned_R: str
    tuned_T: str
    s_R_tuned: float
    s_T_tuned: float


@dataclass(frozen=True)
class SweepRow(Result):
    """One defence: its utility, whether it is valid, and its privacy against each attack.

    Attributes
    ----------
    error
        The reason why the defence failed, in which case there are no scores; or the attacks that failed, in
        which case their scores are missing and the row is not ranked.
    band
        The range in which s_T must lie, if the sweep computes it.
    tuned
        Scores against tuned attacks, if the sweep tunes them. Only the minima whose names end in ``_tuned``
        include them.
    """

    defence: str
    utility: float | None
    valid: bool
    scores: AttackScores
    error: str | None = None
    band: Band | None = None
    tuned: TunedScores | None = None

    @property
    def s_R_min_tuned(self) -> float | None:
        """Privacy against the strongest re-identification, tuned or not; None without tuning."""
        return _smaller_score(self.scores.s_R_min, None if self.tuned is None else self.tuned.s_R_tuned)

    @property
    def s_T_min_tuned(self) -> float | None:
        """Privacy against the strongest trace inference, tuned or not; None without tuning."""
        return _smaller_score(self.scores.s_T_min, None if self.tuned is None else self.tuned.s_T_tuned)

    def to_dict(self) -> dict[str, Any]:
        """Return one flat row of a table."""
        band = {} if self.band is None else {f"s_T_{name}": one for name, one in self.band._asdict().items()}
        minima = {"s_R_min_tuned": self.s_R_min_tuned, "s_T_min_tuned": self.s_T_min_tuned}
        tuned = {} if self.tuned is None else self.tuned.to_dict() | minima
        return {
            "defence": self.defence,
            "utility": self.utility,
            "valid": self.valid,
            **self.scores.to_dict(),
            **band,
            **tuned,
            "error": self.error,
        }


def _smaller_score(plain: float | None, tuned: float | None) -> float | None:
    return tuned if tuned is None or plain is None else min(plain, tuned)


SAMPLE_DEFENCES = (
    "No",
    *(f"MRLH(0,0,{deletion})" for deletion in ("0.1", "0.2", "0.5", "0.8")),
    *(f"MRLH(1,1,{deletion})" for deletion in ("0", "0.1", "0.2", "0.5", "0.8")),
    *(f"RR({epsilon})" for epsilon in ("0.1", "1", "2", "4", "6", "8", "10", "12", "14")),
    *(f"PL({level},1)" for level in ("0.1", "1", "2", "3", "4", "5", "6", "7")),
    *(f"Cheat({share})" for share in ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")),
)
"""The 37 sample defences of the organisers' table ([samples] section 3.1, and PL(0.1,1))."""

ATTACKS_2019 = (*SAMPLE_ATTACKS, "FuzzyCount-R", "FuzzyCount-T", "Replay-T")
"""What a team of 2019 had to withstand: the sample attacks, the winner's, and replay."""

LEGACY_SEED = 1
TIE = 1e-9
"""Scores that differ by no more are equal: such a difference is rounding, not merit."""


class Sweep(list[SweepRow]):
    """The rows of a sweep, one per defence, in the given order.

    Attributes
    ----------
    threshold
        Lowest utility of a valid release.
    """

    def __init__(
        self, rows: Iterable[SweepRow] = (), *, threshold: float = Scoring.utility_threshold
    ) -> None:
        super().__init__(rows)
        self.threshold = threshold

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per defence: the columns of `write_table`.

        `library` is ``polars``, ``pandas`` or ``arrow``.
        """
        return build_result_frame([row.to_dict() for row in self], library)

    def plot(self, kind: str | None = None, *, interactive: bool = False) -> Any:
        """Draw one point per defence, hollow where its utility is below the threshold.

        If the sweep has bands, a dashed line marks the ceiling for all defences, and a line from each point
        leads to the estimated score against an attacker who knows the ID table.

        Parameters
        ----------
        kind
            ``tradeoff``, the default, plots privacy and utility; ``privacy`` plots both kinds of privacy.
        interactive
            Return a Plotly figure in which the reader can zoom, instead of a Matplotlib figure.
        """
        from tracearena.dataframes import load_view

        return load_view("sweep_picture")(self, kind, interactive=interactive)

    def _repr_html_(self) -> str:
        from tracearena.dataframes import load_view

        html: str = load_view("sweep_html")(self)
        return html


class SweepOptions(TypedDict, total=False):
    """Further options of a sweep; all may be omitted.

    Attributes
    ----------
    legacy_2019
        Reproduce the organisers' programs: defences use their random draws (with seed 1 unless you give a
        number), and attacks use a tenth of the events and at most ten places of a set.
    band
        Compute the range in which s_T of each defence must lie (see `bounds`).
    knowledge
        ``"partial"``, the default: attackers know the reference traces. ``"maximum"``: they know the original
        traces themselves, so only re-identification attacks are run.
    tune
        Also tune fuzzy counting, the winning attack of 2019, for each defence. It is tuned on sample teams
        (pairs of reference and original traces) under that defence; True uses the reference traces, split in
        two.
    """

    legacy_2019: bool
    band: bool
    knowledge: Knowledge
    tune: bool | Sequence[tuple[Traces, Traces]]


@accepts(SweepOptions)
def run_sweep(
    reference: Traces,
    original: Traces,
    *,
    defences: Sequence[str] = SAMPLE_DEFENCES,
    attacks: Sequence[str] = SAMPLE_ATTACKS,
    scoring: Scoring | None = None,
    seed: SeedLike = None,
    unfinished: PathLike[str] | None = None,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Apply every defence to the original traces, and run every attack on each release.

    Parameters
    ----------
    reference, original
        The traces that attackers know, and the traces that are protected.
    defences, attacks
        Names of the catalogue; by default those of the 2019 contest. Among the attacks ``"samples"``,
        ``"strongest"`` and ``"all"`` stand for several (`attack_names`). An adaptive attack, such as
        ``Bayes-T(adaptive)``, runs each defence on the reference before it attacks.
    scoring
        Threshold, distance limits and sensitive weight; by default those of the 2019 contest.
    seed
        The random draws of a defence or attack depend only on the seed and its own name.
    unfinished
        A checkpoint file that stores finished rows while the sweep runs. If it exists and was started with
        the same traces, attacks, rules and seed, its rows are reused. Remove it when you have saved the
        result.
    **options
        Keywords of `SweepOptions`: ``legacy_2019``, ``band``, ``knowledge``, ``tune``.

    Notes
    -----
    Invalid releases get scores too; a contest would count them as 0. If a defence raises an error, its row
    contains the reason, and the other defences still run. An unknown name, or a class that cannot be created,
    is an error before the sweep begins.
    """
    legacy_2019, band = options.get("legacy_2019", False), options.get("band", False)
    knowledge, tune = options.get("knowledge", "partial"), options.get("tune", False)

    # Who attacks, and what they know.
    if knowledge == "maximum" and (band or tune):
        raise ParameterError(
            "band and tune are about trace inference, and an attacker who knows "
            "the original traces infers nothing"
        )
    if legacy_2019 and seed is None:
        seed = LEGACY_SEED
    check_same_users(reference, original)
    limits = scoring or Scoring()
    reference = select_known_traces(knowledge, reference, original)
    chosen = select_attacks(knowledge, attack_names(attacks))
    named = make_attacks(chosen, legacy_2019=legacy_2019, **limits.attacker_settings)
    scorer = DefenceScorer(
        reference=reference,
        original=original,
        ensemble=Ensemble(named, **limits.attacker_settings).fit(reference),
        limits=limits,
        root=seed_sequence(seed),
    )
    if legacy_2019 and isinstance(seed, int):
        scorer = replace(scorer, defence_seed=seed)
    if band:
        from tracearena.arena.privacy_bounds import InformedAttacker

        scorer = replace(scorer, informed=InformedAttacker(limits).fit(reference, original))
    if tune:
        from tracearena.arena.tuning import split_reference

        scorer = replace(scorer, samples=(split_reference(reference),) if tune is True else (*tune,))

    # Which defences, and which of them an interrupted sweep has finished.
    defenders: list[Obfuscator] = [
        catalogue.create(name, "obfuscator", legacy_2019=legacy_2019) for name in defences
    ]
    keys = [f"{one!r} {digest_code([one])}" for one in defenders]
    checkpoint = None
    finished: dict[str, SweepRow] = {}
    if unfinished is not None:
        checkpoint = _open_checkpoint(Path(unfinished), scorer, seed, options)
        finished = {key: _row_from_json(kept) for key, kept in checkpoint.rows.items()}
    missing = [(key, one) for key, one in zip(keys, defenders, strict=True) if key not in finished]

    # One row for each of the others.
    def keep(block: int, row: SweepRow) -> None:
        # A row that failed is tried again when the sweep resumes.
        if checkpoint is not None and row.error is None:
            checkpoint.add(missing[block][0], asdict(row))

    with one_library_thread():
        rows = run_blocks(
            partial(_score_block, scorer, [one for _, one in missing]),
            block_ranges(len(missing), 1),
            anywhere=True,
            report=True,
            finished=None if checkpoint is None else keep,
        )
    finished |= {key: row for (key, _), row in zip(missing, rows, strict=True)}
    return Sweep((finished[key] for key in keys), threshold=limits.utility_threshold)


@dataclass(frozen=True, eq=False, kw_only=True)
class DefenceScorer:
    """Scores one defence after the other against attackers who have learned what they can.

    Every column of a sweep is worked out in `score`. A further one is a field of `SweepRow`, what `score`
    puts into it, and an entry of `SweepRow.to_dict`; checkpoints keep it without more.

    Attributes
    ----------
    reference, original
        The traces that attackers know, and the traces that are protected.
    ensemble
        The attacks, fitted to the reference.
    limits
        What counts in a score.
    root
        What a defence draws depends on it and on the defence's name only.
    defence_seed
        The seed of the defences themselves, if it is another: that of the organisers' programs.
    informed
        An attacker who knows the defence and the ID table, where the band of s_T is wanted.
    samples
        Teams (reference and original traces) on which the winner's attack is tuned; none: it is not.
    """

    reference: Traces
    original: Traces
    ensemble: Ensemble
    limits: Scoring
    root: np.random.SeedSequence
    defence_seed: int | None = None
    informed: InformedAttacker | None = None
    samples: tuple[tuple[Traces, Traces], ...] = ()

    def score(self, defence: Obfuscator) -> SweepRow:
        """Release the original traces, attack the release, and return utility and privacy."""
        trial = make_trial(defence, self.original, self.limits, self.root, drawn_from=self.defence_seed)
        attack_seed = trial.attack_seed
        scores = self.ensemble.score(self.original, trial.release, defence=defence, seed=attack_seed)
        row = SweepRow(
            str(defence),
            trial.utility,
            self.limits.is_valid(trial.utility),
            scores,
            error="; ".join(scores.failed.values()) or None,
        )
        if self.informed is not None:
            losses = self.informed.losses(trial.release, defence, seed=attack_seed)
            row = replace(row, band=Band(losses.score, self.informed.habits_.score))
        if self.samples:
            from tracearena.arena.tuning import score_tuned_attacks

            known = self.reference, self.original, trial.release, self.limits
            tuned = score_tuned_attacks(self.samples, defence, *known, seed=attack_seed)
            row = replace(row, tuned=tuned)
        return row


def _score_block(
    scorer: DefenceScorer, defences: Sequence[Obfuscator], block: int, first: int, stop: int
) -> SweepRow:
    """Return the row of a defence; one that fails has a row that says why."""
    (defence,) = defences[first:stop]
    try:
        return scorer.score(defence)
    except Exception as error:
        is_ours = isinstance(error, TracearenaError)
        message = " ".join((str(error) if is_ours else f"{type(error).__name__}: {error}").split())
        return SweepRow(str(defence), None, False, AttackScores({}, {}), message)


def _open_checkpoint(path: Path, scorer: DefenceScorer, seed: SeedLike, options: SweepOptions) -> Checkpoint:
    """Open the file of finished rows; it is refused if it was begun with other traces, attacks or seeds."""
    number = int(seed) if isinstance(seed, (int, np.integer)) else None
    # A root of unknown origin is unlike any other: no row is reused.
    entropy = getattr(scorer.root, "entropy", None)
    origin = secrets.token_hex(16) if entropy is None else (entropy, scorer.root.spawn_key)
    drawn_from = origin if number is None else number
    # Sample teams are traces, which are digested themselves.
    asked = sorted((name, value) for name, value in options.items() if name != "tune" and value)
    columns = [one.name for one in fields(SweepRow)]
    settings = (
        scorer.ensemble,
        digest_code(scorer.ensemble.attacks),
        scorer.limits,
        drawn_from,
        asked,
        columns,
    )
    traces = scorer.reference, scorer.original, *(half for sample in scorer.samples for half in sample)
    return Checkpoint(path, digest(traces, *settings), number)


def require_success(rows: Sequence[SweepRow]) -> Sequence[SweepRow]:
    """Return the rows; raise the error of the first failed row, if any."""
    for row in rows:
        if row.error is not None:
            raise DataError(f"{row.defence}: {row.error}")
    return rows


def best_defences(rows: Sequence[SweepRow]) -> tuple[str | None, list[SweepRow]]:
    """Return the valid rows with the highest privacy (several if they tie), and the name of that score.

    Rows are compared by ``"s_T_min"``, or by ``"s_R_min"`` if no trace-inference attack was run. Scores that
    differ by at most 1e-9 are a tie.
    """
    for name in ("s_T_min", "s_R_min"):
        scored = [(getattr(row.scores, name), row) for row in rows if row.valid and row.error is None]
        scored = [(score, row) for score, row in scored if score is not None]
        if scored:
            best = max(score for score, _ in scored)
            return name, [row for score, row in scored if score >= best - TIE]
    return None, []


def _row_from_json(kept: dict[str, Any]) -> SweepRow:
    band, tuned = kept["band"], kept["tuned"]
    known = {
        "scores": AttackScores(**kept["scores"]),
        "band": None if band is None else Band(*band),
        "tuned": None if tuned is None else TunedScores(**tuned),
    }
    return SweepRow(**(kept | known))


def write_table(rows: Sequence[SweepRow], path: str | PathLike[str]) -> None:
    """Write one line per defence: utility, validity, each attack, both minima and their attacks, the error.

    Missing values are empty: the minimum of a kind without attacks, and all scores of a defence that failed.
    """
    table = [row.to_dict() for row in rows]
    # The row of a defence that failed lacks columns that others have.
    longest = max((list(row) for row in table), key=len, default=["defence", "utility", "valid"])
    columns = list(dict.fromkeys([*longest, *(column for row in table for column in row)]))
    for row in table:
        row["valid"] = str(row["valid"]).lower()
    write_csv(path, columns, ([row.get(column) for column in columns] for row in table))


# One defence on one set of traces.


class ReleaseTrial(NamedTuple):
    """A release, how useful it is, and the seed of the attacks on it."""

    utility: float
    release: Release[ObfuscatedTraces]
    attack_seed: np.random.SeedSequence


def make_trial(
    obfuscator: Obfuscator,
    original: Traces,
    scoring: Scoring,
    root: np.random.SeedSequence,
    *,
    drawn_from: SeedLike = None,
) -> ReleaseTrial:
    """Release traces under a defence; what is drawn depends on the root and the defence's name only.

    Parameters
    ----------
    drawn_from
        Another seed for the defence itself.
    """
    chance = child_seed(root, zlib.crc32(str(obfuscator).encode()))
    own = child_seed(chance, 0) if drawn_from is None else drawn_from
    if not obfuscator.keeps_times:
        raise DataError(
            f"{obfuscator} changes times, but s_U compares events one by one; use "
            "audit or protect for such a release"
        )
    obfuscated = validation.run_transform(obfuscator, original, seed=own)
    score = utility_score(original, obfuscated, rule=scoring.utility_rule, limit_km=scoring.utility_limit_km)
    return ReleaseTrial(
        score.utility, pseudonymise(obfuscated, seed=child_seed(chance, 1)), child_seed(chance, 2)
    )


def check_same_users(reference: Traces, original: Traces) -> None:
    """Refuse users who are not in the reference traces."""
    strangers = original.user_ids[~np.isin(original.user_ids, reference.user_ids)]
    if len(strangers):
        raise DataError(
            f"{len(strangers):,} users of the original traces are not in the reference traces, such "
            f"as user {strangers[0]}; leave out users that are in only one of the two"
        )


# What the rows of a checkpoint depend on.

_PLACE_COLUMNS = ("latitude", "longitude", "ids", "sensitive", "categories")


def digest(traces: Iterable[Traces], *others: object) -> str:
    """Return a digest of traces, of settings by their text, and of this package's version."""
    values: list[str | NDArray[Any]] = [f"{__version__} {others!r}"]
    for one in traces:
        places = one.places
        arrays = [one.user_ids, one.offsets, one.instants, one.place_index, one.timestamps]
        arrays += [getattr(places, name) for name in _PLACE_COLUMNS]
        values.append(f"{one.span} {one.clock!r} {places.grid!r} {places.km_per_degree!r}")
        for array in arrays:
            values += ["none"] if array is None else [f"{array.dtype} {array.shape}", array]
    return digest_values(*values)


def digest_code(algorithms: Sequence[object]) -> str:
    """Return a digest of the modules of users' own classes, which change without a new version."""
    contents = []
    for name in sorted({type(one).__module__ for one in algorithms}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if name.partition(".")[0] != "tracearena" and file and Path(file).is_file():
            contents.append(Path(file).read_bytes())
    return digest_values(*contents)
