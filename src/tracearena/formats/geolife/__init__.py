"""GeoLife folders: ``Data/NNN/Trajectory/*.plt``, unpacked or inside the archive they come in."""

from tracearena.formats.geolife.reading import looks_like_geolife, read
from tracearena.formats.geolife.writing import write

__all__ = ["looks_like_geolife", "read", "write"]
