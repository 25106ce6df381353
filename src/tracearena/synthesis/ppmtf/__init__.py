"""PPMTF: factorise two tensors together, and draw traces from the factors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
