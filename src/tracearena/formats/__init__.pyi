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
    released_table,
    table,
    tsmc,
)
from .place_files import read_places, write_places
from .reading import read
from .recognition import FORMATS, GPS_FORMATS, recognise
from .released import read_released
from .writing import write

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
    "read_released",
    "recognise",
    "released_table",
    "table",
    "tsmc",
    "write",
    "write_places",
]
