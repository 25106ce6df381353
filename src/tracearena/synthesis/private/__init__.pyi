from .roles import PrivateRoles
from .tables import Budget, Cost, OpenDPNoise, SeededNoise, Table, release
from .trips import PrivateTrips

__all__ = ["Budget", "Cost", "OpenDPNoise", "PrivateRoles", "PrivateTrips", "SeededNoise", "Table", "release"]
