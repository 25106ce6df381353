"""Who recorded this trajectory? Classifiers that learn people's ways from released GPS traces."""

from tracearena.attacks.deanonymisation.experiment import Classifier, Deanonymisation, deanonymise
from tracearena.attacks.deanonymisation.forest import WindowForest
from tracearena.attacks.deanonymisation.neural import LstmClassifier
from tracearena.attacks.deanonymisation.windows import Windows, cut_windows

__all__ = [
    "Classifier",
    "Deanonymisation",
    "LstmClassifier",
    "WindowForest",
    "Windows",
    "cut_windows",
    "deanonymise",
]
