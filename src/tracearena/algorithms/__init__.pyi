from . import base, catalogue, listing, spec, validation
from .base import (
    Algorithm,
    GpsAttack,
    GpsObfuscator,
    GpsSynthesizer,
    Kind,
    Obfuscator,
    ReidentificationAttack,
    Synthesizer,
    TraceInferenceAttack,
    setting,
)
from .catalogue import CatalogueEntry, create, entries, is_kind, names
from .listing import Description, Listing, Parameter, describe, overview
from .spec import Quantity, parse

__all__ = [
    "Algorithm",
    "CatalogueEntry",
    "Description",
    "GpsAttack",
    "GpsObfuscator",
    "GpsSynthesizer",
    "Kind",
    "Listing",
    "Obfuscator",
    "Parameter",
    "Quantity",
    "ReidentificationAttack",
    "Synthesizer",
    "TraceInferenceAttack",
    "base",
    "catalogue",
    "create",
    "describe",
    "entries",
    "is_kind",
    "listing",
    "names",
    "overview",
    "parse",
    "setting",
    "spec",
    "validation",
]
