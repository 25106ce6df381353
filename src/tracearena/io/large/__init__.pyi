from .checkpoint import PartsCheckpoint
from .first_pass import EventFirstPass
from .table_files import (
    find_events_obstacle,
    find_points_obstacle,
    has_many_rows,
    has_partition_columns,
    is_point_table,
)
from .user_chunks import (
    ChunkOptions,
    UserChunk,
    UserChunkTable,
    open_event_chunks,
    open_point_chunks,
    shuffle_users,
)

__all__ = [
    "ChunkOptions",
    "EventFirstPass",
    "PartsCheckpoint",
    "UserChunk",
    "UserChunkTable",
    "find_events_obstacle",
    "find_points_obstacle",
    "has_many_rows",
    "has_partition_columns",
    "is_point_table",
    "open_event_chunks",
    "open_point_chunks",
    "shuffle_users",
]
