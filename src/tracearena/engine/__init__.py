"""Parallel work: fixed blocks on threads or in a cluster, each block with its own random stream.

The size of a block never depends on the number of threads or workers, results are collected in
block order, and sums are added in a fixed tree, so the same seed gives the same bytes everywhere.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
