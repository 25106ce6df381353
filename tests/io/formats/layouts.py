"""Tables as they are found in the world: files of exactly their layout, written by us.

Each says which options it needs, and what is read: no option, these options, or this refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RealLayout:
    """One layout of tables.

    Attributes
    ----------
    name
        Whose files look so.
    text
        A small file of that layout.
    file
        Its name.
    options
        What `read` must be told.
    beside
        Other files that it needs, by the option that names them and their content.
    points
        User, UTC time, latitude and longitude of what is read as GPS points, by user and time.
    events
        User, local time and place of what is read as events.
    refusal
        A part of the sentence by which it is refused.
    noticed
        A part of what the report says, if it says something to heed.
    """

    name: str
    text: str
    file: str = "table.csv"
    options: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    points: tuple[tuple[Any, str, float, float], ...] = ()
    events: tuple[tuple[Any, str, Any], ...] = ()
    refusal: str = ""
    noticed: str = ""

    @property
    def columns(self) -> str:
        """The first line: the header, where there is one."""
        return self.text.partition("\n")[0]

    @property
    def command_line(self) -> str:
        """The options as a command line has them."""
        written = [f"--{name} FILE" for name in self.beside]
        for name, value in self.options.items():
            if name == "header":
                written.append("--no-header")
            elif name == "columns":
                written.append(f"--columns {','.join(f'{role}={column}' for role, column in value.items())}")
            else:
                quoted = f"'{value}'" if set(str(value)) & set(" %;|,") else value
                written.append(f"--{name.replace('_', '-')} {quoted}")
        return " ".join(written)


LAYOUTS = (
    RealLayout(
        name="scikit-mobility",
        text="uid,datetime,lat,lng\n1,2008-10-23 05:53:05,39.984094,116.319236\n",
        points=((1, "2008-10-23 05:53:05", 39.984094, 116.319236),),
    ),
    RealLayout(
        name="trackintel positionfixes",
        text="user_id,tracked_at,latitude,longitude,accuracy\n0,2017-08-01T01:53:57+02:00,47.4,8.5,10\n",
        points=((0, "2017-07-31 23:53:57", 47.4, 8.5),),
    ),
    RealLayout(
        name="AIS of the United States (Marine Cadastre)",
        text="MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName\n"
        "367390380,2020-01-01T00:00:03,30.12345,-90.12345,0.0,-9.4,511.0,ANNA\n"
        "368003090,2020-01-01T00:00:01,29.5,-91.25,7.1,12.0,13.0,\n",
        points=(
            (367390380, "2020-01-01 00:00:03", 30.12345, -90.12345),
            (368003090, "2020-01-01 00:00:01", 29.5, -91.25),
        ),
    ),
    RealLayout(
        name="AIS of Denmark",
        text="# Timestamp,Type of mobile,MMSI,Latitude,Longitude,SOG\n"
        "13/02/2021 00:00:01,Class A,219000368,57.588,10.5,0.1\n",
        options={"time_format": "%d/%m/%Y %H:%M:%S"},
        points=((219000368, "2021-02-13 00:00:01", 57.588, 10.5),),
    ),
    RealLayout(
        name="AIS of Denmark, without the format of its dates",
        text="# Timestamp,Type of mobile,MMSI,Latitude,Longitude,SOG\n"
        "13/02/2021 00:00:01,Class A,219000368,57.588,10.5,0.1\n",
        refusal=r"the order of day and month is ambiguous: set it, such as --time-format '%d/%m/%Y %H:%M:%S'",
    ),
    RealLayout(
        name="Movebank",
        text="event-id,visible,timestamp,location-long,location-lat,sensor-type,tag-local-identifier,"
        "individual-local-identifier,study-name\n"
        '101,true,2009-05-18 02:00:26.500,-73.9,40.7,gps,4711,"Galapagos Albatross 1",Albatrosses\n',
        points=(("Galapagos Albatross 1", "2009-05-18 02:00:26.5", 40.7, -73.9),),
        noticed="columns that could also be the user, ignored: tag-local-identifier",
    ),
    RealLayout(
        name="Movebank, with the column names of R",
        text="timestamp,location.long,location.lat,tag.local.identifier\n"
        "2009-05-18 02:00:26,-73.9,40.7,4711\n",
        points=((4711, "2009-05-18 02:00:26", 40.7, -73.9),),
    ),
    RealLayout(
        name="Traccar, exported from its database",
        text="id,protocol,deviceid,servertime,devicetime,fixtime,valid,latitude,longitude,altitude\n"
        "9,osmand,3,2020-01-01T10:00:02.000+0000,2020-01-01T10:00:01.000+0000,2020-01-01T10:00:00.000+0000,"
        "1,40.7,-74.0,3\n",
        points=((3, "2020-01-01 10:00:00", 40.7, -74.0),),
        noticed="columns that could also be the time, ignored: servertime, devicetime (read is fixtime)",
    ),
    RealLayout(
        name="MovingPandas, GeoLife example",
        text="X;Y;fid;id;sequence;trajectory_id;tracker;t\n"
        "116.391305;39.898573;1;1569;1;1;19;2008-12-11 04:42:14+00\n"
        "116.391317;39.898617;2;1570;2;1;19;2008-12-11 04:42:16+00\n",
        points=(
            (19, "2008-12-11 04:42:14", 39.898573, 116.391305),
            (19, "2008-12-11 04:42:16", 39.898617, 116.391317),
        ),
    ),
    RealLayout(
        name="X and Y in metres",
        text="X;Y;tracker;t\n1823456.2;6142345.9;19;2008-12-11 04:42:14\n",
        refusal="these are projected coordinates (metres), not degrees",
    ),
    RealLayout(
        name="Pedestrians in an experiment, metres and seconds",
        text="id,user,t,x,y\n1,7,0.4,3.25,11.5\n2,7,0.8,3.5,11.75\n3,7,1.2,3.75,12.0\n",
        refusal="x and y with times that count from the start of the recording",
    ),
    RealLayout(
        name="YJMob100K, cells of a grid",
        text="uid,d,t,x,y\n0,0,1,79,86\n0,0,2,79,86\n0,1,8,77,86\n",
        refusal="x and y are whole numbers: cells of a grid or metres, not degrees",
    ),
    RealLayout(
        name="Buses of New York (SIRI)",
        text="RecordedAtTime,DirectionRef,PublishedLineName,OriginLat,OriginLong,VehicleRef,"
        "VehicleLocation.Latitude,VehicleLocation.Longitude,NextStopPointName\n"
        "2017-06-01 00:03:34,0,B8,40.616104,-74.031143,NYCT_430,40.635170,-73.960803,FOSTER AV\n",
        points=(("NYCT_430", "2017-06-01 00:03:34", 40.635170, -73.960803),),
    ),
    RealLayout(
        name="Buses and scooters of a transport agency",
        text="vehicle_id;recorded_at;lon;lat;route\nB-17;2024-05-01T08:00:00Z;24.94;60.17;550\n",
        points=(("B-17", "2024-05-01 08:00:00", 60.17, 24.94),),
    ),
    RealLayout(
        name="Aircraft of OpenSky",
        text="time,icao24,lat,lon,velocity,heading,onground\n1517184000,3c6675,49.1,8.2,230.1,90.0,False\n",
        points=(("3c6675", "2018-01-29 00:00:00", 49.1, 8.2),),
    ),
    RealLayout(
        name="T-Drive, taxis of Beijing",
        text="1,2008-02-02 15:36:08,116.51172,39.92123\n1,2008-02-02 15:46:08,116.51135,39.93883\n",
        file="1.txt",
        options={"header": False, "columns": {"user": 1, "time": 2, "lng": 3, "lat": 4}},
        points=(
            (1, "2008-02-02 15:36:08", 39.92123, 116.51172),
            (1, "2008-02-02 15:46:08", 39.93883, 116.51135),
        ),
    ),
    RealLayout(
        name="T-Drive, without names of columns",
        text="1,2008-02-02 15:36:08,116.51172,39.92123\n1,2008-02-02 15:46:08,116.51135,39.93883\n",
        file="1.txt",
        refusal="try to read it with --columns user=1,time=2,lat=4,lng=3 --no-header",
    ),
    RealLayout(
        name="Cabs of San Francisco, one file per cab",
        text="37.75134 -122.39488 0 1213084687\n37.75136 -122.39527 0 1213084659\n",
        file="new_abboip.txt",
        options={
            "header": False,
            "delimiter": "space",
            "columns": {"lat": 1, "lng": 2, "time": 4},
            "one_user": "abboip",
        },
        points=(
            ("abboip", "2008-06-10 07:57:39", 37.75136, -122.39527),
            ("abboip", "2008-06-10 07:58:07", 37.75134, -122.39488),
        ),
    ),
    RealLayout(
        name="Taxis of Rome, points as text",
        text="156;2014-02-01 00:00:00.739166+01;POINT(41.8836718276551 12.4877775603346)\n"
        "187;2014-02-01 00:00:01.148457+01;POINT(41.9285433333333 12.4690366666667)\n",
        file="taxi_february.txt",
        refusal="a table without columns for user, time and place",
    ),
    RealLayout(
        name="A column `id` that could number anything",
        text="id,datetime,lon,lat\n7,2012-04-03 18:00:06,-74.0,40.7\n",
        refusal="no column for the user; known names are userid, uid, user",
    ),
    RealLayout(
        name="A column `id` that numbers people",
        text="id,datetime,lon,lat\n7,2012-04-03 18:00:06,-74.0,40.7\n",
        options={"columns": {"user": "id"}},
        points=((7, "2012-04-03 18:00:06", 40.7, -74.0),),
    ),
    RealLayout(
        name="GPSLogger for Android",
        text="time,lat,lon,elevation,accuracy,bearing,speed,satellites,provider\n"
        "2021-03-05T08:09:10.123Z,52.5,13.4,34.0,4.2,,1.1,9,gps\n",
        options={"one_user": "me"},
        points=(("me", "2021-03-05 08:09:10.123", 52.5, 13.4),),
    ),
    RealLayout(
        name="Pick-ups without users (Uber)",
        text='"Date/Time","Lat","Lon","Base"\n"4/1/2014 0:11:00",40.769,-73.9549,"B02512"\n',
        refusal="--one-user NAME (one_user='NAME') if all rows belong to one person",
    ),
    RealLayout(
        name="American dates with AM and PM",
        text="Device,Time,Latitude,Longitude\nphone 1,4/1/2014 11:11:00 PM,40.769,-73.9549\n",
        options={"time_format": "%m/%d/%Y %I:%M:%S %p"},
        points=(("phone 1", "2014-04-01 23:11:00", 40.769, -73.9549),),
    ),
    RealLayout(
        name="Advertising ids with milliseconds",
        text="maid\tutc_timestamp\tlatitude\tlongitude\thorizontal_accuracy\n"
        "6f1c-a\t1609459200123\t34.05\t-118.24\t12.5\n",
        file="pings.tsv",
        points=(("6f1c-a", "2021-01-01 00:00:00.123", 34.05, -118.24),),
    ),
    RealLayout(
        name="GeoLife in one table, date and time in two columns",
        text="user,lat,lon,alt,date,time\n010,39.9,116.3,492,2008-10-23,02:53:04\n",
        points=(("010", "2008-10-23 02:53:04", 39.9, 116.3),),
    ),
    RealLayout(
        name="German column names, decimal commas",
        text="Nutzer;Datum;Uhrzeit;Breite;Länge\nanna;03.04.2012;18:00;52,5200;13,4050\n",
        options={"decimal": ","},
        points=(("anna", "2012-04-03 18:00:00", 52.52, 13.405),),
    ),
    RealLayout(
        name="French column names, day first",
        text="utilisateur;date;heure;latitude;longitude\n12;03/04/2012;18:00:06;48,8566;2,3522\n",
        options={"decimal": ",", "time_format": "%d/%m/%Y %H:%M:%S"},
        points=((12, "2012-04-03 18:00:06", 48.8566, 2.3522),),
    ),
    RealLayout(
        name="Japanese column names",
        text="ユーザID,日時,緯度,経度\nU001,2012/4/3 18:00:06,35.6812,139.7671\n",
        points=(("U001", "2012-04-03 18:00:06", 35.6812, 139.7671),),
    ),
    RealLayout(
        name="Foursquare of New York and Tokyo, as CSV",
        text="userId,venueId,venueCategoryId,venueCategory,latitude,longitude,timezoneOffset,utcTimestamp\n"
        "470,49bbd6c0,4bf58dd8,Arts & Crafts Store,40.7198,-74.0026,-240,Tue Apr 03 18:00:09 +0000 2012\n",
        events=((470, "2012-04-03 14:00", "49bbd6c0"),),
    ),
    RealLayout(
        name="Gowalla with a header",
        text="user,check-in time,latitude,longitude,location id\n"
        "0,2010-10-19T23:55:27Z,30.2359,-97.7951,22847\n",
        events=((0, "2010-10-19 18:00", 22847),),
    ),
    RealLayout(
        name="Call records with a table of antennas",
        text="caller,callee,call_datetime,duration,antenna_id\n"
        "0a1b,99ff,2013-01-07 13:10:00,61,7\n0a1b,99ff,2013-01-07 15:20:00,30,9\n",
        beside={"places": "antenna_id,lat,lon\n7,14.69,-17.44\n9,14.75,-17.39\n"},
        events=(("0a1b", "2013-01-07 13:10", 7), ("0a1b", "2013-01-07 15:20", 9)),
    ),
    RealLayout(
        name="Call records separated by vertical bars, times as digits",
        text="MSISDN|CALL_TIME|CELL_ID\n221770000001|20130107131005|7\n",
        beside={"places": "cell_id,lat,lon\n7,14.69,-17.44\n"},
        events=((221770000001, "2013-01-07 13:00", 7),),
    ),
    RealLayout(
        name="Call records without their antennas",
        text="caller,call_datetime,antenna_id\n0a1b,2013-01-07 13:10:00,7\n",
        refusal="has places without coordinates; give their file with --places",
    ),
    RealLayout(
        name="Positions of animals (Darwin Core)",
        text="individualID,eventDate,decimalLatitude,decimalLongitude\n"
        "wolf 1,2015-06-01T12:00:00Z,46.5,9.8\n",
        points=(("wolf 1", "2015-06-01 12:00:00", 46.5, 9.8),),
    ),
    RealLayout(
        name="Latitude and longitude swapped",
        text="user,time,lat,lng\n1,2012-04-03 18:00,116.3,39.9\n1,2012-04-03 18:01,116.3,39.9\n",
        refusal="latitude and longitude seem to be swapped; exchange the columns",
    ),
)
"""The layouts, in the order in which a page shows them."""
