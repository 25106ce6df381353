from .bounding import Bounds, DefenceBounds, bounds, write_bounds
from .choosing import Choice, Tried, choose_synthesizer
from .deanonymisation import Classifier, Deanonymisation, deanonymise
from .ensemble import (
    ADAPTIVE_ATTACKS,
    SAMPLE_ATTACKS,
    STRONGEST_ATTACKS,
    UNTOLD_ATTACKS,
    AttackScores,
    Ensemble,
    all_attacks,
    attack_names,
    make_attacks,
    strongest,
)
from .evaluation import Evaluation, baselines, evaluate, halves
from .fairness import Fairness, measure_fairness
from .journal import begun_with, unfinished
from .knowledge import SyntheticRisk, attack_synthetic
from .likeness import Halves, Utility, worse_than_uniform
from .linking import Uniqueness, uniqueness
from .losses import Interval
from .pseudonyms import Release, pseudonymise, pseudonymise_users
from .release_noise import ReleaseNoise, measure_release_noise
from .service import ServiceResult, hide_from_service, knowing_attacker, location_classes
from .sweep import ATTACKS_2019, SAMPLE_DEFENCES, Sweep, best_defences, run_sweep, succeeded, write_table
from .sweep_rows import Band, SweepRow, TunedScores
from .tuned import halves_of, tuned_against
from .tuning import SampleTeam, Tuning, WeightTuning, tune, tune_weights
from .zone_findings import ZoneFindings, find_homes

__all__ = [
    "ADAPTIVE_ATTACKS",
    "ATTACKS_2019",
    "AttackScores",
    "Band",
    "Bounds",
    "Choice",
    "Classifier",
    "Deanonymisation",
    "DefenceBounds",
    "Ensemble",
    "Evaluation",
    "Fairness",
    "Halves",
    "Interval",
    "Release",
    "ReleaseNoise",
    "SAMPLE_ATTACKS",
    "SAMPLE_DEFENCES",
    "STRONGEST_ATTACKS",
    "SampleTeam",
    "ServiceResult",
    "Sweep",
    "SweepRow",
    "SyntheticRisk",
    "Tried",
    "TunedScores",
    "Tuning",
    "UNTOLD_ATTACKS",
    "Uniqueness",
    "Utility",
    "WeightTuning",
    "ZoneFindings",
    "all_attacks",
    "attack_names",
    "attack_synthetic",
    "baselines",
    "begun_with",
    "best_defences",
    "bounds",
    "choose_synthesizer",
    "deanonymise",
    "evaluate",
    "find_homes",
    "halves",
    "halves_of",
    "hide_from_service",
    "knowing_attacker",
    "location_classes",
    "make_attacks",
    "measure_fairness",
    "measure_release_noise",
    "pseudonymise",
    "pseudonymise_users",
    "run_sweep",
    "strongest",
    "succeeded",
    "tune",
    "tune_weights",
    "tuned_against",
    "unfinished",
    "uniqueness",
    "worse_than_uniform",
    "write_bounds",
    "write_table",
]
