"""Processes of their own that read what others have uploaded, with limits, and what they are told."""
