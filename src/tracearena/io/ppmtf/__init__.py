"""The files of the PPMTF tools: places, traces, tensors, parameters, synthetic traces, results.

Files may be compressed with gzip. Users, places and slots are counted from 0; a ``poi_index`` is an index of
`Places`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
