from .bayes_r import BayesIdentification
from .bayes_t import BayesInference
from .habits_t import HabitsInference
from .markov_r import MarkovIdentification
from .matcher import BayesMatcher
from .polya_r import PolyaIdentification
from .told import ToldAttack
from .tracking_t import TrackingInference
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
