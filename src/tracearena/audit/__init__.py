"""The audit: how risky a file of traces is, how safe a release of it, and what protects it.

`assess` answers the three questions that European regulators ask of anonymous data (singling out,
linkability, inference) by attacking the file, and measures how useful the data is. `protect` finds the most
useful defence that keeps the limits. `audit_page` and `write_audit` make pages of both results.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
