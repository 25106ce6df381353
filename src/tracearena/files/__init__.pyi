from .atomic import make_folder, naming, replacing_all
from .io import (
    csv_rows,
    csv_text,
    is_stream,
    read_bytes,
    replacing,
    replacing_folder,
    require_lasting,
    require_new,
    write_csv,
)

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
