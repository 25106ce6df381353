"""The strongest attacks: everything the attacker knows, weighed by how likely it is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
