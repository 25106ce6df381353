"""Base classes of the seven kinds of algorithms, the catalogue of names, the syntax of parameters.

`create` makes an algorithm from a name such as ``PL(4,1)``, `overview` lists all known algorithms, and
`describe` explains one of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
