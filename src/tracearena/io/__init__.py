"""Everything between a file and traces: recognise, read, convert, write.

`read` and `write` take events and GPS points alike and go by the name of the format; an `Input` finds it
from the first lines. What was wrong with a file is in the `Report` that comes with the traces.

>>> import tracearena as ta
>>> traces, report = ta.read("checkins.csv", grid="32x32")   # doctest: +SKIP
>>> ta.write(traces, "checkins.parquet")                     # doctest: +SKIP
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
