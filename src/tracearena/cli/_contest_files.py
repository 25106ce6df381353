"""How commands read files whose users are numbers and whose times are numbers: what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import note
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.intake.user_key import UserKey
    from tracearena.traces import Grid, Traces

TimesOption = Annotated[
    Path | None,
    typer.Option(
        "--times",
        help="pwscup: what the time ids mean (info_time.csv); found beside the traces or places if omitted.",
        rich_help_panel="Reading",
    ),
]


MaxBytesOption = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        help="Largest submission, unpacked. [default: 67108864, in proportion more beyond 800,000 rows]",
        rich_help_panel="Limits",
    ),
]
MaxListedIdsOption = Annotated[
    int | None,
    typer.Option(
        "--max-listed-ids",
        help="Most ids in all sets of a submission. [default: 16000000, more as above]",
        rich_help_panel="Limits",
    ),
]


def user_numbers(file: Path | None, to: str | None) -> UserKey:
    """Read the key of users if one is named and there; refuse it for formats that keep all ids."""
    from tracearena.intake.user_key import LOWEST, UserKey

    if file is None:
        return UserKey()
    if to not in LOWEST:
        raise ParameterError(
            f"--user-key has no meaning for {to or 'this output'}, which keeps all ids; "
            f"only {', '.join(LOWEST)} number users"
        )
    return UserKey.read(file, lowest=LOWEST[to]) if file.exists() else UserKey()


def say_keys(keys: Sequence[Path]) -> None:
    """Say where the way back lies."""
    if keys:
        note(
            f"users whose ids are no numbers from 1 got one; who is who is in {', '.join(map(str, keys))}: "
            "keep it secret. Ids that are numbers stay as they are: tracearena pseudonymise replaces them"
        )


def regions_file(out: Path, to: str | None, places_out: Path | None, traces: Traces) -> Path | None:
    """Return where the regions of contest files on a new grid go: nobody could read these without."""
    from tracearena.files import is_stream

    if places_out is not None or to != "pwscup" or is_stream(out):
        return places_out
    import numpy as np

    from tracearena.formats import read_places

    beside = out.with_name("info_region.csv")
    if not beside.is_file():
        return beside
    known, ours = read_places(beside), traces.places
    same = len(known) == len(ours) and all(
        np.allclose(getattr(known, name), getattr(ours, name), rtol=0, atol=1e-6)
        for name in ("latitude", "longitude")
    )
    if same:
        return None
    raise ParameterError(
        f"{beside}: has other regions than this grid; name a file for these with --places-out, or write to "
        "another folder"
    )


def say_grid(traces: Traces) -> None:
    """Say where a grid lies whose bounds nobody named."""
    grid = traces.places.grid
    if grid is not None:
        corners = f"{grid.south:.4f},{grid.west:.4f},{grid.north:.4f},{grid.east:.4f}"
        high, wide = _cell_km(grid)
        note(
            f"the grid covers {corners} (south,west,north,east), each cell {high:.2g} km x {wide:.2g} km; "
            "--bounds names another box"
        )


def _cell_km(grid: Grid) -> tuple[float, float]:
    """Return the height and the width of a cell in the middle of a grid."""
    from tracearena.traces.geodesy import metres_per_degree

    north, east = metres_per_degree((grid.south + grid.north) / 2)
    height, width = (grid.north - grid.south) / grid.rows, (grid.east - grid.west) / grid.columns
    return float(north) * height / 1000, float(east) * width / 1000


def say_lost_dates(to: str | None, traces: Traces) -> None:
    """Say which day the first is, where a format numbers days and has no dates."""
    if to == "pwscup" and traces.clock.first_day is not None:
        note(f"the files number days and hold no dates: day 1 is {traces.clock.first_day}")
