"""Undoing noise on GPS traces: people move along paths, noise does not."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
