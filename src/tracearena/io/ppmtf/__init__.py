"""The files of the PPMTF tools: places, traces, tensors, parameters, synthetic traces, results.

Files may be gzip. Users, places and slots are counted from 0; the order of `Places` is what a
``poi_index`` means.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
