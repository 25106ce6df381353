"""Defences: what is released in the stead of each event."""
