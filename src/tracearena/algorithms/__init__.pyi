from . import answers, catalogue, description, grammar, kinds, listing, wording
from .catalogue import Entry, create, entries, is_kind, names
from .description import Description, Parameter, describe
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
from .listing import Listing, overview

__all__ = [
    "Algorithm",
    "Description",
    "Entry",
    "GpsAttack",
    "GpsObfuscator",
    "Kind",
    "Listing",
    "Obfuscator",
    "Parameter",
    "Quantity",
    "ReidentificationAttack",
    "Synthesizer",
    "TraceInferenceAttack",
    "answers",
    "catalogue",
    "create",
    "describe",
    "description",
    "entries",
    "grammar",
    "is_kind",
    "kinds",
    "listing",
    "names",
    "overview",
    "parse",
    "setting",
    "wording",
]
