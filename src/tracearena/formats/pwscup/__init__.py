"""The files of PWS Cup 2019, both directions, with one strict grammar.

Every reader takes ``.csv`` and ``.csv.gz``, LF or CRLF, a UTF-8 byte-order mark and a missing last
newline; it refuses everything else with a `FileError` that says row, column, value and what is
allowed. `VERDICTS` lists the kinds of fault.
"""

from tracearena.formats.pwscup._verdicts import VERDICTS
from tracearena.formats.pwscup.id_tables import (
    read_id_table,
    read_inferred_table,
    write_id_table,
    write_inferred_table,
)
from tracearena.formats.pwscup.names import PwsName
from tracearena.formats.pwscup.places import (
    KM_PER_DEGREE,
    contest_regions,
    read_places,
    write_distances,
    write_places,
)
from tracearena.formats.pwscup.times import PWS_CLOCK, Times, read_times, times_beside, write_times
from tracearena.formats.pwscup.traces import (
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
    "KM_PER_DEGREE",
    "MAX_LISTED_IDS",
    "MAX_SUBMISSION_BYTES",
    "PWS_CLOCK",
    "VERDICTS",
    "PwsName",
    "Times",
    "contest_regions",
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
