"""What a backup of a contest is.

A tar archive::

    database.jsonl      every row of every table, as they were at one moment (`contents`)
    contest.toml, server.json, everybody/, sealed/, uploads/
                        the folder, as it was then or a little later; server.json names no database
    manifest.json       last: what the archive is, and size and SHA-256 of everything before

The judge's private key is not in it, and no archive of a contest that is over: those are copies already.
"""

from __future__ import annotations

ROWS, MANIFEST = "database.jsonl", "manifest.json"
FORMAT, VERSION = "tracearena-contest-backup", 1
KEPT = ("everybody", "sealed", "uploads")
"""Folders of a contest that are kept; what is still coming in is not."""
