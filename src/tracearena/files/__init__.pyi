from .atomic import make_folder, name_in_errors, replacing_all
from .io import (
    csv_rows,
    csv_text,
    digest_file,
    digest_values,
    is_stream,
    read_bytes,
    refuse_pipe,
    replacing,
    replacing_folder,
    require_new,
    write_csv,
)

__all__ = [
    "csv_rows",
    "csv_text",
    "digest_file",
    "digest_values",
    "is_stream",
    "make_folder",
    "name_in_errors",
    "read_bytes",
    "refuse_pipe",
    "replacing",
    "replacing_all",
    "replacing_folder",
    "require_new",
    "write_csv",
]
