from .attacks import (
    BayesIdentification,
    BayesInference,
    HabitsInference,
    LikelihoodAttack,
    MarkovIdentification,
    PolyaIdentification,
    TrackingInference,
)
from .matcher import BayesMatcher
from .weights import BayesMatch

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
