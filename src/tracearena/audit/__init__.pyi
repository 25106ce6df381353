from .assessment import Audit, FileFacts, Risks, assess, stages
from .settings import Choice, Settings
from .shares import Share
from .verdict import Light

__all__ = ["Audit", "Choice", "FileFacts", "Light", "Risks", "Settings", "Share", "assess", "stages"]
