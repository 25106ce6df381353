"""Layouts of text that are known by their first lines: of contests, of published programs and check-ins."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from tracearena.formats.look import Look

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TWITTER = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")

_OTHER_HEADERS = {
    "reg_id": "obfuscated or inferred traces of PWS Cup 2019, which need the original beside them",
    "user_id": "an inferred ID table of PWS Cup 2019",
    "pse_id,user_id": "an ID table of PWS Cup 2019",
    "pse_id,time_id,reg_id": "public (anonymized) traces of PWS Cup 2019",
    "ref/org,time_id,day,hour,min": "the times of PWS Cup 2019 (info_time.csv)",
    "reg_id,y_id,x_id,y(center),x(center),hospital": "the regions of PWS Cup 2019 (info_region.csv)",
    "reg_id,y_id,x_id,y(center),x(center)": "the regions of people flow",
    "poi_id,y,x,category,y_id,x_id,2D_id,count": "POIs of the PPMTF tools (POI_*.csv)",
    "poi_id,y,x,category,count": "POIs of the PPMTF tools (POI_*.csv)",
    "poi_id,poi_index,category,counts": "an index of POIs of the PPMTF tools",
    "user_id,user_index": "an index of users of the PPMTF tools",
}
_PPMTF_HEADERS = (
    "user_index,poi_index,category,unixtime,dow,hour,min",
    "user,trace_no,time_slot,time_instant,poi_index,category",
    "user,trace_no,time_period,time_instant,poi_index,category",
)
_INSTANTS = "user_id,time_id,reg_id"
_RAW_PEOPLE_FLOW = "user_id,y,x,y_id,x_id,2D_id,unixtime,"
_CONTEST = Look(("pwscup", "peopleflow", "table"), "reference or original traces of PWS Cup 2019")


def known_layout(lines: list[str], path: str | PathLike[str]) -> Look | None:
    """Return what a text is by its first lines; None where its columns must be looked at."""
    if lines[0] == _INSTANTS and Path(path).with_name("info_time.csv").is_file():
        return _CONTEST
    return _by_header(lines) or _by_tabs(lines)


def _by_header(lines: list[str]) -> Look | None:
    first = lines[0]
    if first == _INSTANTS:
        return _by_instants(lines)
    if first.startswith(_PPMTF_HEADERS):
        return Look(("ppmtf",), "traces of the PPMTF tools")
    if first.startswith(_RAW_PEOPLE_FLOW):
        return Look(("peopleflow",), "raw people flow of the PPMTF tools")
    if first in _OTHER_HEADERS:
        return Look((), _OTHER_HEADERS[first])
    if first.startswith("Geolife trajectory"):
        return Look((), "a GeoLife PLT file of GPS points, whose name must end in .plt")
    if first.lstrip().startswith(("<?xml", "<gpx")):
        return Look((), "an XML file such as GPX")
    return None


def _by_instants(lines: list[str]) -> Look:
    """PWS Cup has 20 instants a day, people flow 35 in all."""
    rows = [line.split(",") for line in lines[1:-1]]
    times = [row[1:2] for row in rows if row[0] == rows[0][0]]
    if times == [[str(time)] for time in range(1, 36)]:
        return Look(("peopleflow", "pwscup", "table"), "people flow (35 instants a user)")
    return _CONTEST


_TAB_LAYOUTS: tuple[tuple[int, Callable[[list[str]], bool], Look], ...] = (
    (5, lambda f: bool(_ISO.fullmatch(f[1]) and _NUMBER.fullmatch(f[2]) and _NUMBER.fullmatch(f[3])),
     Look(("gowalla",), "check-ins of Gowalla or Brightkite")),
    (8, lambda f: bool(_TWITTER.fullmatch(f[7])), Look(("tsmc",), "Foursquare check-ins of TSMC 2014")),
    (4, lambda f: bool(_TWITTER.fullmatch(f[2])), Look(("foursquare",), "Foursquare check-ins of WWW 2019")),
    (5, lambda f: bool(_NUMBER.fullmatch(f[1]) and _NUMBER.fullmatch(f[2])),
     Look((), "Foursquare venues of WWW 2019 (raw_POIs.txt)")),
)  # fmt: skip


def _by_tabs(lines: list[str]) -> Look | None:
    """By the first lines together, so that one broken line does not decide."""
    rows = [line.split("\t") for line in lines[:20] if "\t" in line]
    for width, fits, look in _TAB_LAYOUTS:
        if 2 * sum(len(row) == width and fits(row) for row in rows) > len(rows) > 0:
            return look
    return None
