"""The page of a contest: who won, how, and what can be learned from it."""

from tracearena.contest.report.assembly import contest_report

__all__ = ["contest_report"]
