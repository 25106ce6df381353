"""Processes of their own that read what others have uploaded, with limits, and the messages to them."""
