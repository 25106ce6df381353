from .describing import describe
from .portions import Portion, Table, shuffled, table_of
from .streamable import are_many, are_points, folders_name_columns, unstreamable
from .transforming import Written, depends_on, obfuscation, renaming, unchanged, write_changed
from .unfinished import Unfinished
from .walking import Together, walk_together

__all__ = [
    "Portion",
    "Table",
    "Together",
    "Unfinished",
    "Written",
    "are_many",
    "are_points",
    "depends_on",
    "describe",
    "folders_name_columns",
    "obfuscation",
    "renaming",
    "shuffled",
    "table_of",
    "unchanged",
    "unstreamable",
    "walk_together",
    "write_changed",
]
