"""``python -m tracearena``."""

from tracearena.cli import main

main()
