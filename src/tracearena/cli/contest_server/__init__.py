"""``tracearena contest`` with a server: one module a command, or a group of them."""

from __future__ import annotations

import importlib

import typer

MODULES = (
    "new",
    "serve",
    "team",
    "account",
    "phase",
    "clock",
    "status",
    "job",
    "rescore",
    "storage",
    "export",
    "rehearse",
    "client",
)
"""Modules of this package, in the order of ``tracearena contest --help``; each has a ``register(group)``."""


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    for name in MODULES:
        importlib.import_module(f"tracearena.cli.contest_server.{name}").register(group)
