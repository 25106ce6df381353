from .describing import describe
from .parquet_parts import are_many, folders_name_columns, unstreamable
from .portions import Portion, Table, table_of
from .transforming import Written, depends_on, obfuscation, write_changed
from .unfinished import Unfinished

__all__ = [
    "Portion",
    "Table",
    "Unfinished",
    "Written",
    "are_many",
    "depends_on",
    "describe",
    "folders_name_columns",
    "obfuscation",
    "table_of",
    "unstreamable",
    "write_changed",
]
