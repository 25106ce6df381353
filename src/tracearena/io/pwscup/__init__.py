"""The files of PWS Cup 2019, both directions, with one strict grammar.

Every reader takes ``.csv`` and ``.csv.gz``, LF or CRLF, a UTF-8 byte-order mark and a missing last
newline; it refuses everything else with a `FileError` that says row, column, value and what is
allowed. `VERDICTS` lists the kinds of fault.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
