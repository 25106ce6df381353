from .checkpoint import Unfinished
from .first_pass import EventSurvey
from .table_files import are_many, are_points, folders_name_columns, unstreamable, unstreamable_events
from .user_chunks import Portion, Table, event_table_of, shuffled, table_of

__all__ = [
    "EventSurvey",
    "Portion",
    "Table",
    "Unfinished",
    "are_many",
    "are_points",
    "event_table_of",
    "folders_name_columns",
    "shuffled",
    "table_of",
    "unstreamable",
    "unstreamable_events",
]
