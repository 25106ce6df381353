"""Base classes of the seven kinds of algorithms, the catalogue of names, the syntax of parameters.

`create` makes the algorithm that a name such as ``PL(4,1)`` means; `overview` lists all that are known,
and `describe` says what one of them takes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
