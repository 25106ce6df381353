from .chunking import read_gps_traces
from .conversion import Conversion, ConversionOutputs, convert
from .description import describe
from .feedback import Listener, listen
from .obfuscation import obfuscate
from .outputs import OutputOptions
from .pairs import ReleasePair, open_release_pair
from .pseudonyms import pseudonymise
from .reading import ReadingOptions
from .risk import AuditOptions, Protected, audit, protect
from .scores import (
    AnswerFiles,
    attack_points,
    check_inferred_table,
    check_inferred_traces,
    check_obfuscated,
    score_reidentification,
    score_trace_inference,
    score_usefulness,
    score_utility,
)

__all__ = [
    "AnswerFiles",
    "AuditOptions",
    "Conversion",
    "ConversionOutputs",
    "Listener",
    "OutputOptions",
    "Protected",
    "ReadingOptions",
    "ReleasePair",
    "attack_points",
    "audit",
    "check_inferred_table",
    "check_inferred_traces",
    "check_obfuscated",
    "convert",
    "describe",
    "listen",
    "obfuscate",
    "open_release_pair",
    "protect",
    "pseudonymise",
    "read_gps_traces",
    "score_reidentification",
    "score_trace_inference",
    "score_usefulness",
    "score_utility",
]
