from .attacks import (
    BayesIdentification,
    BayesInference,
    HabitsInference,
    LikelihoodAttack,
    MarkovIdentification,
    PolyaIdentification,
    TrackingInference,
)
from .matcher import BayesMatch, BayesMatcher

__all__ = [
    "BayesIdentification",
    "BayesInference",
    "BayesMatch",
    "BayesMatcher",
    "HabitsInference",
    "LikelihoodAttack",
    "MarkovIdentification",
    "PolyaIdentification",
    "TrackingInference",
]
