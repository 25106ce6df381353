from .habits import HabitsInference
from .identification import BayesIdentification, MarkovIdentification, PolyaIdentification
from .inference import BayesInference, TrackingInference
from .matcher import BayesMatcher, WeighedMatch
from .told import ToldAttack

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
