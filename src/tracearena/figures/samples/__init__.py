"""Figures of the report on the sample programs."""
