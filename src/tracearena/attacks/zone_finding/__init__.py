"""Finding homes behind privacy zones: trips that end on a circle tell where the circle is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
