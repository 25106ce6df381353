from ._verdicts import VERDICTS
from .id_tables import read_id_table, read_inferred_table, write_id_table, write_inferred_table
from .names import PwsName
from .places import contest_regions, read_places, write_distances, write_places
from .times import PWS_CLOCK, Times, assumed_times, found_times, read_times, times_beside, write_times
from .traces import (
    MAX_LISTED_IDS,
    MAX_SUBMISSION_BYTES,
    read_anonymized,
    read_inferred_traces,
    read_obfuscated,
    read_traces,
    write_anonymized,
    write_inferred_traces,
    write_obfuscated,
    write_traces,
)

__all__ = [
    "MAX_LISTED_IDS",
    "MAX_SUBMISSION_BYTES",
    "PWS_CLOCK",
    "VERDICTS",
    "PwsName",
    "Times",
    "assumed_times",
    "contest_regions",
    "found_times",
    "read_anonymized",
    "read_id_table",
    "read_inferred_table",
    "read_inferred_traces",
    "read_obfuscated",
    "read_places",
    "read_times",
    "read_traces",
    "times_beside",
    "write_anonymized",
    "write_distances",
    "write_id_table",
    "write_inferred_table",
    "write_inferred_traces",
    "write_obfuscated",
    "write_places",
    "write_times",
    "write_traces",
]
