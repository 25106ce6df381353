"""Figures of the embedded city."""
