"""Pictures of a contest as SVG, for pages without inline scripts and styles.

Each function takes data of the contest and returns a `Picture`: a drawing, a caption with its message, and
the numbers behind it. `read_stylesheet` returns the rules for light and dark.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
