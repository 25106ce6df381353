"""Pictures of a contest as SVG, for pages that allow neither scripts nor styles inside of them.

Each function takes what the contest knows and returns a `Picture`: a drawing, the sentence that says its
message, and the numbers behind it. `read_stylesheet` has the rules for light and dark.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
