from .deanonymisation import Classifier, Deanonymisation, deanonymise
from .ensemble import AttackScores, Ensemble, all_attacks, make_attacks, strongest
from .evaluation import Evaluation, Halves, Utility, baselines, evaluate, halves, worse_than_uniform
from .fairness import Fairness, measure_fairness
from .journal import begun_with, unfinished
from .linking import Uniqueness, uniqueness
from .pseudonyms import Release, pseudonymise, pseudonymise_users
from .release_noise import ReleaseNoise, measure_release_noise
from .service import ServiceResult, hide_from_service, location_classes
from .sweep import (
    ATTACKS_2019,
    SAMPLE_ATTACKS,
    SAMPLE_DEFENCES,
    Sweep,
    SweepRow,
    best_defences,
    run_sweep,
    succeeded,
    write_table,
)
from .tuning import SampleTeam, Tuning, tune

__all__ = [
    "ATTACKS_2019",
    "SAMPLE_ATTACKS",
    "SAMPLE_DEFENCES",
    "AttackScores",
    "Classifier",
    "Deanonymisation",
    "Ensemble",
    "Evaluation",
    "Fairness",
    "Halves",
    "Release",
    "ReleaseNoise",
    "SampleTeam",
    "ServiceResult",
    "Sweep",
    "SweepRow",
    "Tuning",
    "Uniqueness",
    "Utility",
    "all_attacks",
    "baselines",
    "begun_with",
    "best_defences",
    "deanonymise",
    "evaluate",
    "halves",
    "hide_from_service",
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
    "unfinished",
    "uniqueness",
    "worse_than_uniform",
    "write_table",
]
