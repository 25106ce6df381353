from .activity import activity_picture
from .displacement import displacement_picture
from .gauge import gauge_picture
from .margins import margins_picture
from .matrix import matrix_picture
from .picture import Picture, stylesheet
from .podium import podium_picture
from .population import crowd_pictures, losses_picture
from .scatter import privacy_picture, usefulness_picture
from .timeline import timeline_picture
from .trace_map import day_picture
from .viewer import trace_data

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
