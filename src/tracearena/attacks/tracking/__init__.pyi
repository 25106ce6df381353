from .viterbi import NOT_SENT, ViterbiTracking

__all__ = ["NOT_SENT", "ViterbiTracking"]
