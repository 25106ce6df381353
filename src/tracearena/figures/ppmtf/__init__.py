"""Figures of the PPMTF paper."""
