from . import answers, catalogue, grammar, kinds
from .catalogue import Entry, create, entries, is_kind, names
from .grammar import Quantity, parse
from .kinds import (
    Algorithm,
    GpsAttack,
    GpsObfuscator,
    Kind,
    Obfuscator,
    ReidentificationAttack,
    Synthesizer,
    TraceInferenceAttack,
    setting,
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
    "answers",
    "catalogue",
    "create",
    "entries",
    "grammar",
    "is_kind",
    "kinds",
    "names",
    "parse",
    "setting",
]
