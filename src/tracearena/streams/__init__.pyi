from .describing import describe
from .parquet_parts import are_many, is_streamable
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
    "is_streamable",
    "obfuscation",
    "table_of",
    "write_changed",
]
