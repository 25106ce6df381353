"""Figures and tables of the contest paper."""
