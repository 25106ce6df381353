"""Synthesizers: new traces that look like the training traces.

`PPMTF` preserves the behaviour of clusters of users, and `SGD` only that of all users together. `SGLT` moves
real days to other places with the same meaning. `PrivateRoles` is differentially private for whole people.
`Uniform` and `Training` are the two baselines.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
