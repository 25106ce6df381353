"""Experiments: make releases, attack them, and score the results.

`run_sweep` runs an `Ensemble` of attacks on many defences, `evaluate` measures synthetic traces,
`pseudonymise` makes a release, and `tune` and `measure_fairness` compare teams.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
