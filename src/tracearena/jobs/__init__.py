"""What the commands do, callable from Python: read, apply, write; whole or in chunks of users.

Each function is a command of the same name: `obfuscate`, `convert`, `describe`, `pseudonymise`, `audit`,
`protect`, and those that begin with ``score`` and ``check``. `ReadingOptions` has the options for reading
their inputs. Messages and progress go to the logger ``tracearena``.

>>> import tracearena as ta
>>> options = ta.jobs.ReadingOptions(grid="32x32")                                      # doctest: +SKIP
>>> ta.jobs.obfuscate("PL(4,1)", "checkins.csv", "released.csv", reading=options)       # doctest: +SKIP
{'defence': 'PL(4,1)', 'file': 'released.csv', 'users': 120, ...}
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
