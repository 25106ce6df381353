from .catalogue import Algorithm, Entry, Kind, Quantity, create, entries, is_kind, names, parse
from .kinds import (
    GpsAttack,
    GpsObfuscator,
    Obfuscator,
    ReidentificationAttack,
    Synthesizer,
    TraceInferenceAttack,
)

__all__ = [
    "Algorithm",
    "Entry",
    "GpsAttack",
    "GpsObfuscator",
    "Kind",
    "Obfuscator",
    "Quantity",
    "ReidentificationAttack",
    "Synthesizer",
    "TraceInferenceAttack",
    "create",
    "entries",
    "is_kind",
    "names",
    "parse",
]
