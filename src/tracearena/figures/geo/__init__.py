"""Figures of the paper on geo-indistinguishable GPS traces."""
