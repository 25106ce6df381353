from .audit import ProofScope, assess, assess_in_stages
from .data import AuditInput
from .page import audit_page, write_audit
from .protection import Protection, protect, protect_in_stages
from .results import Audit, FileFacts, Light, Risks
from .settings import AuditChoice, Proportion, Settings

__all__ = [
    "Audit",
    "AuditChoice",
    "AuditInput",
    "FileFacts",
    "Light",
    "ProofScope",
    "Proportion",
    "Protection",
    "Risks",
    "Settings",
    "assess",
    "assess_in_stages",
    "audit_page",
    "protect",
    "protect_in_stages",
    "write_audit",
]
