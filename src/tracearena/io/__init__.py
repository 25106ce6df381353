"""Everything between a file and traces: recognise, read, convert, write.

`read` and `write` work for events and for GPS points. The format is named, or recognised from the first lines
(`Input`). The `Report` that comes with the traces lists the problems of a file.

>>> import tracearena as ta
>>> traces, report = ta.read("checkins.csv", grid="32x32")   # doctest: +SKIP
>>> ta.write(traces, "checkins.parquet")                     # doctest: +SKIP
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
