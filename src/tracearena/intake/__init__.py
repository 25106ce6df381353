"""From rows to traces, events and GPS alike: columns, times, choices of places and instants, one report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
