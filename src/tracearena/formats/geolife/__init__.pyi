from .reading import looks_like_geolife, read
from .writing import write

__all__ = ["looks_like_geolife", "read", "write"]
