from .choices import Choices
from .format_limits import fitted
from .report import Example, Reading, Report

__all__ = ["Choices", "Example", "Reading", "Report", "fitted"]
