"""``tracearena evaluate``: how useful synthetic traces are, and what they betray."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import JsonOption, PlacesOption, defined, note
from tracearena.cli._contest_files import TimesOption, refuse_times

if TYPE_CHECKING:
    from tracearena.traces import Traces


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    context: typer.Context,
    places: PlacesOption,
    train: Annotated[Path, typer.Option("--train", help="Traces that the synthesizer learned from.")],
    test: Annotated[Path, typer.Option("--test", help="Traces of other people, to compare with.")],
    synthetic: Annotated[
        list[Path], typer.Option("--synthetic", help="Synthetic traces; give it again for more files.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of the traces: ppmtf, pwscup, table, …; found out from --train if left out.",
        ),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval", help="Time between instants, such as 20min; the format's own if left out."
        ),
    ] = None,
    slot: Annotated[
        str | None, typer.Option("--slot", help="Length of a slot, such as 2h; the format's own if left out.")
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds", help="The city: south,west,north,east in degrees; the box of the places if left out."
        ),
    ] = None,
    legacy_ppmtf: Annotated[
        bool,
        typer.Option(
            "--legacy-ppmtf",
            help="Attack membership as the PPMTF authors' program: chained traces, strict >.",
        ),
    ] = False,
    times: TimesOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure utility and privacy of synthetic traces (0 is best for all, 0.5 for membership accuracy)."""
    import json

    from tracearena.attacks.evaluation import baselines
    from tracearena.attacks.evaluation import evaluate as judge
    from tracearena.formats.choices import box

    city = None if bounds is None else box(bounds)
    workers = joined(context, cluster)
    training, testing, made = _read(format, places, train, test, synthetic, interval, slot, times)
    base = {name: utility.to_dict() for name, utility in baselines(training, testing, bounds=city).items()}
    found = [
        {"file": str(path)}
        | judge(traces, training, testing, bounds=city, legacy_ppmtf=legacy_ppmtf, cluster=workers).to_dict()
        for path, traces in zip(synthetic, made, strict=True)
    ]
    found, base = defined(found), defined(base)
    if as_json:
        result = found[0] | base if len(found) == 1 else {"synthetic": found} | base
        typer.echo(json.dumps(result, allow_nan=False))
    else:
        _print_table(found, base)


def _read(
    format: str | None,
    places: Path,
    train: Path,
    test: Path,
    synthetic: list[Path],
    interval: str | None,
    slot: str | None,
    times: Path | None,
) -> tuple[Traces, Traces, list[Traces]]:
    from tracearena.formats import recognise

    if (format or recognise(train)) == "ppmtf":
        refuse_times(times, "files of format ppmtf")
        return _read_ppmtf(places, train, test, synthetic, interval, slot)
    from tracearena.formats import Choices, read, read_places

    known = read_places(places)
    choices = Choices.parse(interval=interval, slot=slot)
    traces = []
    for path in (train, test, *synthetic):
        one, report = read(path, format, places=known, choices=choices, times=times)
        if report.dropped_rows:
            note(f"{path}: {report.dropped_rows:,} of {report.rows:,} rows were dropped")
        traces.append(one)
    return traces[0], traces[1], traces[2:]


def _read_ppmtf(
    places: Path, train: Path, test: Path, synthetic: list[Path], interval: str | None, slot: str | None
) -> tuple[Traces, Traces, list[Traces]]:
    """Read files of the PPMTF tools, whose synthetic traces go by the clock of the training traces."""
    from tracearena.formats import ppmtf
    from tracearena.formats.choices import seconds

    pois = ppmtf.read_places(places)
    lengths = {
        "interval_s": None if interval is None else seconds(interval, "interval"),
        "slot_s": None if slot is None else seconds(slot, "slot"),
    }
    training, testing = (ppmtf.read_traces(path, pois, **lengths) for path in (train, test))
    made = [ppmtf.read_synthetic(path, pois, training.clock).traces for path in synthetic]
    return training, testing, made


def _print_table(found: list[dict[str, Any]], base: dict[str, dict[str, Any]]) -> None:
    """Print one column a file, and the baselines beside them."""
    columns = [(Path(one["file"]).name, one) for one in found] + list(base.items())
    width = max(len(key) for key in found[0])
    typer.echo(" " * width + "".join(f"  {name:>12}" for name, _ in columns))
    for key in list(found[0])[1:]:
        cells = ["-" if one.get(key) is None else f"{one[key]:.6f}" for _, one in columns]
        wide = [max(12, len(name)) for name, _ in columns]
        typer.echo(
            f"{key.replace('_', ' '):<{width}}"
            + "".join(f"  {cell:>{size}}" for cell, size in zip(cells, wide, strict=True))
        )
