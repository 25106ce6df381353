from . import laws
from .aggregate import AggregateMobility
from .profiles import MobilityProfiles, Periods
from .transitions import transitions

__all__ = ["AggregateMobility", "MobilityProfiles", "Periods", "laws", "transitions"]
