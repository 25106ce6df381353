from .homes import GuessedHomes, homes_behind_zones

__all__ = ["GuessedHomes", "homes_behind_zones"]
