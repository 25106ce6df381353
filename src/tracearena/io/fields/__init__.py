"""The fields of a row: columns and what they are called, times, coordinates."""
