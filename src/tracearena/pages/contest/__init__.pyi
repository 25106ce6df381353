from .assembly import contest_report

__all__ = ["contest_report"]
