from .audit import assess, stages
from .page import audit_page, write_audit
from .protection import Protection, protect, searching
from .results import Audit, FileFacts, Light, Risks
from .settings import Choice, Settings, Share

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
