"""``tracearena similarity``: how alike the users of two files are, in place and in kind."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena import mobility
from tracearena.cli._console import JsonOption, PlacesOption, SeedOption, chosen_seed, print_result
from tracearena.cli._contest_files import TimesOption

if TYPE_CHECKING:
    from tracearena.traces import Places, Traces


class Distance(StrEnum):
    """What it costs to be at another place."""

    hamming = "hamming"
    ground = "ground"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(similarity)


def similarity(
    first: Annotated[Path, typer.Argument(metavar="A", help="Traces, real or synthetic.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Traces of users with the same ids.")],
    places: PlacesOption,
    format: Annotated[
        str | None, typer.Option("--format", help="Format of both: ppmtf, pwscup, …; recognised if omitted.")
    ] = None,
    order: Annotated[
        int, typer.Option("--order", min=0, max=1, help="0 compares visits, 1 where people go next.")
    ] = 0,
    periods: Annotated[int, typer.Option("--periods", min=1, help="Time periods of a day.")] = 1,
    distance: Annotated[
        Distance,
        typer.Option(
            "--distance", help="hamming: the same place or not; ground: km (needs tracearena[emd])."
        ),
    ] = Distance.hamming,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV with the similarities of each pair of users.")
    ] = None,
    times: TimesOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare each user of A with the user of B who has the same id: from 0 to 1, 1 is alike."""
    from tracearena.formats import read_places, recognise
    from tracearena.intake.user_key import refuse_numbered_apart
    from tracearena.metrics import similarity as metrics

    refuse_numbered_apart(first, second)
    known = read_places(places)
    kind = format or recognise(first)
    a = _read(first, kind, known, None, times)
    b = _read(second, format or recognise(second), known, a, times)
    a, b = _common(a, b)
    profiles = [mobility.MobilityProfiles.of(traces, periods) for traces in (a, b)]
    table = None
    if distance is Distance.ground:
        largest = float(known.distance_table_km.max())
        table = known.distance_table_km / (largest or 1.0)
    near = metrics.geographic_similarity(*profiles, order=order, distance=table)  # type: ignore[arg-type]
    used = chosen_seed(seed) if order == 1 else None
    alike = metrics.semantic_similarity(*profiles, order=order, seed=used)  # type: ignore[arg-type]
    if out is not None:
        _write(out, a.user_ids.tolist(), near.tolist(), alike.tolist())
    result: dict[str, Any] = {"users": a.n_users, "order": order, "periods": periods}
    result |= {"distance": distance.value, "geographic": float(near.mean()), "semantic": float(alike.mean())}
    print_result(result | ({} if out is None else {"file": str(out)}), as_json)


def _read(path: Path, kind: str, places: Places, like: Traces | None, times: Path | None) -> Traces:
    """Read a file; synthetic traces of the PPMTF tools go by the clock of the other file."""
    from tracearena.files.whole import read_bytes
    from tracearena.formats import ppmtf, read

    if kind == "ppmtf" and b"trace_no" in read_bytes(path)[:200].partition(b"\n")[0]:
        return ppmtf.read_synthetic(path, places, None if like is None else like.clock).traces
    return read(path, kind, places=places, times=times).as_events().traces


def _common(a: Traces, b: Traces) -> tuple[Traces, Traces]:
    """Keep the users of both, in the same order."""
    import numpy as np

    from tracearena.errors import DataError

    ids, in_a, in_b = np.intersect1d(a.user_ids, b.user_ids, return_indices=True)
    if not len(ids):
        raise DataError("no user of A has the id of a user of B")
    return a.take_users(in_a), b.take_users(in_b)


def _write(path: Path, users: list[Any], near: list[float], alike: list[float]) -> None:
    from tracearena.files import write_csv

    write_csv(path, ["user", "geographic", "semantic"], zip(users, near, alike, strict=True))
