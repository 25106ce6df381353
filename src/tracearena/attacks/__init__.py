"""Attacks: who is who, and who was where."""
