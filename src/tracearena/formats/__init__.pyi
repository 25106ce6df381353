from . import (
    foursquare,
    geolife,
    gowalla,
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
from .recognition import GPS_FORMATS, recognise

__all__ = [
    "FORMATS",
    "GPS_FORMATS",
    "foursquare",
    "geolife",
    "gowalla",
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
