"""SGLT: group places by their meaning, and generate fake traces through the same classes as real ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
