"""Files and folders: read within limits, written completely or not at all.

`replacing` writes a file that takes its place only when it is complete, `replacing_all` lets several
appear together, `replacing_folder` does it for folders; `read_bytes` reads what is within the limits,
`write_csv` writes a small table.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
