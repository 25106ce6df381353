"""Figures of our own: how strong attacks and defences are."""
