"""Loops over people, compiled by Numba: pure functions on arrays and one random stream a block."""
