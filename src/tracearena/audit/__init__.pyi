from .assessment import Audit, FileFacts, Risks, assess, stages
from .page import audit_page
from .settings import Choice, Settings
from .shares import Share
from .verdict import Light
from .writing import write_audit

__all__ = [
    "Audit",
    "Choice",
    "FileFacts",
    "Light",
    "Risks",
    "Settings",
    "Share",
    "assess",
    "audit_page",
    "stages",
    "write_audit",
]
