"""Synthesis with differential privacy for whole people: tables with noise, and a model drawn from them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
