from .canvas import Picture, read_stylesheet
from .contest_pictures import (
    gauge_picture,
    margins_picture,
    matrix_picture,
    podium_picture,
    privacy_picture,
    usefulness_picture,
)
from .defences import afterwards_picture, cheating_picture, displacement_picture
from .maps import crowd_pictures, day_picture, losses_picture
from .schedule import activity_picture, timeline_picture

__all__ = [
    "Picture",
    "activity_picture",
    "afterwards_picture",
    "cheating_picture",
    "crowd_pictures",
    "day_picture",
    "displacement_picture",
    "gauge_picture",
    "losses_picture",
    "margins_picture",
    "matrix_picture",
    "podium_picture",
    "privacy_picture",
    "read_stylesheet",
    "timeline_picture",
    "usefulness_picture",
]
