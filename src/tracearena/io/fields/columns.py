"""Find the role of each column of a table by common names.

Case, accents, blanks, ``_``, ``-``, ``.``, ``:``, ``/`` and ``#`` are ignored. Ambiguous names are not in the
list: ``id``, for example, numbers rows as often as people.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault
from tracearena.traces.row_table import unique_inverse

if TYPE_CHECKING:
    import polars as pl

NAMES: Mapping[str, tuple[str, ...]] = {
    "user": (
        "userid", "uid", "user", "username", "personid", "person", "participantid", "participant",
        "subjectid", "individuallocalidentifier", "individualid", "animalid", "taglocalidentifier",
        "deviceid", "device", "imei", "mmsi", "vehicleid", "vehicleref", "vehicle", "taxiid", "taxi",
        "cabid", "busid", "callerid", "caller", "msisdn", "imsi", "subscriberid", "phoneid", "mobileid",
        "driverid", "riderid", "trackerid", "tracker", "icao24", "maid", "adid", "caid",
        "ユーザid", "ユーザーid", "ユーザ", "ユーザー", "利用者id", "個人id", "端末id",
        "nutzerid", "nutzer", "benutzerid", "benutzer", "fahrzeugid", "gerateid",
        "utilisateurid", "idutilisateur", "utilisateur", "usager", "vehicule",
    ),
    "time": (
        "trackedat", "datetime", "time", "timestamp", "ts", "utctimestamp", "unixtime", "basedatetime",
        "fixtime", "recordedattime", "recordedat", "gpstime", "utctime", "datetimeutc", "timestamputc",
        "tsutc", "timeutc", "utcdatetime", "utc",
        "eventtime", "checkintime", "calldatetime", "calltime", "devicetime", "servertime",
        "日時", "測位日時", "時刻", "タイムスタンプ",
        "zeitpunkt", "zeitstempel", "zeit", "uhrzeit", "horodatage", "dateheure", "heure", "t",
    ),
    "date": ("date", "calldate", "eventdate", "日付", "年月日", "datum"),
    "lat": (
        "lat", "latitude", "locationlat", "gpslat", "gpslatitude", "latdeg", "latitudedeg",
        "decimallatitude", "vehiclelocationlatitude", "緯度", "breite", "breitengrad", "geobreite", "y",
    ),
    "lon": (
        "lng", "lon", "long", "longitude", "locationlong", "locationlon", "gpslon", "gpslong", "gpslng",
        "gpslongitude", "londeg", "longitudedeg", "decimallongitude",
        "vehiclelocationlongitude", "経度", "lange", "laenge",
        "langengrad", "laengengrad", "geolange", "x",
    ),
    "venue": (
        "place", "placeid", "regid", "poiid", "venue", "venueid", "locationid",
        "antennaid", "antenna", "cellid", "towerid", "tower", "siteid", "btsid", "基地局id",
    ),
    "category": ("category", "venuecategory", "venuecategoryname", "カテゴリ", "kategorie", "categorie"),
    "offset_min": ("utcoffsetmin", "timezoneoffset", "utcoffsetminutes"),
    "trajectory": ("traj", "tid", "trajid", "trajectoryid", "trajectory", "tripid", "trackid"),
}  # fmt: skip
"""The roles of columns, and the names of each in order of preference."""

INSTANTS = "timeid"
"""The name of a column of times that numbers instants: the last choice of events, no time of points."""

MAPS = ("x", "y")
"""Names of coordinates that may be degrees, metres or cells: the values must tell."""

_ANTENNAS = NAMES["venue"][NAMES["venue"].index("antennaid") :]
_WEAK = (*MAPS, "t")

EVENTS = ("user", "time", "date", "lat", "lon", "venue", "category", "offset_min")
POINTS = ("user", "time", "date", "lat", "lon", "trajectory")
PLACES = ("lat", "lon", "venue", "category")
"""The roles that a reader of events, of GPS points, or of places looks for."""

OPTIONS: Mapping[str, str] = {
    "user": "user",
    "time": "time",
    "date": "date",
    "lat": "lat",
    "latitude": "lat",
    "lng": "lon",
    "lon": "lon",
    "long": "lon",
    "longitude": "lon",
    "place": "venue",
    "venue": "venue",
    "category": "category",
    "offset": "offset_min",
    "trajectory": "trajectory",
}
"""What ``--columns`` calls the roles."""

WORDS: Mapping[str, str] = {
    "lat": "latitude",
    "lon": "longitude",
    "venue": "place",
    "offset_min": "offset from UTC",
}
"""What people call the roles whose short names are not words."""

_NUMBER = re.compile(r"-?\d+([.,]\d+)?")
_HEADLESS = (
    "no names of columns; if the first line is not a header, use --no-header with the numbers of "
    "columns: --columns user=1,time=2,lat=3,lng=4 (header=False, columns=)"
)
_SHOWN_COLUMNS = 12
_SHOWN_NAMES = 8


def find_option_name(role: str) -> str:
    """Return what ``--columns`` calls a role.

    >>> find_option_name("lon"), find_option_name("venue")
    ('lng', 'place')
    """
    return next(name for name, meant in OPTIONS.items() if meant == role)


def find_roles(
    columns: Sequence[str], wanted: Sequence[str] = EVENTS, chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return which column has which role: as `chosen`, and otherwise by its name.

    Antennas are places only where no coordinates stand next to them: those of a phone are GPS points.

    >>> find_roles(["userId", "Latitude", "lng", "ts", "speed"])
    {'user': 'userId', 'time': 'ts', 'lat': 'Latitude', 'lon': 'lng'}
    >>> find_roles(["MMSI", "BaseDateTime", "LAT", "LON"], chosen={"user": "LON"})
    {'user': 'LON', 'time': 'BaseDateTime', 'lat': 'LAT'}
    """
    found = dict(chosen or {})
    plain = {simplify_name(name): name for name in reversed(columns) if name not in found.values()}
    for role in wanted:
        if role not in found and (name := next((n for n in NAMES[role] if n in plain), None)) is not None:
            found[role] = plain[name]
    if "time" not in found and "venue" in wanted and INSTANTS in plain:
        found["time"] = plain[INSTANTS]
    is_antenna = "venue" not in (chosen or {}) and simplify_name(found.get("venue", "")) in _ANTENNAS
    if is_antenna and {"user", "lat", "lon"} <= set(found):
        del found["venue"]
    return {role: found[role] for role in wanted if role in found}


def find_rival_columns(
    columns: Sequence[str], found: Mapping[str, str], wanted: Iterable[str]
) -> dict[str, list[str]]:
    """Return for each role the columns that have a name of it too, and were not chosen."""
    taken = set(found.values())
    others = {
        role: [
            column
            for column in columns
            if column not in taken and (plain := simplify_name(column)) in NAMES[role] and plain not in _WEAK
        ]
        for role in wanted
        if role in found
    }
    return {role: names for role, names in others.items() if names}


def has_enough_columns(found: Mapping[str, str]) -> bool:
    """Whether the columns tell who, when and where."""
    return not _list_missing_roles(found)


def has_only_points(found: Mapping[str, str]) -> bool:
    """Whether the columns tell where by coordinates alone: GPS points, not events at places.

    Instants (``time_id``) are no times, so that what has them is no GPS.
    """
    return (
        has_enough_columns(found)
        and "venue" not in found
        and simplify_name(found.get("time", "")) != INSTANTS
    )


def simplify_name(column: str) -> str:
    """Return a column's name without case, accents, blanks and what joins or adorns words.

    >>> simplify_name("individual-local-identifier"), simplify_name("# Länge")
    ('individuallocalidentifier', 'lange')
    """
    apart = unicodedata.normalize("NFKD", column).casefold()
    letters = (
        letter for letter in apart if letter not in " _-.:/#\"'\ufeff" and not "\u0300" <= letter <= "\u036f"
    )
    return unicodedata.normalize("NFC", "".join(letters))


def is_utc_name(column: str) -> bool:
    """Whether the name of a column of times, or of a date and a time, says that they are UTC.

    >>> is_utc_name("ts_utc"), is_utc_name("UTC time"), is_utc_name("date_utc, time"), is_utc_name("time")
    (True, True, True, False)
    """
    names = map(simplify_name, column.split(","))
    return any(name.startswith("utc") or name.endswith("utc") for name in names)


def build_missing_faults(
    columns: Sequence[str], found: Mapping[str, str], wanted: Sequence[str] = EVENTS, header: bool = True
) -> list[Fault]:
    """Return a fault for every role without a column, with the names it may have and what to write."""
    shown = ", ".join(columns[:_SHOWN_COLUMNS]) or "none"
    if header and any(_NUMBER.fullmatch(column.strip()) for column in columns):
        return [Fault(0, None, shown, _HEADLESS, "columns")]
    faults = []
    for role in _list_missing_roles(found):
        option, problem = find_option_name(role), f"no column for the {WORDS.get(role, role)}"
        if header:
            names = NAMES[role]
            more = f" and {len(names) - _SHOWN_NAMES} more names" if len(names) > _SHOWN_NAMES else ""
            problem += f"; known names are {', '.join(names[:_SHOWN_NAMES])}{more}"
            if role in ("lat", "lon") and "venue" in wanted:
                problem += f", or a column of places instead ({', '.join(NAMES['venue'][:_SHOWN_NAMES])})"
        example = "NAME" if header else "3"
        cure = f"name it with --columns {option}={example} (columns={{'{option}': '{example}'}})"
        if role == "user":
            cure += ", or use --one-user NAME (one_user='NAME') if all rows belong to one person"
        faults.append(Fault(0, None, shown, f"{problem}; {cure}", "columns"))
    return faults


def _list_missing_roles(found: Mapping[str, str]) -> list[str]:
    needed = ["user"] if "user" not in found else []
    needed += ["time"] if not {"time", "date"} & set(found) else []
    return needed + [role for role in ("lat", "lon") if "venue" not in found and role not in found]


# Ids as files hold them: of users, places and trajectories.

LONGEST_ID = 256
"""Letters of an id or a category: arrays of text are as wide as their longest entry."""

NUL = "\0"
"""What no id may hold: arrays of text drop it at the end of an entry."""


def convert_ids(column: pl.Series) -> pl.Series:
    """Return ids as whole numbers if all of them are, written the plain way, and as text otherwise.

    >>> import polars as pl
    >>> convert_ids(pl.Series(["7", "12"])).to_list(), convert_ids(pl.Series(["007", "12"])).to_list()
    ([7, 12], ['007', '12'])
    """
    import polars as pl

    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        whole = column.drop_nulls()
        if bool((whole == whole.floor()).all()):
            return column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String)
    # If the first id is not a number, none needs to be tried.
    first = text.first()
    if isinstance(first, str) and not first.lstrip("-").isdigit():
        return text
    number = text.cast(pl.Int64, strict=False)
    plain = number.null_count() == text.null_count() and not bool(text.str.contains(r"^(0.|\+|-0)").any())
    return number if plain else text


def number_ids(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of each id, from 0 in their order, and the ids; none is missing.

    >>> import polars as pl
    >>> [part.tolist() for part in number_ids(pl.Series(["b", "a", "b"]))]
    [[1, 0, 1], ['a', 'b']]
    """
    import polars as pl

    if column.dtype.is_integer():
        known, number = unique_inverse(column.to_numpy())
        return number, known
    words = column.unique().sort()
    number = column.cast(pl.Enum(words)).to_physical().to_numpy().astype(np.int64)
    return number, convert_ids_to_array(words)


def convert_ids_to_array(ids: pl.Series) -> NDArray[Any]:
    """Return ids as an array of whole numbers or of text."""
    import polars as pl

    return np.array(ids.to_list(), np.str_) if ids.dtype == pl.String else ids.to_numpy()


# Columns of trips with a start and an end, and of our own tables of released traces.

_STARTS, _ENDS = (
    ("start", "startstation", "pickup", "origin", "from"),
    ("end", "endstation", "dropoff", "destination", "to"),
)
_LATITUDES, _LONGITUDES = ("lat", "latitude"), ("lng", "lon", "long", "longitude")


def _combine_names(ends: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    return tuple(end + word for end in ends for word in words)


TRIP_NAMES: Mapping[str, tuple[str, ...]] = {
    "start time": ("startedat", "tpeppickupdatetime", "lpeppickupdatetime", "trippickupdatetime",
                   "tripstarttimestamp", *_combine_names(_STARTS, ("time", "datetime", "date", "timestamp"))),
    "end time": ("endedat", "tpepdropoffdatetime", "lpepdropoffdatetime", "tripdropoffdatetime", "stoptime",
                 "tripendtimestamp", *_combine_names(_ENDS, ("time", "datetime", "date", "timestamp"))),
    "start lat": (*_combine_names(_STARTS, _LATITUDES), "pickupcentroidlatitude"),
    "start lon": (*_combine_names(_STARTS, _LONGITUDES), "pickupcentroidlongitude"),
    "end lat": (*_combine_names(_ENDS, _LATITUDES), "dropoffcentroidlatitude"),
    "end lon": (*_combine_names(_ENDS, _LONGITUDES), "dropoffcentroidlongitude"),
}  # fmt: skip
"""What a trip has, and the names of each, as `simplify_name` makes them."""


def find_trip_columns(names: Sequence[str]) -> dict[str, str]:
    """Return which column is which end of a trip.

    >>> sorted(find_trip_columns(["ride_id", "started_at", "start_lat"]).items())
    [('start lat', 'start_lat'), ('start time', 'started_at')]
    """
    plain = {simplify_name(name): name for name in reversed(names)}
    ends = {role: [plain[name] for name in known if name in plain] for role, known in TRIP_NAMES.items()}
    return {role: found[0] for role, found in ends.items() if found}


def has_trip_columns(names: Sequence[str]) -> bool:
    """Whether a header has columns of both ends of a trip, and none of a table of points or events."""
    return len(find_trip_columns(names)) == len(TRIP_NAMES) and not has_enough_columns(find_roles(names))


def has_released_columns(columns: Sequence[str]) -> bool:
    """Whether a table has the columns of our tables of released traces and no others.

    >>> has_released_columns(["user_id", "time", "places", "lat", "lng"])
    True
    >>> has_released_columns(["user_id", "time", "lat", "lng"])
    False
    """
    own = sorted(name for name in columns if name != "category")
    times = (("time",), ("time_id",), ("time", "utc_offset_min"))
    return len(columns) - len(own) <= 1 and any(
        own == sorted(("user_id", *time, "places", "lat", "lng")) for time in times
    )
