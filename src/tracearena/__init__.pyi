from . import (
    algorithms,
    arena,
    attacks,
    cities,
    contest,
    engine,
    errors,
    figures,
    files,
    formats,
    intake,
    metrics,
    mobility,
    obfuscation,
    pages,
    synthesis,
    traces,
    views,
)
from .algorithms import create
from .arena import evaluate, pseudonymise, run_sweep
from .cities import simulate
from .formats import read, write
from .traces import Box, Clock, GpsTraces, Grid, IdTable, ObfuscatedTraces, Places, Traces

__version__: str

__all__ = [
    "Box",
    "Clock",
    "GpsTraces",
    "Grid",
    "IdTable",
    "ObfuscatedTraces",
    "Places",
    "Traces",
    "__version__",
    "algorithms",
    "arena",
    "attacks",
    "cities",
    "contest",
    "create",
    "engine",
    "errors",
    "evaluate",
    "figures",
    "files",
    "formats",
    "intake",
    "metrics",
    "mobility",
    "obfuscation",
    "pages",
    "pseudonymise",
    "read",
    "run_sweep",
    "simulate",
    "synthesis",
    "traces",
    "views",
    "write",
]
