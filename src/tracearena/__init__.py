"""tracearena: measure how private location traces are, publish safer ones, and hold contests.

Every name is imported when it is first used:

>>> import tracearena as ta
>>> ta.obfuscation.PlanarLaplace(l=4, r=1)
PlanarLaplace(l=4, r=1, legacy_2019=False)
"""

import lazy_loader

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
