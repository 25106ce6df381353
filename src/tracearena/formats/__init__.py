"""Readers and writers of files, one module a format."""
