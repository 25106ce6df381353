from .forest import WindowForest
from .neural import LstmClassifier
from .windows import Windows, cut_windows

__all__ = ["LstmClassifier", "WindowForest", "Windows", "cut_windows"]
