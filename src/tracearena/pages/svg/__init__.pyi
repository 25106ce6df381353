from .canvas import Picture, stylesheet
from .contest import (
    gauge_picture,
    margins_picture,
    matrix_picture,
    podium_picture,
    privacy_picture,
    usefulness_picture,
)
from .displacement import displacement_picture
from .maps import crowd_pictures, day_picture, losses_picture, trace_data
from .schedule import activity_picture, timeline_picture

__all__ = [
    "Picture",
    "activity_picture",
    "crowd_pictures",
    "day_picture",
    "displacement_picture",
    "gauge_picture",
    "losses_picture",
    "margins_picture",
    "matrix_picture",
    "podium_picture",
    "privacy_picture",
    "stylesheet",
    "timeline_picture",
    "trace_data",
    "usefulness_picture",
]
