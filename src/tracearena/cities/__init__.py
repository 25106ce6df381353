"""The embedded city: simulated people on an invented map, so that everything runs without a download.

`simulate` makes `Traces` with their `Places` and `Clock`, `simulate_gps` and `simulate_fleet` make points of
people and of vehicles; `regions` and `pois` are the map, `laws` measures how human any traces look.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
