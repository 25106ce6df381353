"""The audit: how risky a file of traces is, how safe a release of it, and what protects it.

`assess` answers the three questions that European regulators ask of anonymous data (singling out,
linkability, inference) with attacks that run on the file, and says what the data is good for. `protect` looks
for the cheapest defence that holds. `audit_page` and `write_audit` show both to people.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
