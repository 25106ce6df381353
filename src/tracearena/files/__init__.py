"""Files and folders: read within limits, written completely or not at all.

`replacing` writes a file that gets its name only when it is complete, `replacing_folder` does the same for a
folder, and `replacing_all` lets several outputs appear together. `read_bytes` reads a file within limits, and
`write_csv` writes a small table.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
