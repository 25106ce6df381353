"""How the people of a new contest are made: learned from the city or from traces, or ready-made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.cli._console import release_seed, working
from tracearena.cli._contest_people import (
    planned,
    training_traces,
    with_enough_events,
    with_sensitive_regions,
    write_people,
)
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._refusing import refuse

if TYPE_CHECKING:
    from tracearena.contest import Charter
    from tracearena.contest.contest_file import DataSource
    from tracearena.traces import Traces

USUAL: dict[str, Any] = {"factors": 32, "alpha": 200.0, "iterations": 100, "zeros": "all"}
"""Parameters of the contest's model."""
_WORDS = {"city": "people of the embedded city", "files": "files that are ready"}


@dataclass(frozen=True)
class People:
    """What the options say of how people are made."""

    reading: ReadingOptions
    parameters: Mapping[str, Any] = field(default_factory=lambda: USUAL)
    walk: str = "5min"
    min_events: int = 0
    sensitive: str | None = None
    pois: Path | None = None
    seed: int | None = None

    def require_use(self, charter: Charter) -> None:
        """Refuse options that have no meaning for where the people come from."""
        assert charter.data is not None
        source = charter.data.source
        if source in _WORDS:
            given = {"sensitive": self.sensitive, "pois": self.pois, "min_events": self.min_events or None}
            given |= {one.name: getattr(self.reading, one.name) for one in fields(self.reading)}
            refuse(_WORDS[source], **given)

    def write(self, place: Path, charter: Charter) -> None:
        """Write the contest by files."""
        source = charter.data
        assert source is not None
        if source.folder is not None:
            from tracearena.server.operations.create import lay_out

            with working("files"):
                lay_out(source.folder, charter, place)
            return
        seed = release_seed(source.seed if self.seed is None else self.seed)
        training = self._of_city(charter, seed) if source.file is None else self._of_file(source)
        plan, parameters = planned(charter), dict(self.parameters)
        write_people(place, training, charter, plan, parameters, walk=self.walk, model=None, seed=seed)

    def _of_city(self, charter: Charter, seed: int | None) -> Traces:
        from tracearena.contest.contest_file import residents
        from tracearena.engine import child_seed, seed_sequence

        with working("people of the city"):
            return residents(charter.rules.reference_days, seed=child_seed(seed_sequence(seed), 3))

    def _of_file(self, source: DataSource) -> Traces:
        from tracearena.contest.data import check_regions

        assert source.file is not None
        said = {name: getattr(source, name) for name in ("format", "grid", "bounds", "timezone")}
        reading = replace(self.reading, **{name: value for name, value in said.items() if value is not None})
        training = training_traces(reading, source.file, source.reference)
        check_regions(training)
        training = with_sensitive_regions(training, reading, source.file, self.sensitive, self.pois)
        return with_enough_events(training, self.min_events)
