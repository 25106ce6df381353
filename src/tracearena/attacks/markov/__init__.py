"""Attacks on synthetic traces by the first-order Markov chains of the users they were made from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
