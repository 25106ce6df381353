"""What teams hand in: how it is received, counted against a quota, and how far it has come."""
