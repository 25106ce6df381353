from .identification import MarkovIdentification, TraceGuesses
from .membership import MembershipInference, MembershipResult

__all__ = ["MarkovIdentification", "MembershipInference", "MembershipResult", "TraceGuesses"]
