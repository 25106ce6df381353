"""The files that every transcript starts from: small, of people with habits, and some that are broken."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
from tests.io.formats import json_layouts
from tests.made_files import check_ins, commuters, travellers

from tracearena.io import pwscup
from tracearena.traces import Traces

HEADER = "user,time,venue,lat,lng\n"
GOOD = HEADER + "ann,2012-04-03 08:10:00,cafe,40.7,-74.0\nbob,2012-04-03 09:10:00,bar,40.8,-74.1\n"
TEXTS = {
    "gowalla.txt": "7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n8\t2010-10-20T03:00:00Z\t40.8\t-73.8\t1\n",
    "tsmc.txt": "7\tv\tc\tBar\t40.7\t-74.0\t-240\tTue Apr 03 18:00:09 +0000 2012\n",
    "porto.csv": json_layouts.PORTO,
    "bikes.csv": json_layouts.BIKE,
    "Records.json": json.dumps(json_layouts.RECORDS),
    "Timeline.json": json.dumps(json_layouts.ANDROID),
    "one.gpx": '<gpx><trk><trkseg><trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time></trkpt>'
    "</trkseg></trk></gpx>",
    "own.py": "from tracearena import algorithms\n\n\nclass Broken:\n    name = 'Broken'\n",
}
BAD = {
    "empty.csv": "",
    "header-only.csv": HEADER,
    "no-user.csv": "time,venue,lat,lng\n2012-04-03 08:10:00,cafe,40.7,-74.0\n",
    "no-time.csv": "user,venue,lat,lng\nann,cafe,40.7,-74.0\n",
    "nowhere.csv": "user,time\nann,2012-04-03 08:10:00\n",
    "two-users.csv": "user,uid,time,venue,lat,lng\nann,1,2012-04-03 08:10:00,cafe,40.7,-74.0\n",
    "short-row.csv": GOOD + "ann,2012-04-04 08:10:00\n",
    "long-row.csv": GOOD + "ann,2012-04-04 08:10:00,cafe,40.7,-74.0,more\n",
    "bad-time.csv": GOOD + "ann,yesterday,cafe,40.7,-74.0\n",
    "no-such-day.csv": GOOD + "ann,2012-02-30 08:10:00,cafe,40.7,-74.0\n",
    "all-bad-times.csv": HEADER + "ann,yesterday,cafe,40.7,-74.0\nbob,tomorrow,bar,40.8,-74.1\n",
    "latitude-91.csv": GOOD + "ann,2012-04-04 08:10:00,cafe,91,-74.0\n",
    "text-latitude.csv": GOOD + "ann,2012-04-04 08:10:00,cafe,north,-74.0\n",
    "decimal-comma.csv": "user;time;venue;lat;lng\nann;2012-04-03 08:10:00;cafe;40,7;-74,0\n",
    "no-user-value.csv": GOOD + ",2012-04-04 08:10:00,cafe,40.7,-74.0\n",
    "moved-venue.csv": GOOD + "ann,2012-04-04 08:10:00,cafe,41.9,-73.0\n",
    "future.csv": GOOD + "ann,2999-04-04 08:10:00,cafe,40.7,-74.0\n",
    "html.csv": "<!DOCTYPE html><html><body>404</body></html>\n",
    "cut.gpx": '<gpx><trk><trkseg><trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time>',
    "no-times.gpx": '<gpx><trk><trkseg><trkpt lat="40" lon="1"></trkpt></trkseg></trk></gpx>',
    "broken.json": '{"locations": [{"latitudeE7": 481371079',
    "other.json": '{"friends": []}',
    "xlsx.csv": "PK\x03\x04rest of a spreadsheet",
    "ano-zero.csv": "reg_id\n0\n",
    "ano-short.csv": "reg_id\n1\n2\n",
    "ano-words.csv": "reg_id\nsomewhere\n",
    "places-twice.csv": "reg_id,y_id,x_id,y(center),x(center),hospital\n1,1,1,35,139,0\n1,1,2,35,140,0\n",
}
BYTES = {
    "nul.csv": GOOD.encode() + b"ann,2012-04-04\x00 08:10:00,cafe,40.7,-74.0\n",
    "latin.csv": HEADER.encode() + b"ann,2012-04-03 08:10:00,caf\xe9,40.7,-74.0\n",
    "utf16.csv": GOOD.encode("utf-16"),
    "cut.csv.gz": gzip.compress(GOOD.encode() * 50, mtime=0)[:60],
    "fake.parquet": b"PAR1 this is no Parquet file PAR1",
}


def make_files(folder: Path, walks: Traces) -> None:
    """Write check-ins, GPS points, a team of the contest, other formats, and what is broken (``bad/``)."""
    check_ins(folder / "checkins.csv")
    commuters(folder / "points.csv")
    travellers(folder / "travellers.parquet")
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, folder / "info_region.csv")
    pwscup.write_traces(reference, folder / "ref.csv")
    pwscup.write_traces(original, folder / "org.csv")
    pwscup.write_times(pwscup.ContestTimes(walks.clock, 2, 2), folder / "info_time.csv")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    bad = folder / "bad"
    bad.mkdir()
    for name, text in BAD.items():
        (bad / name).write_text(text)
    for name, content in BYTES.items():
        (bad / name).write_bytes(content)
    frame = pl.DataFrame({"user": ["ann"], "time": [[1]], "lat": [40.7], "lng": [-74.0]})
    frame.write_parquet(bad / "list-time.parquet")
    (bad / "folder").mkdir()
