from .counting import CountedTable, counted_together
from .describing import describe
from .event_describing import describe_events
from .event_survey import EventSurvey
from .event_tables import event_table_of
from .event_transforming import (
    count_fates,
    obfuscating,
    under,
    write_anonymized,
    write_events,
    write_released,
)
from .portions import Portion, Table, shuffled, table_of
from .releases import Released, beside, is_streamable, release_table_of
from .streamable import are_many, are_points, folders_name_columns, unstreamable, unstreamable_events
from .transforming import Written, depends_on, identity_of, obfuscation, renaming, unchanged, write_changed
from .unfinished import Unfinished
from .walking import Together, walk_together

__all__ = [
    "CountedTable",
    "EventSurvey",
    "Portion",
    "Released",
    "Table",
    "Together",
    "Unfinished",
    "Written",
    "are_many",
    "are_points",
    "beside",
    "count_fates",
    "counted_together",
    "depends_on",
    "describe",
    "describe_events",
    "event_table_of",
    "folders_name_columns",
    "identity_of",
    "is_streamable",
    "obfuscating",
    "obfuscation",
    "release_table_of",
    "renaming",
    "shuffled",
    "table_of",
    "unchanged",
    "under",
    "unstreamable",
    "unstreamable_events",
    "walk_together",
    "write_anonymized",
    "write_changed",
    "write_events",
    "write_released",
]
