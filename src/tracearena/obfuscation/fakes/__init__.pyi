from .defence import FakeTraces
from .generators import METHODS, Method, fake_days

__all__ = ["FakeTraces", "METHODS", "Method", "fake_days"]
