"""Tables of GPS points of any size: read, worked on and written a few users at a time."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
