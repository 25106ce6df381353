from .assessment import assess, stages
from .page import audit_page
from .protection import Protection, protect, searching
from .records import Audit, FileFacts, Risks
from .settings import Choice, Settings
from .shares import Share
from .verdict import Light
from .writing import write_audit

__all__ = [
    "Audit",
    "Choice",
    "FileFacts",
    "Light",
    "Protection",
    "Risks",
    "Settings",
    "Share",
    "assess",
    "audit_page",
    "protect",
    "searching",
    "stages",
    "write_audit",
]
