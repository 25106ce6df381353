"""Measures of how people move: counts, transitions, profiles, aggregates, stays, and laws."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
