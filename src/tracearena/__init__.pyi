from . import (
    algorithms,
    arena,
    attacks,
    audit,
    cities,
    contest,
    engine,
    errors,
    files,
    io,
    jobs,
    metrics,
    mobility,
    obfuscation,
    pages,
    papers,
    plots,
    synthesis,
    traces,
)
from .algorithms import create
from .arena import evaluate, pseudonymise, run_sweep
from .cities import simulate
from .io import read, write
from .metrics import homes_and_workplaces
from .mobility import stay_points
from .obfuscation import Pipeline
from .traces import Box, Clock, GpsTraces, Grid, IdTable, ObfuscatedTraces, Places, Traces

__version__: str

__all__ = [
    "Box",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "Pipeline",
    "Places",
    "Traces",
    "__version__",
    "algorithms",
    "arena",
    "attacks",
    "audit",
    "cities",
    "contest",
    "create",
    "engine",
    "errors",
    "evaluate",
    "files",
    "homes_and_workplaces",
    "io",
    "jobs",
    "metrics",
    "mobility",
    "obfuscation",
    "pages",
    "papers",
    "plots",
    "pseudonymise",
    "read",
    "run_sweep",
    "simulate",
    "stay_points",
    "synthesis",
    "traces",
    "write",
]
