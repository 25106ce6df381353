"""How alike two people's mobility is: in place (geographic) and in kind (semantic).

`MobilityProfiles` are what is compared; `geographic_similarity` and `semantic_similarity` compare
them pair by pair, and `zeroth_order_mapping` and `first_order_mapping` say which places match.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
