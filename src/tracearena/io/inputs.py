"""Inputs of traces: files, folders and archives, which are inspected once.

A command creates one `Input` for each path. The input has the first bytes, the columns and the format of the
path, and whether it has events or GPS points. Each of these is determined on first use, and cached.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.errors import Fault, FileError
from tracearena.files import archives
from tracearena.files.io import refuse_pipe
from tracearena.io.fields.columns import EVENTS, POINTS, has_released_columns
from tracearena.io.formats import archives as bundles
from tracearena.io.formats import recognition, released_table
from tracearena.io.formats.recognition import EITHER, GPS_FORMATS, FormatGuess
from tracearena.io.options import AS_NAMED, Layout
from tracearena.io.tables import (
    decode_start,
    list_parquet_files,
    list_visible_files,
    read_parquet_schema,
    split_header_fields,
)
from tracearena.io.text_rows import estimate_bytes

if TYPE_CHECKING:
    import polars as pl

OBFUSCATED = "reg_id"
ANONYMIZED = "pse_id,time_id,reg_id"
"""The headers of the contest's files: obfuscated traces without users, and those of pseudonyms."""

TEXT_ENDINGS = (".csv", ".csv.gz")
"""How the names of text files in a folder end."""

_START = 2**16
_TABLES = ("table", "points", "partitions")
_OWN_POINTS = {"user_id", "time", "latitude", "longitude", "traj"}
_OWN_EVENTS = {"user_id", "place", "lat", "lng"}
_OWN_OTHERS = {"time", "utc_offset_min", "time_id", "category"}
_ENDINGS: Mapping[str, tuple[str, ...]] = {"geolife": (".plt",), "gpx": (".gpx", ".gpx.gz")}


class Input(PathLike[str]):
    """A path from which traces are read, and its recognised format.

    Parameters
    ----------
    path
        A file, a folder or an archive.
    layout
        Layout of its tables, as far as their headers do not define it.
    asked_format
        The format; recognised if omitted.

    Attributes
    ----------
    is_folder
        Whether the path is a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "drives.csv")
    ...     _ = path.write_text("uid,datetime,lat,lng\\n7,2012-04-03 18:00,40.7,-74.0\\n")
    ...     source = Input(path)
    ...     source.format, source.holds_points, source.columns
    ('points', True, ['uid', 'datetime', 'lat', 'lng'])
    """

    def __init__(
        self, path: str | PathLike[str], layout: Layout = AS_NAMED, asked_format: str | None = None
    ) -> None:
        recognition.check_known_format(asked_format)
        self.path = Path(path)
        self.is_folder = self.path.is_dir()
        self.layout = layout
        self.asked_format = asked_format
        self._inside: dict[Path, Input] = {}

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    def __repr__(self) -> str:
        return f"Input({str(self.path)!r})"

    def read_as(self, format: str | None = None, layout: Layout | None = None) -> Input:
        """Return the same path with another format or layout; nothing is read again."""
        recognition.check_known_format(format)
        if self.path.is_file():
            _ = self._head  # both share what was read before there were two
        other = copy(self)
        other.asked_format = format
        other.layout = self.layout if layout is None else layout
        if other.layout != self.layout:
            other._inside = {}
        # What a path looks like depends on its layout, and of several files on the format that is asked for.
        if other.layout != self.layout or self.is_folder or self.is_archive:
            vars(other).pop("guess", None)
        return other

    def resolve(self) -> Input:
        """Return the same with an absolute path, for workers that were started in another folder."""
        return Input(self.path.resolve(), self.layout, self.asked_format)

    # The bytes and the files.

    @cached_property
    def is_archive(self) -> bool:
        """Whether the path has the name of an archive, or begins like one."""
        return self.path.is_file() and (
            self.path.name.endswith(archives.NAMES) or self._head[0] in archives.ZIP_STARTS
        )

    @cached_property
    def is_parquet(self) -> bool:
        """Whether the path is a file that begins like Parquet."""
        return self.path.is_file() and self._head[0] == b"PAR1"

    @cached_property
    def _head(self) -> tuple[bytes, bytes | FileError]:
        """The first four bytes, and the first of the unpacked ones or why they cannot be unpacked."""
        refuse_pipe(self.path)
        with open(self.path, "rb") as file:
            first = file.read(4)
            file.seek(0)
            if first[:2] != b"\x1f\x8b":
                return first, file.read(_START)
            try:
                return first, gzip.GzipFile(fileobj=file).read(_START)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                return first, FileError.whole(self, f"is not a complete gzip file: {error}", "bad-gzip")

    @property
    def estimated_lines(self) -> float:
        """Estimated number of lines, from the size and the first lines of a text."""
        found, size = self.start.count(b"\n"), len(self.start)
        return found if size < _START else found * estimate_bytes(self.path) / size

    @property
    def start(self) -> bytes:
        """The first bytes of a file, unpacked."""
        start = self._head[1]
        if isinstance(start, FileError):
            raise start
        return start

    @cached_property
    def lines(self) -> list[str]:
        """The first lines of a text; the last one may be incomplete."""
        return [line.rstrip("\r") for line in decode_start(self.start).split("\n")]

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Names and types of the columns of a Parquet file."""
        return read_parquet_schema(self.path)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of a table: of Parquet, or in the first line of text."""
        if self.is_parquet:
            return list(self.schema)
        return split_header_fields(self.lines[0], self.layout)[0]

    @cached_property
    def parquet_files(self) -> list[Path]:
        """The Parquet files of a folder, by name."""
        return list_parquet_files(self.path) if self.is_folder else []

    @cached_property
    def files(self) -> list[Path]:
        """The files of a folder and of those below it, without hidden ones."""
        return list_visible_files(self.path) if self.is_folder else []

    @cached_property
    def is_text(self) -> bool:
        """Whether a table at this path is text: a file, compressed or not, or a folder of CSV files only."""
        if self.is_folder:
            return bool(self.files) and all(file.name.endswith(TEXT_ENDINGS) for file in self.files)
        return self.path.is_file() and not self.is_parquet and not self.is_archive

    # The format.

    @cached_property
    def guess(self) -> FormatGuess:
        """The recognised format, from the first lines, the columns of Parquet, or the files of a folder.

        With a layout of columns, a text file counts as a table, whatever its first lines are. In a folder or
        an archive of several files, a file of the asked format is searched.
        """
        refuse_pipe(self.path)
        if not self.path.exists():
            raise FileError.whole(self, "No such file or directory", "missing-file")
        if self.is_folder:
            is_geolife = next(self.path.rglob("*.plt"), None) is not None
        elif self.is_archive:
            is_geolife = any(member.name.endswith(".plt") for member in archives.iter_members(self.path))
        else:
            is_geolife = self.path.name.endswith(".plt")
        if is_geolife:
            return FormatGuess(("geolife",), "GPS points of GeoLife")
        if (self.asked_format in (None, "gpx") or not self.is_folder) and any(
            file.name.endswith(_ENDINGS["gpx"]) for file in self.files or [self.path]
        ):
            return FormatGuess(("gpx",), "GPS points in GPX")
        if self.parquet_files and (
            self.asked_format == "partitions" or next(self.find_unread("partitions"), None) is None
        ):
            inside = Input(self.parquet_files[0], self.layout).guess
            if inside.formats[:1] == ("points",):
                return FormatGuess(("points", "partitions"), "a folder of Parquet tables of GPS points")
            if inside.formats == (released_table.FORMAT,):
                return inside
            return FormatGuess(("partitions",), "a folder of Parquet tables") if inside.formats else inside
        if self.is_folder:
            return bundles.guess_folder_format(self, self.files, "a folder")
        if self.is_archive:
            return bundles.guess_folder_format(self, archives.iter_unpacked_files(self.path), "an archive")
        if self.is_parquet:
            try:
                columns = list(self.schema)
            except FileError as error:
                if error.faults[0].code != "bad-parquet":
                    raise
                return FormatGuess((), "a broken Parquet file")
            return recognition.guess_parquet_format(self.path, columns, self.layout)
        if self.start.startswith(recognition.DATABASE):
            return recognition.guess_geopackage_format(self.path, self.layout)
        if not self.start.strip():
            return FormatGuess((), "an empty file")
        if b"\0" in self.start:
            return FormatGuess((), "a binary file or UTF-16 text")
        return recognition.guess_text_format(self.lines, self.path, self.layout)

    @property
    def format(self) -> str:
        """The format of the path; an unknown format, or another one than asked for, is an error."""
        look, asked = self.guess, self.asked_format
        if asked is not None:
            if asked in _TABLES and look.faults:
                raise FileError(self, look.faults)
            if asked not in look.formats:
                advice = f" (--from {look.formats[0]})" if look.formats else ""
                problem = f"is not a {asked} file: it looks like {look.words}{advice}"
                raise FileError.whole(self, problem, "format")
            return asked
        if look.formats:
            return look.formats[0]
        problem = f"holds no traces that can be read: it looks like {look.words}"
        proposal = None if self.layout.option_names else bundles.propose_folder_layout(self.path)
        faults = list(look.faults)
        if proposal is not None and proposal.keywords:
            problem = f"{problem}; {proposal.sentence}"
            # How a table without a header may be read is an example there, and known better now.
            faults = faults if proposal.layout.header else []
        raise FileError(self, [Fault(None, None, None, problem, "format"), *faults])

    @property
    def holds_points(self) -> bool:
        """Whether the path contains GPS traces, by the asked format or else by its content.

        Coordinates without places are GPS points, whatever the name of the file; events at places are not.
        """
        if self.asked_format is not None and self.asked_format not in EITHER:
            return self.asked_format in GPS_FORMATS
        return self.guess.holds_points

    @property
    def has_instants(self) -> bool:
        """Whether events already have places and instants (contest, PPMTF, prepared people flow)."""
        is_prepared = self.format == "peopleflow" and "pwscup" in self.guess.formats
        return self.format in ("pwscup", "ppmtf") or is_prepared

    @property
    def is_synthetic(self) -> bool:
        """Whether a file of the PPMTF tools holds synthetic traces."""
        return not self.is_folder and self.start.startswith(b"user,trace_no,")

    @property
    def is_own_table(self) -> bool:
        """Whether a table has exactly the columns that tracearena writes for events or for GPS points."""
        names = set() if self.is_folder else set(self.read_as(layout=AS_NAMED).columns)
        return names == _OWN_POINTS or _OWN_EVENTS <= names <= _OWN_EVENTS | _OWN_OTHERS

    @cached_property
    def contest_header(self) -> str | None:
        """The first line if the file is one of the contest's of released traces."""
        if not self.path.is_file():
            return None
        try:
            header = ",".join(self.schema) if self.is_parquet else self.lines[0]
        except FileError:
            if self.is_parquet:
                return None
            raise
        known = (OBFUSCATED,) if self.is_parquet else (OBFUSCATED, ANONYMIZED)
        return header if header in known else None

    @cached_property
    def is_released_table(self) -> bool:
        """Whether a file, or the first of a folder of parts, is a table of released traces."""
        if self.is_folder:
            first = Input(self.parquet_files[0]) if self.parquet_files else None
            if first is None or not first.is_parquet:
                return False
            try:
                return has_released_columns(first.columns)
            except FileError:
                return False
        return self.path.is_file() and has_released_columns(self.read_as(layout=AS_NAMED).columns)

    @property
    def is_chunked_release(self) -> bool:
        """Whether the path holds released traces in Parquet, which can be read in chunks."""
        return self.is_released_table and (self.is_folder or self.is_parquet)

    @property
    def is_release(self) -> bool:
        """Whether the path holds obfuscated or anonymized traces: by its columns, not by its name."""
        return self.contest_header is not None or self.is_released_table

    def list_unread_columns(self, format: str) -> list[str]:
        """Return the columns without a role, which are left out when the table is read in a format."""
        if format not in _TABLES or self.is_folder or self.is_archive:
            return []
        if self.guess.formats[:1] not in (("table",), ("points",)):
            return []
        taken = self.layout.roles(self.columns, POINTS if format == "points" else EVENTS).values()
        return [name for name in self.columns if name not in taken]

    # The files of a folder or an archive.

    def open_file(self, file: Path) -> Input:
        """Return one file of the folder or the archive, with a layout that works without user names."""
        if file not in self._inside or not self.is_folder:
            self._inside[file] = self._open_file(file)
        return self._inside[file]

    def _open_file(self, file: Path) -> Input:
        source = Input(file, self.layout)
        if source.is_archive:
            source.guess = FormatGuess((), "an archive, which must be unpacked to be read with other files")
            return source
        alone = source
        if "user" not in self.layout.columns:
            alone = source.read_as(layout=replace(self.layout, one_user=self.layout.one_user or file.name))
        for one in (source, alone):
            try:
                source.guess = one.guess
            except FileError as error:
                if error.faults[0].code != "columns":
                    raise
                source.guess = FormatGuess((), f"a table of other columns: {error.faults[0].problem}")
            if source.guess.formats:
                return one
        return source

    @property
    def is_read_whole(self) -> bool:
        """Whether the reader of the format reads a whole folder, instead of one file after the other.

        It would skip traces in other formats in the same folder.
        """
        if self.format in ("geolife", "partitions", released_table.FORMAT):
            return True
        whole = self.format == "gpx" or (self.format == "points" and bool(self.parquet_files))
        return whole and next(self.find_unread(self.format), None) is None

    def find_unread(self, format: str) -> Iterator[tuple[Path, FormatGuess]]:
        """Yield the files of a folder that contain traces, but that the reader of the whole folder skips."""
        are_tables = format in ("points", "partitions", released_table.FORMAT)
        tables = set(self.parquet_files) if are_tables else set()
        ending = _ENDINGS.get(format, ())
        for file in self.files:
            if file not in tables and not file.name.endswith(ending):
                look = self.open_file(file).guess
                if look.formats:
                    yield file, look
