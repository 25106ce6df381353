"""People flow: Tokyo's regions by number of instant, and the cleaning of the raw traces.

The prepared files have the header ``user_id,time_id,reg_id`` and 35 instants a user, without
clock or day; ``regions_TK.csv`` has the regions and ``POI_TK.csv`` what stands in them. A file of
raw points is cleaned as the PPMTF authors do ([ppmtf], `clean`).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.errors import FileError
from tracearena.formats import table
from tracearena.formats._files import replacing
from tracearena.formats._text import split_header, text_bytes
from tracearena.formats.checkins import CheckIns, check_ins
from tracearena.formats.choices import Choices
from tracearena.formats.discretise import notice_oddities
from tracearena.formats.report import Dropped, Report, Rule
from tracearena.traces import Clock, Grid, Places, Traces

HEADER = ("user_id", "time_id", "reg_id")
TOKYO = (35.65, 139.68, 35.75, 139.80)
KM_PER_DEGREE = (111.0, 91.0)
HOSPITAL = "building/Hospital/7"
_INTERVAL_S = 1200
_FIRST_HOUR, _LAST_HOUR = 9, 19
_LENGTH = 30
