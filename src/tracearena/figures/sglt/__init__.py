"""Figures of the SGLT paper."""
