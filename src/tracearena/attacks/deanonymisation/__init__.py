"""Who recorded this trajectory? Classifiers that learn people's ways from released GPS traces."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
