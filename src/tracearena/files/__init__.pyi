from .folders import replacing_folder, require_new
from .staging import make_folder, replacing_all
from .tables import csv_rows, csv_text, write_csv
from .temporary import naming
from .whole import is_stream, read_bytes, replacing, require_lasting

__all__ = [
    "csv_rows",
    "csv_text",
    "is_stream",
    "make_folder",
    "naming",
    "read_bytes",
    "replacing",
    "replacing_all",
    "replacing_folder",
    "require_lasting",
    "require_new",
    "write_csv",
]
