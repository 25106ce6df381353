"""How the commands use a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import note

if TYPE_CHECKING:
    from tracearena.engine import Cluster

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Work in a Dask cluster: tcp://HOST:8786 (tls://HOST:8786) of its scheduler, or local:N for N "
        "processes here. The result is the same.",
    ),
]


def joined(context: typer.Context, address: str | None) -> Cluster | None:
    """Join the cluster until the command ends, and say where its dashboard is; None without an address."""
    if address is None:
        return None
    from tracearena.engine import Cluster

    cluster = context.with_resource(Cluster(address))
    workers, threads = len(cluster.workers), cluster.n_threads
    shown = f"dashboard {cluster.dashboard}" if cluster.dashboard else "no dashboard"
    note(f"{workers} worker{'s' * (workers > 1)} with {threads} thread{'s' * (threads > 1)}; {shown}")
    return cluster
