"""Readers and writers, one module for each family of formats."""
