from .roles import PrivateRoles
from .tables import Budget, Cost, OpenDPNoise, SeededNoise, Table, release

__all__ = ["Budget", "Cost", "OpenDPNoise", "PrivateRoles", "SeededNoise", "Table", "release"]
