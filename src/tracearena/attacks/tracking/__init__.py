"""Finding the real place among fakes."""

from tracearena.attacks.tracking.service import ServiceResult, hide_from_service, location_classes
from tracearena.attacks.tracking.viterbi import NOT_SENT, ViterbiTracking

__all__ = ["NOT_SENT", "ServiceResult", "ViterbiTracking", "hide_from_service", "location_classes"]
