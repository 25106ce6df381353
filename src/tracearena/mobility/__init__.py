"""How people move, measured: transitions, profiles, aggregate, stays, and the laws that human traces obey."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
