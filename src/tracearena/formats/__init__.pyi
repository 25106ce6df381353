from . import (
    foursquare,
    geolife,
    gowalla,
    gps,
    gpx,
    partitions,
    peopleflow,
    place_table,
    points,
    ppmtf,
    pwscup,
    table,
    tsmc,
)
from .dispatch import FORMATS, read, write
from .place_files import read_places, write_places
from .recognition import recognise

__all__ = [
    "FORMATS",
    "foursquare",
    "geolife",
    "gowalla",
    "gps",
    "gpx",
    "partitions",
    "peopleflow",
    "place_table",
    "points",
    "ppmtf",
    "pwscup",
    "read",
    "read_places",
    "recognise",
    "table",
    "tsmc",
    "write",
    "write_places",
]
