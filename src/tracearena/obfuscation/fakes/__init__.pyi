from .defence import FakeTraces
from .generators import METHODS, Method, fake_days

__all__ = ["METHODS", "FakeTraces", "Method", "fake_days"]
