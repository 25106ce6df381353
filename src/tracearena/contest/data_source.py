"""Where the people of a contest come from: the table ``[data]`` of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tracearena.checks import require_choice, require_whole
from tracearena.errors import ParameterError

Source = Literal["city", "traces", "files"]
_PATHS = ("file", "reference", "folder")
_OF_SOURCE = {
    "file": "traces",
    "reference": "traces",
    "format": "traces",
    "grid": "traces",
    "bounds": "traces",
    "timezone": "traces",
    "folder": "files",
}


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """What the data of a contest is made from.

    Parameters
    ----------
    source
        ``"city"``: virtual users learned from the embedded city. ``"traces"``: virtual users learned
        from the organiser's own traces. ``"files"``: official files that are ready.
    file, reference
        The organiser's traces, of any format, and more traces of the same people.
    format, grid, bounds, timezone
        How they are read, as on the command line; what is left out is found in the files.
    folder
        Where the files lie that are ready.
    seed
        For experiments, from 0 on: it repeats people and shuffles. Without one everything comes from
        the system's cryptographic source.

    Examples
    --------
    >>> DataSource().people
    'virtual'
    >>> DataSource(source="traces", file=Path("walks.csv"), grid="32x32").people
    'real'
    """

    source: Source = "city"
    file: Path | None = None
    reference: Path | None = None
    format: str | None = None
    grid: str | None = None
    bounds: str | None = None
    timezone: str | None = None
    folder: Path | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        require_choice("source", self.source, get_args(Source))
        for name, source in _OF_SOURCE.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, Path if name in _PATHS else str):
                raise ParameterError.of(name, value, "a text")
            if value is not None and self.source != source:
                raise ParameterError(f"{name} belongs to source = {source!r}, not to {self.source!r}")
        if self.seed is not None:
            require_whole("seed", self.seed, at_least=0)
        if self.source == "traces":
            self._check_reading()

    def _check_reading(self) -> None:
        # Only here: whoever opens the contest's door does not need all readers.
        from tracearena.formats import FORMATS, GPS_FORMATS
        from tracearena.intake import Choices

        if self.format is not None:
            require_choice("format", self.format, (*FORMATS, *GPS_FORMATS))
        Choices.parse(grid=self.grid, bounds=self.bounds, timezone=self.timezone)

    @property
    def people(self) -> Literal["virtual", "real"]:
        """``"virtual"`` if no real person stands behind the data: then all of it may be given away."""
        return "virtual" if self.source == "city" else "real"

    @property
    def for_everybody(self) -> DataSource:
        """The same without what is the organiser's own: the seed would give all people away."""
        return DataSource(source=self.source)

    def require_complete(self) -> None:
        """Refuse a source of which nobody can make a contest: its traces or files are not named."""
        for source, name in (("traces", "file"), ("files", "folder")):
            if self.source == source and getattr(self, name) is None:
                raise ParameterError(f"source = {source!r} needs {name}")

    def beside(self, folder: Path) -> DataSource:
        """Return the same with paths that count from a folder made absolute."""
        given = {name: getattr(self, name) for name in _PATHS}
        return replace(
            self, **{name: (folder / path).absolute() for name, path in given.items() if path is not None}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is said as plain values; what is not said is left out."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: str(value) if isinstance(value, Path) else value for name, value in said.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DataSource:
        """Make a source from plain values."""
        known = [one.name for one in fields(cls)]
        for name in values:
            if name not in known:
                raise ParameterError(f"there is no {name!r}; there are {', '.join(known)}")
        given = {name: _path(value) if name in _PATHS else value for name, value in values.items()}
        return cls(**given)


def _path(value: Any) -> Any:
    """Return a text as a path; what is none is refused by the check of all values."""
    return Path(value) if isinstance(value, str) and value and "\0" not in value else value
