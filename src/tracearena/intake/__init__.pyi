from .choices import Choices
from .fitting import fitted
from .report import Dropped, Report

__all__ = ["Choices", "Dropped", "Report", "fitted"]
