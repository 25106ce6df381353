"""Hiding among fake traces in a location-based service."""

from tracearena.obfuscation.fakes.defence import FakeTraces
from tracearena.obfuscation.fakes.generators import METHODS, Method, fake_days

__all__ = ["METHODS", "FakeTraces", "Method", "fake_days"]
