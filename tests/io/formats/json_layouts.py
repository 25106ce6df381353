# ruff: noqa: E501 (real files have long lines)
"""Layouts of files beyond plain tables: a small file of each exact layout, and what becomes of it.

A table that tests and documentation share: what the file is, how it is built, which options it needs, and
what is read from it or why it is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

BIKE = (
    "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,"
    "end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual\n"
    "A847FADBBC638E45,docked_bike,2020-04-26 17:45:14,2020-04-26 18:12:03,Eckhart Park,86,Lincoln Ave,152,"
    "41.8964,-87.6610,41.9322,-87.6586,member\n"
    "5405B80E996FF60D,docked_bike,2020-04-17 17:08:54,2020-04-17 17:17:03,Drake Ave,503,Kosciuszko Park,499,"
    "41.9244,-87.7154,,,member\n"
)
TAXI = (
    "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,pickup_longitude,"
    "pickup_latitude,RatecodeID,store_and_fwd_flag,dropoff_longitude,dropoff_latitude,payment_type\n"
    "2,2015-01-15 19:05:39,2015-01-15 19:23:42,1,1.59,-73.993896,40.750111,1,N,-73.974785,40.750618,1\n"
)
PORTO = (
    '"TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE","MISSING_DATA",'
    '"POLYLINE"\n"1372636858620000589","C","","","20000589","1372636858","A","False",'
    '"[[-8.618643,41.141412],[-8.618499,41.141376],[-8.620326,41.14251]]"\n'
    '"1372637303620000596","B","","7","20000596","1372637303","A","False","[[-8.639847,41.159826]]"\n'
    '"1372637905620000320","C","","","20000320","1372637905","A","True","[[-8.61,41.14]]"\n'
)
SEGMENT = {"startTime": "2024-05-01T08:00:00.000+02:00", "endTime": "2024-05-01T10:00:00.000+02:00"}
RECORDS = {
    "locations": [
        {
            "latitudeE7": 481371079,
            "longitudeE7": 115753822,
            "accuracy": 13,
            "activity": [{"activity": [{"type": "STILL", "confidence": 100}], "timestamp": "2022-01-12T17:18:20Z"}],
            "source": "WIFI",
            "deviceTag": -577680260,
            "timestamp": "2022-01-12T17:18:24.190Z",
        },
        {"latitudeE7": 481372, "longitudeE7": 115754000, "deviceTag": 5, "timestamp": "2022-01-12T17:20:24Z"},
    ]
}  # fmt: skip
OLD_RECORDS = {
    "locations": [
        {"timestampMs": "1387172545711", "latitudeE7": 481371079, "longitudeE7": 115753822, "accuracy": 25}
    ]
}
ANDROID = {
    "semanticSegments": [
        SEGMENT | {"timelinePath": [{"point": "48.1371079°, 11.5753822°", "time": "2024-05-01T08:03:00.000+02:00"},
                                    {"point": "48.1381079°, 11.5763822°", "time": "2024-05-01T08:09:00.000+02:00"}]},
        SEGMENT | {"startTimeTimezoneUtcOffsetMinutes": 120, "visit": {
            "hierarchyLevel": 0, "probability": 0.9, "topCandidate": {
                "placeId": "ChIJ2V-Mo_l1nkcRfZixfUq4DAE", "semanticType": "INFERRED_HOME", "probability": 0.8,
                "placeLocation": {"latLng": "48.1351°, 11.5820°"}}}},
        SEGMENT | {"activity": {"start": {"latLng": "48.1351°, 11.5820°"}, "end": {"latLng": "48.2°, 11.6°"},
                                "distanceMeters": 7000.5, "topCandidate": {"type": "CYCLING", "probability": 0.7}}},
        SEGMENT | {"timelineMemory": {"trip": {"distanceFromOriginKms": 100}}},
    ],
    "rawSignals": [
        {"position": {"LatLng": "48.1351°, 11.5820°", "accuracyMeters": 13, "source": "WIFI",
                      "timestamp": "2024-05-01T08:03:00.000+02:00"}},
        {"wifiScan": {"deliveryTime": "2024-05-01T08:03:00.000+02:00", "devicesRecords": []}},
    ],
    "userLocationProfile": {"frequentPlaces": []},
}  # fmt: skip
IPHONE = [
    SEGMENT | {"timelinePath": [{"point": "geo:48.137107,11.575382", "durationMinutesOffsetFromStartTime": "57"}]},
    SEGMENT | {"visit": {"hierarchyLevel": "0", "probability": "0.98", "topCandidate": {
        "probability": "0.73", "semanticType": "Home", "placeID": "ChIJ2V", "placeLocation": "geo:48.1351,11.5820"}}},
    SEGMENT | {"activity": {"start": "geo:48.1351,11.5820", "end": "geo:48.2,11.6", "distanceMeters": "7000",
                            "topCandidate": {"type": "cycling", "probability": "0.7"}}},
]  # fmt: skip
MONTH = {"timelineObjects": [{"placeVisit": {"location": {"latitudeE7": 481371079}}}]}
TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T00:01:00Z"]
PATH = [[11.5, 48.1], [11.6, 48.2, 520.0]]


def feature(geometry: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    place = {"type": geometry, "coordinates": coordinates}
    return {"type": "Feature", "geometry": place, "properties": properties}


def collection(*features: Any, **members: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", **members, "features": list(features)}


MERCATOR = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
MOVING = {"type": "MovingPoint", "datetimes": TIMES, "coordinates": PATH, "interpolation": "Linear"}
MOBILITYDB = {
    "type": "MovingGeomPoint",
    "sequences": [{"datetimes": ["2020-01-01T01:00:00+01", "2020-01-01T01:01:00+01"], "coordinates": PATH}],
}
ROW = '{"uid": "ann", "timestamp": "2020-01-01T00:00:00Z", "lat": 48.1, "lng": 11.5'
REC = (
    '2015-09-22T12:06:16Z\t*                 \t{"_type":"location","tst":1442923576,"lat":48.856826,"lon":2.292713,'
    '"acc":5,"batt":80,"tid":"jj"}\n2015-09-22T12:09:16Z\tlwt               \t{"_type":"lwt","tst":1442923756}\n'
)
MESSAGE = {"_type": "location", "tst": 1442923576, "lat": 48.85, "lon": 2.29, "tid": "jj"}


@dataclass(frozen=True)
class Layout:
    """One layout of a file.

    Attributes
    ----------
    name, structure
        What it is, and how it is built, for people.
    file, content
        A small file of it.
    format
        What it is recognised as; empty where it is refused unread.
    options
        What a caller must say besides, as `tracearena.read` takes it.
    users, points
        What is read.
    refusal
        What the sentence says that refuses it without these options, or at all.
    """

    name: str
    structure: str
    file: str
    content: str
    format: str
    users: tuple[str | int, ...] = ()
    points: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    refusal: str = ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


LAYOUTS = (
    Layout("Google Takeout, since 2022", "locations: latitudeE7, longitudeE7, timestamp, deviceTag",
           "Records.json", _json(RECORDS), "google-records", ("Records",), 2),
    Layout("Google Takeout, before 2022", "locations: latitudeE7, longitudeE7, timestampMs",
           "Standortverlauf.json", _json(OLD_RECORDS), "google-records", ("ann",), 1, {"one_user": "ann"}),
    Layout("Google Timeline, Android", "semanticSegments: timelinePath, visit, activity; rawSignals",
           "Timeline.json", _json(ANDROID), "google-timeline", ("Timeline",), 6),
    Layout("Google Timeline, Android, signals only", "rawSignals: position", "Timeline.json",
           _json({"semanticSegments": [], "rawSignals": ANDROID["rawSignals"]}), "google-timeline",
           ("Timeline",), 1),
    Layout("Google Timeline, iPhone", "array of timelinePath, visit, activity with geo: positions",
           "location-history.json", _json(IPHONE), "google-timeline", ("location-history",), 5),
    Layout("Google Semantic Location History", "timelineObjects", "2021_JANUARY.json", _json(MONTH), "",
           refusal="a summary of Records.json"),
    Layout("GeoJSON points", "FeatureCollection of Point; properties user, time", "points.geojson",
           _json(collection(feature("Point", PATH[0], user="ann", time=TIMES[0]),
                            feature("Point", PATH[1], user="bob", time=TIMES[1]))),
           "geojson", ("ann", "bob"), 2),
    Layout("GeoJSON points without a user", "FeatureCollection of Point; property time", "points.geojson",
           _json(collection(feature("Point", PATH[0], time=TIMES[0]))), "geojson", ("ann",), 1,
           {"one_user": "ann"}, "no column for the user"),
    Layout("GeoJSON points, other property names", "FeatureCollection of Point; properties MMSI, seen", "ships.geojson",
           _json(collection(feature("Point", PATH[0], MMSI=7, seen=TIMES[0]))), "geojson", (7,), 1,
           {"columns": {"user": "MMSI", "time": "seen"}}, "no column for the"),
    Layout("GeoJSON, web Mercator", "FeatureCollection with crs EPSG:3857", "mercator.geojson",
           _json(collection(feature("Point", [1288000.0, 6130000.0], user="ann", time=TIMES[0]), crs=MERCATOR)),
           "geojson", ("ann",), 1),
    Layout("GeoJSON lines (togeojson)", "LineString; properties coordTimes", "ann.geojson",
           _json(collection(feature("LineString", PATH, coordTimes=TIMES, name="Morning"))), "geojson",
           ("ann",), 2),
    Layout("GeoJSON lines (newer togeojson)", "LineString; properties coordinateProperties.times, user",
           "lines.geojson",
           _json(collection(feature("LineString", PATH, coordinateProperties={"times": TIMES}, user="ann"))),
           "geojson", ("ann",), 2),
    Layout("GeoJSON, several lines in one feature", "MultiLineString; properties times", "ann.geojson",
           _json(feature("MultiLineString", [PATH, PATH], times=[TIMES, TIMES])), "geojson", ("ann",), 4),
    Layout("OGC Moving Features", "temporalGeometry: MovingPoint with datetimes", "moving.json",
           _json(collection({"type": "Feature", "temporalGeometry": MOVING, "properties": {"user": "ann"}})),
           "geojson", ("ann",), 2),
    Layout("MobilityDB asMFJSON", "MovingGeomPoint: sequences of datetimes", "ann.json", _json(MOBILITYDB),
           "geojson", ("ann",), 2),
    Layout("GeoJSON, one feature per line", "Feature", "points.geojsonl",
           "\n".join(_json(feature("Point", PATH[0], user=u, time=TIMES[0])) for u in "ab") + "\n", "jsonl",
           ("a", "b"), 2),
    Layout("GeoJSON text sequence", "record separator, Feature", "points.geojsons",
           "".join("\x1e" + _json(feature("Point", PATH[0], user=u, time=TIMES[0])) + "\n" for u in "ab"),
           "jsonl", ("a", "b"), 2),
    Layout("JSON lines", "one object per line: uid, timestamp, lat, lng", "points.jsonl", f"{ROW}}}\n" * 2, "jsonl",
           ("ann",), 2),
    Layout("JSON lines of events", "one object per line: uid, timestamp, lat, lng, place", "checkins.ndjson",
           f'{ROW}, "place": "bar"}}\n', "jsonl", ("ann",), 1),
    Layout("JSON array", "array of objects: uid, timestamp, lat, lng", "points.json", f"[{ROW}}}, {ROW}}}]",
           "jsonl", ("ann",), 2),
    Layout("OwnTracks recorder", "time, mark, JSON message", "2015-09.rec", REC, "owntracks", ("jj",), 1),
    Layout("OwnTracks export", "data: array of messages", "jane.json",
           _json({"count": 1, "data": [MESSAGE | {"username": "jane", "device": "5s"}]}), "owntracks",
           ("jane",), 1),
    Layout("OwnTracks messages", "one message per line", "messages.jsonl",
           _json(MESSAGE | {"topic": "owntracks/jane/5s"}) + "\n", "owntracks", ("jane",), 1),
    Layout("Bike share trips", "ride_id, started_at, ended_at, start_lat, start_lng, end_lat, end_lng",
           "202004-divvy-tripdata.csv", BIKE, "trips", ("5405B80E996FF60D", "A847FADBBC638E45"), 3,
           {"columns": {"user": "ride_id"}}, "no column says who made the trips"),
    Layout("New York taxis, until 2016", "tpep_pickup_datetime, pickup_longitude, …, dropoff_latitude",
           "yellow_tripdata_2015-01.csv", TAXI, "trips", (1,), 2, {"columns": {"user": "ROW"}},
           "--columns user=ROW makes each trip a user of its own"),
    Layout("New York taxis, since 2016", "PULocationID, DOLocationID", "yellow_tripdata_2020-01.csv",
           "tpep_pickup_datetime,tpep_dropoff_datetime,PULocationID,DOLocationID\n2020-01-01,2020-01-01,1,2\n",
           "", refusal="trips between zones, without coordinates"),
    Layout("Trips with a column for the rider", "user_id, start_time, start_lat, start_lon, end_time, end_lat, end_lon",
           "rides.csv", "user_id,start_time,start_lat,start_lon,end_time,end_lat,end_lon\n"
           "7,2020-01-01T00:00:00Z,48.1,11.5,2020-01-01T00:10:00Z,48.2,11.6\n", "trips", (7,), 2),
    Layout("Porto taxis", "TRIP_ID, TAXI_ID, TIMESTAMP, MISSING_DATA, POLYLINE", "train.csv", PORTO, "porto",
           (20000589, 20000596), 4),
    Layout("JSON without traces", "any other keys", "package.json", '{"name": "x", "version": "1"}', "jsonl",
           refusal="no column for the user"),
)  # fmt: skip
