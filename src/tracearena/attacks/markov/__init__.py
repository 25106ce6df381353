"""Attacks on synthetic traces by the first-order Markov chains of the users they were made from."""

from tracearena.attacks.markov.identification import MarkovIdentification, TraceGuesses
from tracearena.attacks.markov.membership import MembershipInference, MembershipResult

__all__ = ["MarkovIdentification", "MembershipInference", "MembershipResult", "TraceGuesses"]
