from .attacks import (
    BayesIdentification,
    BayesInference,
    HabitsInference,
    MarkovIdentification,
    PolyaIdentification,
    ToldAttack,
    TrackingInference,
)
from .matcher import BayesMatcher
from .weighing import WeighedMatch

__all__ = [
    "BayesIdentification",
    "BayesInference",
    "BayesMatcher",
    "HabitsInference",
    "MarkovIdentification",
    "PolyaIdentification",
    "ToldAttack",
    "TrackingInference",
    "WeighedMatch",
]
