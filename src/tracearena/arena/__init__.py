"""Experiments: releases are made, attacked and scored.

`run_sweep` tries many defences against an `Ensemble` of attacks, `evaluate` judges synthetic traces,
`pseudonymise` makes a release, `tune` and `measure_fairness` compare over teams.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
