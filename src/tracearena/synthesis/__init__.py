"""Synthesizers: new traces that look like the training traces.

`PPMTF` keeps what is typical of clusters of users, `SGD` only what is common to all, `SGLT` what a
real day means while it moves the day to other places; `PrivateRoles` only what differential privacy
for whole people allows; `Uniform` and `Training` are the two ends of the scale.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
