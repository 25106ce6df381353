"""How the commands use a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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


class OnDemand:
    """A cluster whose workers are started when the first work goes to them.

    Attributes
    ----------
    was_needed
        Whether any did.
    """

    def __init__(self, context: typer.Context, address: str) -> None:
        from tracearena.engine.cluster import require_address

        self._context, self._address = context, address
        self._cluster = None if require_address(address) else joined(context, address)
        self.was_needed = False

    def __getattr__(self, name: str) -> Any:
        self.was_needed = True
        if self._cluster is None:
            self._cluster = joined(self._context, self._address)
        return getattr(self._cluster, name)


def on_demand(context: typer.Context, address: str | None) -> Any:
    """Return a cluster that is started when it is needed; None without an address."""
    return None if address is None else OnDemand(context, address)
