"""What commands do with tables of any size: read, apply, write, a few users at a time.

`write_changed_points` and `write_events` write a table whose points or events are changed,
`describe_points` and `describe_events` summarise one, `pair_tables` reads an original and its release side by
side.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
