"""Readers and writers of files, one module a format.

`read` and `write` take events and GPS points alike and go by the format's name; `recognise` finds it
from the first lines. What a file got wrong is in the `Report` beside the traces.

>>> import tracearena as ta
>>> traces, report = ta.read("checkins.csv", grid="32x32")   # doctest: +SKIP
>>> ta.write(traces, "checkins.parquet")                     # doctest: +SKIP
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
